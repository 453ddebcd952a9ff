"""A session's lane: one turn at a time, owned by the supervisor and not by any request."""

import asyncio
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from supervisor.errors import SessionBusy
from supervisor.events.schema import Event
from supervisor.ids import SessionId, TurnId
from supervisor.runtimes.honeytokens import Honeytokens
from supervisor.sessions.turn import Say, Stop
from supervisor.storage.turns import Sent
from supervisor.trust.levels import TrustLevel


@dataclass(slots=True)
class Lane:
    """A turn that is being prepared, runs, or is writing its ending."""

    session_id: SessionId
    turn_id: TurnId
    sent: Sent | None = None
    """What a repetition of its message is known by."""
    stop: Stop = field(default_factory=Stop)
    level: TrustLevel | None = None
    """The level it runs at; None while it is being prepared."""
    cwd: PurePosixPath | None = None
    """Where it works, relative to the vault; None while it is being prepared."""
    say: Say | None = None
    """Speaks for the turn while it plays."""
    is_ending: bool = False
    """Its terminal event is out: whoever read it may send the next message at once."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    honeytokens: Honeytokens | None = None
    """Those of the turn, while it plays: what comes in for it is looked at too."""


class Lanes:
    """All lanes in use."""

    def __init__(self) -> None:
        self._lanes: dict[SessionId, Lane] = {}

    async def enter(self, session_id: SessionId, turn_id: TurnId, sent: Sent | None = None) -> Lane:
        """Take the session's lane. Raises SessionBusy while a turn of it isn't over."""
        while (lane := self._lanes.get(session_id)) is not None:
            if not lane.is_ending:
                raise SessionBusy(
                    "a turn of this session is running",
                    where=session_id,
                    remedy="wait for its end, or abort it",
                )
            await lane.left.wait()
        lane = self._lanes[session_id] = Lane(session_id, turn_id, sent)
        return lane

    def leave(self, lane: Lane) -> None:
        """Give the lane back."""
        if self._lanes.get(lane.session_id) is lane:
            del self._lanes[lane.session_id]
        lane.left.set()

    def find(self, session_id: SessionId) -> Lane | None:
        """The session's lane, if a turn of it isn't over."""
        lane = self._lanes.get(session_id)
        return None if lane is None or lane.is_ending else lane

    async def say(self, session_id: SessionId, turn_id: TurnId, event: Event) -> None:
        """Speak for a turn; once its ending is being written, nothing more is said of it."""
        lane = self.find(session_id)
        if lane is not None and lane.turn_id == turn_id and lane.say is not None:
            await lane.say(event)

    def all(self) -> list[Lane]:
        """Every lane whose turn isn't over."""
        return [lane for lane in self._lanes.values() if not lane.is_ending]

    def living_turns(self) -> set[TurnId]:
        """The turns that may still own containers, folders and processes; asked from any thread."""
        return {lane.turn_id for lane in list(self._lanes.values())}

    async def empty(self) -> None:
        """Wait until every lane is left."""
        for lane in list(self._lanes.values()):
            await lane.left.wait()
