"""Invariant 12: a grant counts for its session, at the trust level it was given at, until its end.

Beside each attack stands its control: the same call runs where the grant does count.
"""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.policy.coverage import Coverage
from supervisor.policy.permissions import Grant, GrantKind, GrantScope, Permissions
from supervisor.storage.grants import GrantRow, GrantStore
from supervisor.storage.session import SessionCreate
from supervisor.trust.levels import TrustLevel
from tests.worlds.foreign import Place, a_place
from tests.worlds.grants import GrantsWorld, asking_about, grants_world, wary_policy
from tests.worlds.policy_world import make_vault
from tests.worlds.storage import OTHER, SESSION

NOTE = "notes/a.md"
CALL = {"file_path": NOTE}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[GrantsWorld]:
    """The session may read one note at `vault`."""
    async with grants_world(tmp_path) as world:
        request = await world.asks(world.gate(), "Read", **CALL)
        await world.grant(request, suggestions=("s1",))
        yield world


async def test_no_other_session_has_it(world: GrantsWorld) -> None:
    assert await world.runs(world.gate(), "Read", **CALL)
    assert not await world.runs(world.gate(session_id=OTHER), "Read", **CALL)


async def test_a_changed_trust_level_voids_it_for_good(world: GrantsWorld) -> None:
    assert await world.runs(world.gate(), "Read", **CALL)
    await world.book.void_session(SESSION, "the trust level changed")
    assert not await world.runs(world.gate(), "Read", **CALL)
    assert [row.revoked_by for row in await world.book.list(ended=True)] == [
        "the trust level changed"
    ]


async def test_it_does_not_count_at_another_level(world: GrantsWorld) -> None:
    now = world.clock.at
    for level in TrustLevel:
        held = world.book.permissions_for(SESSION, None, level, now, Permissions(trust_mode=False))
        assert bool(held.grants) is (level is TrustLevel.VAULT)
        assert Coverage(held, level, now).reads(NOTE) is (level is TrustLevel.VAULT)


@given(
    st.sampled_from(TrustLevel),
    st.sampled_from(TrustLevel),
    st.sampled_from(GrantKind),
    st.none() | st.floats(0, 1e10),
    st.floats(0, 1e10),
)
def test_a_grant_counts_at_its_level_and_before_its_end_and_never_else(
    given_at: TrustLevel,
    level: TrustLevel,
    kind: GrantKind,
    ends: float | None,
    now: float,
) -> None:
    pattern = {GrantKind.BASH: "ls", GrantKind.TOOL: "Strange"}.get(kind, "**/*")
    grant = Grant("g", GrantScope.SESSION, kind, pattern, given_at, ends)
    coverage = Coverage(Permissions(trust_mode=False, grants=(grant,)), level, now)
    covered = {
        GrantKind.READ: coverage.reads(NOTE),
        GrantKind.WRITE: coverage.writes(NOTE),
        GrantKind.BASH: coverage.runs_by_prefix(["ls", "notes"]),
        GrantKind.TOOL: coverage.uses_tool("Strange"),
    }
    counts = given_at is level and (ends is None or now < ends)
    assert covered == {each: counts and each is kind for each in GrantKind}


async def test_a_grant_that_came_with_a_vault_from_elsewhere_counts_for_nothing(
    tmp_path: Path,
) -> None:
    place = a_place(tmp_path)

    async def live_grants(at: Place) -> list[str]:
        async with at.opened() as stores:
            return [row.pattern for row in await GrantStore(stores.db).list(revoked=False)]

    theirs = place.other()
    async with theirs.opened() as at:
        await at.sessions.create_session(
            SessionCreate(id=SESSION, trust_level=TrustLevel.FULL, workspace="default")
        )
        await GrantStore(at.db).add([stored_grant()])
    assert await live_grants(theirs) == ["**/*"]
    assert await live_grants(place) == []
    async with place.opened() as at:
        (ended,) = await GrantStore(at.db).list()
        assert ended.revoked_by == "adoption"


def stored_grant() -> GrantRow:
    """The whole vault, for the first session."""
    return GrantRow(
        id="grant_1",
        scope=GrantScope.SESSION,
        session_id=SESSION,
        agent=None,
        kind=GrantKind.WRITE,
        pattern="**/*",
        level=TrustLevel.VAULT,
        given_by="somebody",
        given_at=datetime(2026, 3, 1, tzinfo=UTC),
        request_id="req_1",
    )


@pytest.mark.parametrize(
    ("command", "grants"),
    [
        ("cat /etc/passwd", ["=cat /etc/passwd", "cat"]),
        ("cp notes/a.md /tmp/x", ["=cp notes/a.md /tmp/x", "cp"]),
        ("cat .env", ["=cat .env", "cat"]),
        ("sudo ls", ["=sudo ls", "sudo", "ls"]),
        ("rm -rf /", ["=rm -rf /", "rm"]),
        ("git log && cat $SECRET", ["git", "cat"]),
        ("git log; rm notes/a.md", ["git"]),
        ("git log | sh", ["git", "sh"]),
        ("git $(cat notes/a.md)", ["git", "cat"]),
        ("git log\nrm notes/a.md", ["git"]),
    ],
)
async def test_no_grant_of_a_command_opens_what_stands_above_it(
    tmp_path: Path, command: str, grants: list[str]
) -> None:
    vault = make_vault(tmp_path)
    policy = wary_policy(tmp_path).current
    asking = await asking_about("Bash", vault, policy, command=command)
    given = [(GrantKind.BASH, each) for each in grants]
    assert not asking.allowed_with([*given, (GrantKind.READ, "**/*")])


async def test_control_the_same_grants_let_a_plain_command_run(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    policy = wary_policy(tmp_path).current
    asking = await asking_about("Bash", vault, policy, command="git log && cat notes/a.md")
    assert asking.allowed_with(
        [(GrantKind.BASH, "git"), (GrantKind.BASH, "cat"), (GrantKind.READ, "**/*")]
    )
