"""After a crash: turns that a supervisor before us left running are ended, each once."""

from pathlib import Path

from supervisor.events.schema import AbortedEvent, DoneEvent, SessionResume, TextEvent
from supervisor.ids import TurnId
from supervisor.sessions.recovery import close_the_books_of_the_dead
from supervisor.trust.levels import TrustLevel
from tests.worlds import storage as world

DEAD, NEXT = TurnId("turn_dead"), TurnId("turn_next")


async def test_a_turn_that_was_running_is_ended_in_its_row_and_in_its_events(
    tmp_path: Path,
) -> None:
    async with world.stores(tmp_path) as stores, world.event_log(tmp_path) as log:
        await stores.sessions.create_session(world.session())
        await stores.turns.begin(DEAD, world.SESSION, TrustLevel.VAULT)
        await log.append(world.SESSION, DEAD, TextEvent(delta="half"))
        assert await close_the_books_of_the_dead(stores.turns, log) == 1
        turn = await stores.turns.get(DEAD)
        assert turn is not None
        assert (turn.state, turn.error_code) == ("interrupted", "turn_interrupted")
        records = await log.read(world.SESSION)
        assert [record.type for record in records] == ["text", "error"]
        assert records[-1].turn_id == DEAD
        assert b"turn_interrupted" in records[-1].data


async def test_the_session_can_go_on_and_nothing_is_ended_twice(tmp_path: Path) -> None:
    async with world.stores(tmp_path) as stores, world.event_log(tmp_path) as log:
        await stores.sessions.create_session(world.session())
        await stores.turns.begin(DEAD, world.SESSION, TrustLevel.VAULT)
        await close_the_books_of_the_dead(stores.turns, log)
        assert await close_the_books_of_the_dead(stores.turns, log) == 0
        assert len(await log.read(world.SESSION)) == 1
        await stores.turns.begin(NEXT, world.SESSION, TrustLevel.VAULT)


async def test_a_turn_whose_ending_was_stored_keeps_it(tmp_path: Path) -> None:
    done = DoneEvent(
        response="all of it",
        session_id=world.SESSION,
        working_directory=".",
        message_count=2,
        model=None,
        duration_ms=1,
        session_resume=SessionResume(method="new", previous_message_count=0),
    )
    aborted = AbortedEvent(message="enough", session_id=world.OTHER, partial_response="")
    async with world.stores(tmp_path) as stores, world.event_log(tmp_path) as log:
        for session_id, turn_id, ending in (
            (world.SESSION, DEAD, done),
            (world.OTHER, NEXT, aborted),
        ):
            await stores.sessions.create_session(world.session(session_id))
            await stores.turns.begin(turn_id, session_id, TrustLevel.VAULT)
            await log.append(session_id, turn_id, ending)
        assert await close_the_books_of_the_dead(stores.turns, log) == 2
        states = [await stores.turns.get(turn_id) for turn_id in (DEAD, NEXT)]
        assert [turn.state for turn in states if turn] == ["done", "aborted"]
        assert [record.type for record in await log.read(world.SESSION)] == ["done"]


async def test_an_earlier_turns_ending_does_not_count_for_the_one_that_ran(tmp_path: Path) -> None:
    async with world.stores(tmp_path) as stores, world.event_log(tmp_path) as log:
        await stores.sessions.create_session(world.session())
        await log.append(
            world.SESSION,
            NEXT,
            AbortedEvent(message="before", session_id=world.SESSION, partial_response=""),
        )
        await stores.turns.begin(DEAD, world.SESSION, TrustLevel.VAULT)
        await close_the_books_of_the_dead(stores.turns, log)
        turn = await stores.turns.get(DEAD)
        assert turn is not None
        assert turn.state == "interrupted"
