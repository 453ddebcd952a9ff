"""Warnings of the supervisor's own: that events are missing, that it stops."""

from typing import Final

from supervisor.clock import Clock
from supervisor.events.schema import WarningEvent
from supervisor.ids import SessionId, TurnId
from supervisor.storage import json_line
from supervisor.storage.event_rows import EventRecord
from supervisor.storage.timestamp import to_text

GAP: Final = "event_gap"
"""The code of the warning that stands for events which are no longer stored."""
SHUTTING_DOWN: Final = "shutting_down"
UNNUMBERED: Final = -1
"""What is in no log has no number on the wire; a reader that comes back keeps the one it has."""


def shutting_down(seconds: float, now: float) -> WarningEvent:
    """Turns have so many seconds to end; `now` in seconds since the epoch."""
    return WarningEvent(
        code=SHUTTING_DOWN,
        message=f"the supervisor stops in {seconds:.0f} s",
        at=round(now + seconds, 3),
    )


def notice(clock: Clock, session_id: SessionId, seq: int, warning: WarningEvent) -> EventRecord:
    """A record of the warning that is in no log."""
    turn_id, ts = TurnId(""), to_text(clock.now())
    envelope = {"seq": seq, "turn_id": turn_id, "ts": ts, "session_id": session_id}
    data = json_line.dump({**envelope, **warning.model_dump(by_alias=True)})
    return EventRecord(session_id, turn_id, seq, warning.type, ts, data)
