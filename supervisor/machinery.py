"""What turns are run with, made of the settings: the cages, the gateway, and what is kept ready.

Beside the composition root, which holds it open and hands it on.
"""

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from supervisor.gateway.door import Gateway
from supervisor.ids import TurnId
from supervisor.mcp.started import Bench
from supervisor.premises import Places
from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.container.engine_paths import (
    EnginePaths,
    find_engine_paths,
    try_engine_paths,
)
from supervisor.runtimes.container.limits import limits_of
from supervisor.runtimes.container.runtime import ContainerRuntime, Waiting
from supervisor.runtimes.container.sandbox import Sandbox, Sandboxes, SandboxMaker
from supervisor.runtimes.container.spec import Limits
from supervisor.runtimes.container.vault_view import VaultViews
from supervisor.runtimes.contract import Runtime
from supervisor.runtimes.local.cage import Confines
from supervisor.runtimes.local.checks import bundled_cli
from supervisor.runtimes.local.environment import passed_on
from supervisor.runtimes.local.leftovers import end_leftovers, marks
from supervisor.runtimes.local.runtime import LocalRuntime, LocalTerms
from supervisor.runtimes.waiting import Tell, WaitingRoom
from supervisor.sessions.lane import Lanes
from supervisor.settings import Settings
from supervisor.storage.timestamp import SystemClock
from supervisor.trust.levels import TrustLevel

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Machinery:
    """What turns are run with, and what is swept after them."""

    places: Places
    gateway: Gateway
    engine: Engine
    views: VaultViews
    lanes: Lanes
    bench: Bench
    room: WaitingRoom[Waiting]
    spares: WaitingRoom[Sandbox]

    def living(self) -> set[TurnId]:
        """What processes, containers and folders may be marked with that nobody is to end."""
        ready = self.room.ids | self.spares.ids
        return self.lanes.living_turns() | self.bench.living | ready

    async def keep_ready(self, stack: AsyncExitStack) -> None:
        """Let sandboxes be made ahead from now on, until the stack is left."""
        await stack.enter_async_context(self.room)
        await stack.enter_async_context(self.spares)


def waiting_rooms(
    settings: Settings, tell: Tell, then: Callable[[], object]
) -> tuple[WaitingRoom[Waiting], WaitingRoom[Sandbox]]:
    """Where sandboxes wait for their sessions' next messages, and for whoever's.

    A spare one holds nothing that could grow old, and the first message may be far off.
    """

    def room(
        most: int, seconds: float | None, spoilt: Callable[[T], Awaitable[str]]
    ) -> WaitingRoom[T]:
        return WaitingRoom(most, seconds, spoilt=spoilt, tell=tell, then=then)

    return (
        room(settings.waiting_sandboxes, settings.waiting_seconds, Waiting.spoilt),
        room(settings.spare_sandboxes, None, Sandbox.spoilt),
    )


def bench_of(settings: Settings, places: Places, lanes: Lanes) -> Bench:
    """Where MCP servers are tried out: as at `full`, and found again as a turn's processes are."""
    living: set[TurnId] = set()

    def end(mark: TurnId) -> None:
        end_leftovers(places.instance, lambda: (lanes.living_turns() | living) - {mark})

    return Bench(
        folder=settings.vault,
        environment=passed_on(os.environ),
        marks=partial(marks, places.instance),
        end=end,
        living=living,
    )


async def engine_paths(settings: Settings, machinery: Machinery) -> EnginePaths:
    """How the engine sees our folders; tried, where it sees them otherwise than we do."""
    places, engine = machinery.places, machinery.engine
    paths = await find_engine_paths(engine, settings.engine_path_map, (places.views, places.turns))
    if paths.pairs:
        await try_engine_paths(
            engine,
            paths,
            image=settings.runner_image,
            instance=places.instance,
            turns=places.turns,
            views=machinery.views,
            limits=_limits(settings),
        )
    return paths


def runtimes(
    settings: Settings, machinery: Machinery, on_engine: EnginePaths
) -> Mapping[TrustLevel, Runtime]:
    """What runs a turn, by its level; `on_engine` is how the engine sees our folders."""
    places = machinery.places
    local = LocalRuntime(
        gateway=machinery.gateway,
        terms=LocalTerms(
            turns=places.turns,
            instance=places.instance,
            cli=bundled_cli(),
            living=machinery.living,
            confines=Confines(
                own=places.own,
                steering=(settings.policies, Path(sys.prefix), Path(__file__).resolve().parent),
            ),
        ),
    )
    sandboxes = Sandboxes(
        image=settings.runner_image,
        limits=_limits(settings),
        instance=places.instance,
        turns=places.turns,
        own_files=places.own,
        on_engine=on_engine,
    )
    container = ContainerRuntime(
        maker=SandboxMaker(
            sandboxes, engine=machinery.engine, views=machinery.views, clock=SystemClock()
        ),
        gateway=machinery.gateway,
        room=machinery.room,
        spares=machinery.spares,
    )
    return {
        TrustLevel.FULL: local,
        TrustLevel.VAULT: local,
        TrustLevel.SANDBOXED: container,
    }


def _limits(settings: Settings) -> Limits:
    return limits_of(settings).fitting(os.cpu_count() or 1)
