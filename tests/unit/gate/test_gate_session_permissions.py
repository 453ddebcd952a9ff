"""What a session's own record lets it do unasked, as its gate heeds it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from supervisor.policy.permissions import Permissions
from supervisor.policy.session_permissions import NOTHING_UNASKED, SessionPermissions
from supervisor.trust.levels import TrustLevel
from tests.worlds.grants import GrantsWorld, grants_world

OWN = SessionPermissions(read=("notes/*",), write=("notes/*",), bash=("git log",), trust_mode=False)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[GrantsWorld]:
    async with grants_world(tmp_path) as world:
        yield world


async def test_what_the_record_covers_runs_unasked_and_nothing_else_does(
    world: GrantsWorld,
) -> None:
    gate = world.gate(permissions=OWN)
    without = world.gate()
    covered: tuple[tuple[str, dict[str, Any]], ...] = (
        ("Read", {"file_path": "notes/a.md"}),
        ("Write", {"file_path": "notes/new.md", "content": "x"}),
        ("Bash", {"command": "git log --oneline"}),
    )
    for tool, given in covered:
        assert await world.runs(gate, tool, **given), tool
        assert not await world.runs(without, tool, **given), tool
    for tool, given in (
        ("Read", {"file_path": "docs/guide.md"}),
        ("Bash", {"command": "git log && git push"}),
        ("Bash", {"command": "git log > docs/x.md"}),
    ):
        assert not await world.runs(gate, tool, **given), given


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Read", {"file_path": ".env"}),
        ("Read", {"file_path": "notes/innocent.md"}),
        ("Write", {"file_path": ".mcp.json", "content": "{}"}),
        ("Write", {"file_path": "/tmp/outside.txt", "content": "x"}),
        ("Bash", {"command": "sudo id"}),
        ("Bash", {"command": "cat .env"}),
        ("Bash", {"command": "cat /etc/hostname"}),
    ],
)
async def test_no_record_opens_what_is_denied_protected_or_outside(
    world: GrantsWorld, tool: str, given: dict[str, Any]
) -> None:
    own = SessionPermissions(read=("**/*",), write=("**/*",), bash=True, trust_mode=True)
    assert not await world.runs(world.gate(permissions=own), tool, **given)


async def test_a_record_of_trust_is_none_where_the_policy_gives_none(world: GrantsWorld) -> None:
    gate = world.gate(permissions=SessionPermissions(trust_mode=True, read=("docs/*",)))
    assert not await world.runs(gate, "Read", file_path="notes/a.md")
    assert await world.runs(gate, "Read", file_path="docs/guide.md")


async def test_a_record_that_is_damaged_lets_nothing_run_unasked(world: GrantsWorld) -> None:
    base = Permissions(trust_mode=True, read=("**/*",), write=("**/*",), bash=True)
    held = NOTHING_UNASKED.within(base)
    assert (held.trust_mode, held.read, held.write, held.bash) == (False, (), (), False)
    assert not await world.runs(
        world.gate(permissions=NOTHING_UNASKED), "Read", file_path="notes/a.md"
    )


def test_what_the_record_does_not_name_is_as_the_policy_has_it() -> None:
    base = Permissions(trust_mode=False, read=("docs/*",), write=("docs/*",), bash=("ls",))
    held = SessionPermissions(read=("notes/*",)).within(base)
    assert (held.trust_mode, held.read, held.write, held.bash) == (
        False, ("notes/*",), ("docs/*",), ("ls",),
    )  # fmt: skip


async def test_grants_count_beside_the_record(world: GrantsWorld) -> None:
    gate = world.gate(permissions=OWN)
    request = await world.asks(gate, "Read", file_path="docs/guide.md")
    await world.grant(request, suggestions=("s1",))
    await world.verdict()
    assert await world.runs(gate, "Read", file_path="docs/guide.md")
    assert await world.runs(gate, "Read", file_path="notes/a.md")


async def test_at_full_the_record_limits_nothing(world: GrantsWorld) -> None:
    gate = world.gate(level=TrustLevel.FULL, permissions=NOTHING_UNASKED)
    assert await world.runs(gate, "Read", file_path="notes/a.md")
