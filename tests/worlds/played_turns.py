"""Turns that a test plays: it says what they say, and how they end."""

from supervisor.events.log import EventLog, EventRecord
from supervisor.events.schema import (
    AbortedEvent,
    DoneEvent,
    ErrorEvent,
    Event,
    SessionResume,
    TextEvent,
)
from supervisor.ids import SessionId, TurnId, new_session_id, new_turn_id
from supervisor.sessions.attachments import attached
from supervisor.sessions.message import Message, check_message
from supervisor.sessions.records import MessageRequest, TurnStarted, named_session
from supervisor.storage.session import Session, SessionCreate, SessionUpdate
from supervisor.storage.sessions import SessionStore
from supervisor.trust.floor import Floor, FloorSource
from supervisor.trust.levels import TrustLevel
from supervisor.trust.resolve import Trust, require_not_looser, resolve_trust


class PlayedByTheTest:
    """Conversations whose turns say only what the test says; everything else is real."""

    def __init__(self, log: EventLog, sessions: SessionStore) -> None:
        self._log = log
        self._sessions = sessions
        self.asked: list[MessageRequest] = []
        self.aborted: list[tuple[SessionId, str]] = []
        self.floors_checked = 0
        self.running: dict[SessionId, TurnId] = {}
        self.workspace_floor = TrustLevel.VAULT
        self.fails_with: Exception | None = None
        self.script: list[Event] = []
        """Said at once when a turn begins, as a very quick agent would."""
        self.next_turn_follows = False
        """Whether somebody else's next turn has begun before anyone can read of the first."""

    async def begin(self, request: MessageRequest) -> TurnStarted:
        if self.fails_with is not None:
            raise self.fails_with
        check_message(
            Message(
                text=request.message,
                model=request.model,
                system_prompt=request.system_prompt,
                initial_context=request.initial_context,
                attached=attached(request.attachments),
            )
        )
        named_session(request)
        self.asked.append(request)
        session_id = SessionId(request.session_id) if request.session_id else new_session_id()
        if request.session_id is None:
            await self._sessions.create_session(
                SessionCreate(id=session_id, trust_level=TrustLevel.SANDBOXED, workspace="default")
            )
        after = await self._log.last_seq(session_id)
        turn_id = self.running[session_id] = new_turn_id()
        for event in self.script:
            await self.say(session_id, event)
        if self.next_turn_follows:
            self.running[session_id] = new_turn_id()
            await self.say(session_id, text("of the next turn"))
        return TurnStarted(session_id, turn_id, after)

    async def say(self, session_id: SessionId, event: Event) -> EventRecord:
        record = await self._log.append(session_id, self.running[session_id], event)
        if event.TERMINAL:
            del self.running[session_id]
        return record

    async def abort(self, session_id: SessionId, reason: str) -> bool:
        self.aborted.append((session_id, reason))
        if session_id not in self.running:
            return False
        await self.say(session_id, aborted(session_id, reason))
        return True

    def active(self) -> list[SessionId]:
        return list(self.running)

    def _floors(self) -> list[Floor]:
        return [Floor(FloorSource.WORKSPACE, self.workspace_floor, "default")]

    async def trust(self, session_id: SessionId) -> Trust:
        row = await self._sessions.get_session(session_id)
        return resolve_trust(row.trust_level, self._floors())

    async def set_trust(self, session_id: SessionId, level: TrustLevel) -> Trust:
        require_not_looser(level, self._floors())
        await self._sessions.update_session(session_id, SessionUpdate(trust_level=level))
        return await self.trust(session_id)

    async def fork(self, session_id: SessionId) -> Session:
        parent = await self._sessions.get_session(session_id)
        return await self._sessions.create_session(
            SessionCreate(
                id=new_session_id(),
                trust_level=parent.trust_level,
                workspace=parent.workspace,
                continued_from=parent.id,
            )
        )

    async def put_away(self, session_id: SessionId) -> None:
        await self._sessions.archive_session(session_id)

    async def delete(self, session_id: SessionId, *, with_transcript: bool) -> bool:
        await self._sessions.delete_session(session_id)
        return with_transcript

    async def floors_changed(self) -> None:
        self.floors_checked += 1

    async def end_all(self) -> None:
        self.hurry()

    def hurry(self) -> None:
        self.running.clear()


def text(delta: str) -> TextEvent:
    return TextEvent(delta=delta)


def done(session_id: SessionId, response: str = "all done") -> DoneEvent:
    return DoneEvent(
        response=response,
        session_id=session_id,
        working_directory="",
        message_count=1,
        model="scripted",
        duration_ms=1,
        session_resume=SessionResume(method="new"),
    )


def aborted(session_id: SessionId, reason: str) -> AbortedEvent:
    return AbortedEvent(message=reason, session_id=session_id, partial_response="")


def failed(session_id: SessionId, code: str) -> ErrorEvent:
    return ErrorEvent(
        code=code,
        error="the engine does not answer",
        session_id=session_id,
        where="/var/run/docker.sock",
        remedy="start dockerd",
        can_retry=True,
    )
