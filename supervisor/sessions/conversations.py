"""What the outside may ask of sessions: send a message, abort a turn, look at and change trust."""

import asyncio
import logging
from contextlib import AsyncExitStack
from typing import Self

from supervisor.errors import ShuttingDown
from supervisor.events.log import EventLog
from supervisor.events.notices import shutting_down
from supervisor.events.schema import WarningEvent
from supervisor.ids import SessionId, new_session_id, new_turn_id
from supervisor.observability.logs import fields, log_context
from supervisor.sessions.attachments import attached
from supervisor.sessions.beginning import Beginning, Begun
from supervisor.sessions.course import Course
from supervisor.sessions.fork import fork
from supervisor.sessions.house import House, Stores
from supervisor.sessions.lane import Lane, Lanes
from supervisor.sessions.message import Message, check_message, check_model
from supervisor.sessions.once import Once
from supervisor.sessions.records import MessageRequest, Records, TurnStarted, named_session
from supervisor.sessions.recovery import close_the_books_of_the_dead
from supervisor.sessions.strictness import Strictness
from supervisor.sessions.transcripts import delete_transcripts, stored_pointer
from supervisor.sessions.warned import Warned
from supervisor.storage.session import Session, SessionUpdate
from supervisor.storage.turns import Sent
from supervisor.trust.levels import TrustLevel
from supervisor.trust.resolve import Trust, require_not_looser

logger = logging.getLogger(__name__)


