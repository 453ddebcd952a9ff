import asyncio
from pathlib import Path

import pytest

from supervisor.errors import SessionBusy, SessionNotFound
from supervisor.ids import TurnId, new_turn_id
from supervisor.trust.levels import TrustLevel
from tests.worlds.storage import OTHER, SESSION, TURN, session, stores


async def test_of_many_turns_that_begin_at_once_one_runs(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create(session())
        outcomes = await asyncio.gather(
            *(at.turns.begin(new_turn_id(), SESSION, TrustLevel.FULL) for _ in range(10)),
            return_exceptions=True,
        )
        assert sum(isinstance(outcome, SessionBusy) for outcome in outcomes) == 9
        assert len(await at.turns.running()) == 1


@pytest.mark.parametrize("state", ["done", "aborted", "error", "interrupted"])
async def test_after_any_end_the_next_turn_begins(tmp_path: Path, state: str) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create(session())
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
        await at.sessions.create(session())
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


async def test_what_was_left_running_is_marked_once_at_the_next_start(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        for each in (SESSION, OTHER):
            await at.sessions.create(session(each))
        await at.turns.begin(TURN, SESSION, TrustLevel.FULL)
        await at.turns.begin(TurnId("turn_2"), OTHER, TrustLevel.FULL)
        await at.turns.end(TurnId("turn_2"), "done")
    async with stores(tmp_path) as at:
        (changed,) = await at.turns.mark_interrupted()
        assert (changed.id, changed.state, changed.error_code) == (
            TURN,
            "interrupted",
            "turn_interrupted",
        )
        assert await at.turns.mark_interrupted() == []
        assert await at.turns.running() == []
        await at.turns.begin(TurnId("turn_3"), SESSION, TrustLevel.FULL)
