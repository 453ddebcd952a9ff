"""A bench as the supervisor has it, of an instance of its own: where MCP servers are tried out."""

import os
from functools import partial
from pathlib import Path

from supervisor.ids import InstanceId, TurnId, new_instance_id
from supervisor.mcp.started import Bench
from supervisor.runtimes.local.environment import passed_on
from supervisor.runtimes.local.leftovers import end_leftovers, marks


def bench_in(folder: Path, instance: InstanceId | None = None) -> Bench:
    """Servers are started in this folder."""
    own = instance or InstanceId(new_instance_id())
    living: set[TurnId] = set()
    return Bench(
        folder=folder,
        environment=passed_on(os.environ),
        marks=partial(marks, own),
        end=lambda mark: end_leftovers(own, lambda: living - {mark}),
        living=living,
    )