class Conversations:
    """Sessions and their turns. An async context manager: leaving it ends every turn."""

    def __init__(self, *, house: House, stores: Stores, log: EventLog, lanes: Lanes) -> None:
        self._house = house
        self._stores = stores
        self._log = log
        self._lanes = lanes
        self._records = Records(house, stores, log)
        self._strictness = Strictness(stores.sessions, self._records, lanes)
        warned = Warned()
        self._beginning = Beginning(
            house=house,
            stores=stores,
            log=log,
            records=self._records,
            strictness=self._strictness,
            warned=warned,
        )
        self._course = Course(house, stores, log, lanes, warned)
        self._once = Once(stores.turns, log)
        self._stack = AsyncExitStack()
        self._group: asyncio.TaskGroup
        self._is_stopping = False

    async def __aenter__(self) -> Self:
        await self._stack.__aenter__()
        await self._stack.enter_async_context(self._course.late)
        self._group = await self._stack.enter_async_context(asyncio.TaskGroup())
        self._stack.push_async_callback(self.end_all)
        await close_the_books_of_the_dead(self._stores.turns, self._log)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    def active(self) -> list[SessionId]:
        """Sessions with a turn that isn't over."""
        return [lane.session_id for lane in self._lanes.all()]

    async def begin(self, request: MessageRequest) -> TurnStarted:
        """Start a turn. Its events, the ending included, go to the session's log.

        A message that was sent before, by its key, begins none. Raises SessionNotFound,
        SessionBusy, InvalidRequest, RuntimeMissing, ShuttingDown, KeyReused, TurnForgotten.
        """
        return await self._once.turn(request, lambda sent: self._begun(request, sent))

    async def _begun(self, request: MessageRequest, sent: Sent | None) -> TurnStarted:
        self._require_open()
        message = Message(
            text=request.message,
            model=request.model,
            system_prompt=request.system_prompt,
            initial_context=request.initial_context,
            attached=attached(request.attachments),
        )
        check_message(message)
        check_model(message.model, self._house.policy().gateway.models)
        turn_id = new_turn_id()
        session_id = named_session(request) or new_session_id()
        lane = await self._lanes.enter(session_id, turn_id, sent)
        try:
            self._require_open()
            await self._course.late.settle(session_id)
            begun = await self._beginning.begin(request, message, lane)
            self._see_through(begun, lane)
        except BaseException:
            self._lanes.leave(lane)
            raise
        return TurnStarted(session_id, turn_id, begun.after)

    def _see_through(self, begun: Begun, lane: Lane) -> None:
        plan = begun.plan
        with log_context(session_id=lane.session_id, turn_id=lane.turn_id):  # the task's, too
            known = fields(trust=plan.run.level.value, workspace=plan.workspace)
            logger.info("turn began", extra=known)
            course = self._course.run(plan, begun.runtime, lane, begun.afresh)
            self._group.create_task(course, name=lane.turn_id)

    def _require_open(self) -> None:
        if self._is_stopping:
            raise ShuttingDown(
                "the supervisor is stopping", remedy="send it again once it is up again"
            )

    async def end_all(self) -> None:
        """Begin no turn any more; give those that run their grace, then stop them.

        When this returns each has written its ending. To be called again does no harm.
        """
        self._is_stopping = True
        for lane in self._lanes.all():
            if lane.level is not None:
                await self._lanes.say(lane.session_id, lane.turn_id, self._farewell())
        try:
            async with asyncio.timeout(self._house.shutdown_seconds):
                await self._lanes.empty()
        except TimeoutError:
            self.hurry()
            await self._lanes.empty()

    def hurry(self) -> None:
        """Stop the turns that run, now; `end_all` needn't wait for them then."""
        for lane in self._lanes.all():
            lane.stop.tell("the supervisor was stopped")

    def _farewell(self) -> WarningEvent:
        return shutting_down(self._house.shutdown_seconds, self._log.clock.now())

    async def abort(self, session_id: SessionId, reason: str) -> bool:
        """Ask the session's turn to end; False if none runs."""
        lane = self._lanes.find(session_id)
        if lane is None:
            return False
        lane.stop.tell(reason)
        return True

    async def trust(self, session_id: SessionId) -> Trust:
        """The trust that the session's next message would run at."""
        return await self._strictness.trust(session_id)

    async def set_trust(self, session_id: SessionId, level: TrustLevel) -> Trust:
        """Change the session's own level. Raises LooserThanFloor, SessionNotFound.

        A turn that now runs too loosely is aborted.
        """
        session = await self._stores.sessions.get_session(session_id)
        require_not_looser(level, await self._records.floors_of(session))
        if level is not session.trust_level:
            await self._house.void_grants(session_id, "the supervisor: the trust level changed")
        changed = {"from": session.trust_level.value, "to": level.value}
        await self._house.record("trust", session_id, None, changed)
        await self._stores.sessions.update_session(session_id, SessionUpdate(trust_level=level))
        await self.floors_changed()
        return await self.trust(session_id)

    async def fork(self, session_id: SessionId) -> Session:
        """A new session that goes on from this one, at least as strict. Raises SessionNotFound."""
        parent = await self._stores.sessions.get_session(session_id)
        made = await fork(self._house.vault, self._stores.sessions, self._records, parent)
        folders = await self._stores.contexts.get_session_contexts(parent.id)
        await self._stores.contexts.set_session_contexts(made.id, folders)
        return made

    async def delete(self, session_id: SessionId, *, with_transcript: bool) -> bool:
        """Delete a session for good: its row, events and grants; whether a transcript went too.

        Raises SessionNotFound, and SessionBusy while a turn of it runs.
        """
        session = await self._stores.sessions.get_session(session_id)
        pointer = stored_pointer(session.transcript_path, session_id)
        lane = await self._lanes.enter(session_id, new_turn_id())  # nothing begins meanwhile
        try:
            await self._course.late.settle(session_id)
            await self._house.void_grants(session_id, "the supervisor: the session was deleted")
            said = {"what": "deleted", "transcript": with_transcript}
            await self._house.record("session", session_id, None, said)
            self._forget(session_id, "the session was deleted")
            # The row last: what breaks off before can be asked for again, and is found then.
            await self._log.forget(session_id)
            gone = False
            if with_transcript and pointer is not None:
                gone = await asyncio.to_thread(delete_transcripts, self._house.vault, pointer)
            await self._stores.sessions.delete_session(session_id)
        finally:
            self._lanes.leave(lane)
        return gone

    async def put_away(self, session_id: SessionId) -> None:
        """Archive a session: nothing is kept ready for it any more. Raises SessionNotFound."""
        await self._stores.sessions.archive_session(session_id)
        self._forget(session_id, "the session was put away")

    def _forget(self, session_id: SessionId, why: str) -> None:
        for runtime in self._house.runtimes.values():
            runtime.forget(session_id, why)

    async def floors_changed(self) -> None:
        """Abort every running turn that a raised floor now finds too loose."""
        await self._strictness.hold_all()
