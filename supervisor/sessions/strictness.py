"""How strict a session must be now, and the turns of it that run too loosely by that.

Beside `conversations.py`, which is told of changes, and `beginning.py`, which looks once more when
a turn has begun: whoever raised a floor meanwhile didn't see the turn yet.
"""

from pathlib import PurePosixPath

from supervisor.errors import InvalidRequest, NotFound
from supervisor.ids import SessionId
from supervisor.sessions.lane import Lane, Lanes
from supervisor.sessions.plan import with_own_floor
from supervisor.sessions.records import Records
from supervisor.storage.sessions import SessionStore
from supervisor.trust.resolve import Trust, resolve_trust


class Strictness:
    """Looks at floors anew, and aborts the turns that they have passed by."""

    def __init__(self, sessions: SessionStore, records: Records, lanes: Lanes) -> None:
        self._sessions = sessions
        self._records = records
        self._lanes = lanes

    async def trust(self, session_id: SessionId, cwd: PurePosixPath | None = None) -> Trust:
        """The trust that the session's next message would run at. Raises SessionNotFound.

        `cwd`: where a turn of it works by its plan; None: where its next one would.
        """
        session = await self._sessions.get_session(session_id)
        floors = await self._records.floors_of(session, cwd)
        return resolve_trust(session.trust_level, with_own_floor(floors, session.trust_level))

    async def hold_all(self) -> None:
        """Abort every running turn that a raised floor now finds too loose."""
        for lane in self._lanes.all():
            await self.hold(lane)

    async def hold(self, lane: Lane) -> None:
        """Abort the lane's turn if a floor finds it too loose; nothing if none runs there yet."""
        if lane.level is None:
            return
        try:
            trust = await self.trust(lane.session_id, lane.cwd)
        except (NotFound, InvalidRequest) as gone:
            # Its row is gone, or its workspace; one such session may not keep the others running.
            lane.stop.tell(f"its floors can't be known any more: {gone.message}")
            return
        raised = [str(floor) for floor in trust.floors if lane.level.is_looser_than(floor.level)]
        if raised:
            lane.stop.tell(f"a floor was raised while the turn ran: {'; '.join(raised)}")
