"""Stored grants: they survive, they end, and damage permits nothing."""

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from supervisor.errors import NotFound
from supervisor.policy.permissions import Grant, GrantKind, GrantScope
from supervisor.storage.grants import GrantRow, GrantStore
from supervisor.storage.session import SessionCreate
from supervisor.trust.levels import TrustLevel
from tests.worlds.storage import OTHER, SESSION, Stores, stores

GIVEN = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)
NOW = GIVEN.timestamp()


def row(name: str = "grant_1", **changes: Any) -> GrantRow:
    return GrantRow(
        **{
            "id": name,
            "scope": GrantScope.SESSION,
            "session_id": SESSION,
            "agent": None,
            "kind": GrantKind.READ,
            "pattern": r"notes/\[a\]*",
            "level": TrustLevel.VAULT,
            "given_by": "somebody",
            "given_at": GIVEN,
            "request_id": "req_1",
            **changes,
        }
    )


OF_AGENT = {"scope": GrantScope.AGENT, "session_id": None, "agent": "agents/a.md"}


async def with_sessions(at: Stores) -> GrantStore:
    for each in (SESSION, OTHER):
        if await at.sessions.find_session(each) is None:
            await at.sessions.create_session(
                SessionCreate(id=each, trust_level=TrustLevel.VAULT, workspace="default")
            )
    return GrantStore(at.db)


async def test_a_grant_comes_back_as_it_was_given_also_from_a_file_opened_again(
    tmp_path: Path,
) -> None:
    ends = GIVEN + timedelta(hours=1)
    given = [row(expires_at=ends), row("grant_2", **OF_AGENT, given_at=ends)]
    async with stores(tmp_path) as at:
        await (await with_sessions(at)).add(given)
    async with stores(tmp_path) as at:
        grants = GrantStore(at.db)
        assert await grants.list() == [given[1], given[0]]
        assert await grants.get("grant_1") == given[0]
        assert (await grants.get("grant_1")).grant() == Grant(
            "grant_1",
            GrantScope.SESSION,
            GrantKind.READ,
            r"notes/\[a\]*",
            TrustLevel.VAULT,
            ends.timestamp(),
        )


async def test_grants_are_listed_by_session_and_by_agent(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        grants = await with_sessions(at)
        await grants.add([row("a"), row("b", session_id=OTHER), row("c", **OF_AGENT)])

        async def names(**wanted: Any) -> set[str]:
            return {each.id for each in await grants.list(**wanted)}

        assert await names() == {"a", "b", "c"}
        assert await names(session_id=SESSION) == {"a"}
        assert await names(agent="agents/a.md") == {"c"}
        assert await names(limit=2) == {"b", "c"}


async def test_a_revoked_grant_says_by_whom_and_the_first_end_stays(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        grants = await with_sessions(at)
        await grants.add([row("a"), row("b")])
        await grants.revoke(["a"], NOW + 5, "somebody")
        await grants.revoke(["a"], NOW + 9, "somebody else")
        (live,) = await grants.list(revoked=False)
        assert live.id == "b"
        ended = await grants.get("a")
        assert (ended.revoked_at, ended.revoked_by) == (GIVEN + timedelta(seconds=5), "somebody")
        assert not ended.is_live(NOW + 1)


def test_a_grant_is_live_until_its_end() -> None:
    ending = row(expires_at=GIVEN + timedelta(seconds=10))
    assert ending.is_live(NOW + 9.9)
    assert not ending.is_live(NOW + 10)
    assert row().is_live(NOW + 1e9)


async def test_all_of_several_are_stored_or_none(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        grants = await with_sessions(at)
        with pytest.raises(NotFound):
            await grants.add([row("a"), row("b", session_id="no-such-session")])
        assert await grants.list() == []
        with pytest.raises(NotFound):
            await grants.get("a")


async def test_with_its_session_a_grant_goes(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        grants = await with_sessions(at)
        await grants.add([row("a"), row("b", session_id=OTHER)])
        await at.sessions.delete_session(SESSION)
        assert [each.id for each in await grants.list()] == ["b"]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("scope", "everything"),
        ("kind", "all"),
        ("trust_level", "none"),
        ("pattern", b"\xff"),
        ("expires_at", "never"),
        ("expires_at", 4e9),
        ("given_at", "x"),
        ("given_by", b"x"),
    ],
)
async def test_a_row_that_can_not_be_read_permits_nothing_and_costs_no_other(
    tmp_path: Path, column: str, value: object, caplog: pytest.LogCaptureFixture
) -> None:
    async with stores(tmp_path) as at:
        grants = await with_sessions(at)
        await grants.add([row("a"), row("b")])
        async with at.db.write() as cx:
            await cx.execute("PRAGMA ignore_check_constraints = ON")
            sql = f"UPDATE permission_grants SET {column} = ? WHERE id = 'a'"  # noqa: S608 - ours
            await cx.execute(sql, (value,))
        with caplog.at_level(logging.WARNING):
            assert [each.id for each in await grants.list()] == ["b"]
        assert "a can't be read" in caplog.text
        with pytest.raises(NotFound):
            await grants.get("a")
