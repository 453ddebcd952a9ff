"""Where the process can open no file any more, what wasn't looked at isn't taken for harmless."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from supervisor.gate.expand import expand_pattern
from supervisor.gate.scan import MOST_ENTRIES, Walk
from supervisor.policy.call import Allow, Deny
from supervisor.trust.levels import TrustLevel
from tests.worlds.gate import World


@contextmanager
def no_descriptors_left() -> Iterator[None]:
    """For the length of the block, nothing more can be opened."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, before[1]))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            os.dup(0)
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture
async def world(tmp_path: Path) -> World:
    made = World(tmp_path, TrustLevel.FULL, timeout_s=0.05)
    (made.vault / "plans" / "in").mkdir(parents=True)
    (made.vault / "plans" / "in" / ".env").write_text("KEY=1")
    (made.vault / "plans" / "plain.md").hardlink_to(made.vault / "plans" / "in" / ".env")
    (made.vault / "tools" / ".claude").mkdir(parents=True)
    (made.vault / "tools" / ".claude" / "settings.json").write_text("{}")
    await made.gate.check("Read", {"file_path": "notes/a.md"}, "toolu_0", None)  # all is loaded
    return made


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Grep", {"pattern": "KEY", "path": "plans"}),
        ("Read", {"file_path": "plans/plain.md"}),
        ("Bash", {"command": "cat plans/in/.e*"}),
        ("Bash", {"command": "rm -r tools"}),
    ],
)
async def test_what_is_not_let_pass_for_what_a_folder_holds_does_not_pass(
    world: World, tool: str, given: dict[str, Any]
) -> None:
    control = await world.gate.check(tool, given, "toolu_1", None)
    assert isinstance(control, Deny)
    assert control.rule != "internal-error"
    with no_descriptors_left():
        verdict = await world.gate.check(tool, given, "toolu_2", None)
    assert isinstance(verdict, Deny)


async def test_a_glob_is_not_taken_for_one_that_matches_nothing(world: World) -> None:
    folder = str(world.vault)
    assert expand_pattern("notes/*.md", folder, 10, Walk(MOST_ENTRIES)).paths
    with no_descriptors_left(), pytest.raises(OSError, match="Too many open files"):
        expand_pattern("notes/*.md", folder, 10, Walk(MOST_ENTRIES))


async def test_a_call_that_needs_no_look_is_judged_as_ever(world: World) -> None:
    with no_descriptors_left():
        verdict = await world.gate.check("Bash", {"command": "true"}, "toolu_1", None)
    assert isinstance(verdict, Allow)
