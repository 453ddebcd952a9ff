"""At the start: what a supervisor before us left running is ended, and its session told so."""

from typing import Final

from supervisor.events.log import EventLog, is_terminal
from supervisor.ids import SessionId, TurnId
from supervisor.sessions.ending import cut_off
from supervisor.storage.turns import EndState, TurnStore

_STATE_OF: Final[dict[str, EndState]] = {"done": "done", "aborted": "aborted", "error": "error"}


async def close_the_books_of_the_dead(turns: TurnStore, log: EventLog) -> int:
    """End every turn that is still marked as running; gives how many there were.

    A turn whose terminal event was stored keeps that ending: killed in between, it did end. Right
    only before the first turn of ours, with the data folder's lock held.
    """
    dead = await turns.running()
    for turn in dead:
        said = await _terminal(log, turn.session_id, turn.id)
        if said is not None:
            await turns.end(turn.id, _STATE_OF[said])
            continue
        words = cut_off(turn.session_id)
        await log.append(turn.session_id, turn.id, words.event)
        await turns.end(turn.id, words.state, words.error_code)
    return len(dead)


async def _terminal(log: EventLog, session_id: SessionId, turn_id: TurnId) -> str | None:
    """The type of the turn's terminal event, if it was stored: the session's last event then."""
    last = await log.last_seq(session_id)
    for record in await log.read(session_id, last - 1):
        if record.turn_id == turn_id and is_terminal(record):
            return record.type
    return None
