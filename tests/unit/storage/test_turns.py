import asyncio
from pathlib import Path

import pytest

from supervisor.errors import SessionBusy, SessionNotFound
from supervisor.ids import TurnId, new_turn_id
from supervisor.trust.levels import TrustLevel
from tests.worlds.storage import SESSION, TURN, session, stores


async def test_of_many_turns_that_begin_at_once_one_runs(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        outcomes = await asyncio.gather(
            *(at.turns.begin(new_turn_id(), SESSION, TrustLevel.FULL) for _ in range(10)),
            return_exceptions=True,
        )
        assert sum(isinstance(outcome, SessionBusy) for outcome in outcomes) == 9
        assert len(await at.turns.running()) == 1


@pytest.mark.parametrize("state", ["done", "aborted", "error", "interrupted"])
async def test_after_any_end_the_next_turn_begins(tmp_path: Path, state: str) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        await at.turns.begin(TURN, SESSION, TrustLevel.FULL)
        assert await at.turns.end(TURN, state, "why")  # type: ignore[arg-type]
        ended = await at.turns.get(TURN)
        assert ended is not None
        assert (ended.state, ended.error_code) == (state, "why")
        assert ended.ended_at is not None
        assert ended.ended_at > ended.started_at
        following = await at.turns.begin(TurnId("turn_2"), SESSION, TrustLevel.SANDBOXED)
        assert await at.turns.latest(SESSION) == following
        assert following.trust_level is TrustLevel.SANDBOXED


async def test_the_first_end_counts(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        await at.turns.begin(TURN, SESSION, TrustLevel.FULL)
        assert await at.turns.end(TURN, "aborted")
        assert not await at.turns.end(TURN, "done")
        ended = await at.turns.get(TURN)
        assert ended is not None
        assert ended.state == "aborted"


async def test_a_turn_needs_its_session(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        with pytest.raises(SessionNotFound):
            await at.turns.begin(TURN, SESSION, TrustLevel.FULL)
        assert await at.turns.latest(SESSION) is None


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("started_at", "yesterday"),
        ("started_at", b"\xff"),
        ("started_at", float("inf")),
        ("ended_at", 7),
        ("trust_level", "root"),
    ],
    ids=["word", "bytes", "infinite", "number", "level"],
)
async def test_a_corrupt_column_costs_its_row_only_and_the_log_is_warned(
    tmp_path: Path, column: str, value: object, caplog: pytest.LogCaptureFixture
) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        for each in (TURN, TurnId("turn_2")):
            await at.turns.begin(each, SESSION, TrustLevel.FULL)
            await at.turns.end(each, "done")
        async with at.db.write() as cx:
            await cx.execute("PRAGMA ignore_check_constraints = ON")
            await cx.execute(f"UPDATE turns SET {column} = ? WHERE id = 'turn_1'", (value,))  # noqa: S608
        found = {turn.id: turn.damaged for turn in await at.turns.of_session(SESSION)}
        latest = await at.turns.latest(SESSION)
    assert found == {TURN: (column,), TurnId("turn_2"): ()}
    assert latest is not None
    assert f"turn turn_1: its row holds nothing readable in {column}" in caplog.messages
