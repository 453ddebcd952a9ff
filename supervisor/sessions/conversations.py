"""What the outside may ask of sessions: send a message, abort a turn, look at and change trust."""

import asyncio
import logging
import secrets
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Self

from supervisor.errors import (
    InvalidRequest,
    NotFound,
    RuntimeMissing,
    SessionBusy,
    ShuttingDown,
)
from supervisor.events.log import EventLog
from supervisor.events.notices import shutting_down
from supervisor.events.schema import WarningEvent
from supervisor.ids import SessionId, new_session_id, new_turn_id
from supervisor.mcp.chosen import ALL, LEFT_OUT, TurnServers, Wanted
from supervisor.mcp.relay import Relay
from supervisor.observability.logs import fields, log_context
from supervisor.policy.compiled import CompiledPolicy
from supervisor.runtimes.honeytokens import SECRET_BYTES, Honeytokens
from supervisor.sessions.afresh import NOT_TAKEN_UP, TOO_LONG, not_taken_up
from supervisor.sessions.attachments import attached
from supervisor.sessions.course import Course
from supervisor.sessions.fork import fork
from supervisor.sessions.house import House, Stores
from supervisor.sessions.lane import Lane, Lanes
from supervisor.sessions.message import Message, check_message, check_model
from supervisor.sessions.once import Once
from supervisor.sessions.plan import (
    SessionFacts,
    Terms,
    TurnPlan,
    plan_turn,
    trust_of_message,
    with_own_floor,
)
from supervisor.sessions.records import (
    MessageRequest,
    Records,
    TurnStarted,
    Workplace,
    named_session,
)
from supervisor.sessions.recovery import close_the_books_of_the_dead
from supervisor.sessions.transcripts import delete_transcripts, stored_pointer
from supervisor.sessions.warned import Warned
from supervisor.storage.session import Session, SessionUpdate
from supervisor.storage.turns import Sent
from supervisor.trust.levels import TrustLevel
from supervisor.trust.resolve import Trust, require_not_looser, resolve_trust

logger = logging.getLogger(__name__)


class Conversations:
    """Sessions and their turns. An async context manager: leaving it ends every turn."""

    def __init__(self, *, house: House, stores: Stores, log: EventLog, lanes: Lanes) -> None:
        self._house = house
        self._stores = stores
        self._log = log
        self._lanes = lanes
        self._records = Records(house, stores, log)
        self._warned = Warned()
        self._course = Course(house, stores, log, lanes, self._warned)
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
            return await self._begin(request, message, lane)
        except BaseException:
            self._lanes.leave(lane)
            raise

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
        return await self._trust(session_id)

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
        lane = await self._lanes.enter(session_id, new_turn_id())  # nothing begins meanwhile
        try:
            await self._course.late.settle(session_id)
            await self._house.void_grants(session_id, "the supervisor: the session was deleted")
            gone = {"what": "deleted", "transcript": with_transcript}
            await self._house.record("session", session_id, None, gone)
            await self._stores.sessions.delete_session(session_id)
            await self._log.forget(session_id)
            self._forget(session_id, "the session was deleted")
        finally:
            self._lanes.leave(lane)
        pointer = stored_pointer(session.transcript_path, session_id)
        if not with_transcript or pointer is None:
            return False
        return await asyncio.to_thread(delete_transcripts, self._house.vault, pointer)

    async def put_away(self, session_id: SessionId) -> None:
        """Archive a session: nothing is kept ready for it any more. Raises SessionNotFound."""
        await self._stores.sessions.archive_session(session_id)
        self._forget(session_id, "the session was put away")

    def _forget(self, session_id: SessionId, why: str) -> None:
        for runtime in self._house.runtimes.values():
            runtime.forget(session_id, why)

    async def floors_changed(self) -> None:
        """Abort every running turn that a raised floor now finds too loose."""
        for lane in self._lanes.all():
            await self._stop_if_too_loose(lane)

    async def _stop_if_too_loose(self, lane: Lane) -> None:
        if lane.level is None:
            return
        try:
            trust = await self._trust(lane.session_id, lane.cwd)
        except (NotFound, InvalidRequest) as gone:
            # Its row is gone, or its workspace; one such session may not keep the others running.
            lane.stop.tell(f"its floors can't be known any more: {gone.message}")
            return
        raised = [str(floor) for floor in trust.floors if lane.level.is_looser_than(floor.level)]
        if raised:
            lane.stop.tell(f"a floor was raised while the turn ran: {'; '.join(raised)}")

    async def _trust(self, session_id: SessionId, cwd: PurePosixPath | None = None) -> Trust:
        session = await self._stores.sessions.get_session(session_id)
        floors = await self._records.floors_of(session, cwd)
        return resolve_trust(session.trust_level, with_own_floor(floors, session.trust_level))

    async def _begin(self, request: MessageRequest, message: Message, lane: Lane) -> TurnStarted:
        session, place = await self._records.of_request(request, lane.session_id)
        facts = await self._records.facts(session, place)
        if named_session(request) is None:
            facts = replace(facts, level=None)
        trust = trust_of_message(facts, request.trust_level)
        bare, facts = facts, await self._records.remembering(facts, trust.effective)
        servers = await self._servers(facts, trust.effective)
        message = replace(message, model=self._model(message, session, facts))
        terms = _terms(self._house.policy(), trust.effective)
        honeytokens = Honeytokens(secrets.token_bytes(SECRET_BYTES))

        def planned(facts: SessionFacts) -> TurnPlan:
            return plan_turn(
                turn_id=lane.turn_id,
                message=message,
                facts=facts,
                trust=trust,
                terms=terms,
                honeytokens=honeytokens,
                servers=servers.config,
                far=self._far(servers, lane),
                scripted=self._house.scripted,
            )

        async def afresh() -> TurnPlan:
            instead = self._records.remembering(bare, trust.effective, instead_in=lane.turn_id)
            return planned(await instead)

        plan = planned(facts)
        runtime = self._house.runtimes.get(trust.effective)
        if runtime is None:
            raise RuntimeMissing(
                f"nothing is set up that runs {trust.effective.value} sessions",
                where=trust.effective.value,
                remedy="run: trustfloor doctor",
            )
        for other in self._house.runtimes.values():
            if other is not runtime:
                other.forget(session.id, "the session runs elsewhere by now")
        await self._enter(lane, trust.effective)
        # What may fail comes before the first event: one that is told has an end to come.
        await self._stores.sessions.increment_message_count(session.id)
        lane.level, lane.cwd = trust.effective, place.cwd
        await self._record("floor", lane, plan.opening().trust.model_dump(mode="json"))
        opening = await self._log.append(session.id, lane.turn_id, plan.opening())
        self._warned.turn_begins(session.id)
        for each in _to_warn_of(place, facts, servers):
            if not self._warned.is_told(session.id, each):
                await self._log.append(session.id, lane.turn_id, each)
        # Whoever raised a floor since it was read above did not see a level on this lane yet.
        await self._stop_if_too_loose(lane)
        with log_context(session_id=session.id, turn_id=lane.turn_id):  # the task's, too
            known = fields(trust=trust.effective.value, workspace=session.workspace)
            logger.info("turn began", extra=known)
            self._group.create_task(
                self._course.run(plan, runtime, lane, afresh), name=lane.turn_id
            )
        return TurnStarted(session.id, lane.turn_id, opening.seq - 1)

    async def _servers(self, facts: SessionFacts, level: TrustLevel) -> TurnServers:
        agent = facts.agent
        wanted = ALL
        if agent is not None:
            wanted = Wanted(agent.mcp_servers, agent.own_servers, agent.path)
        return await asyncio.to_thread(self._house.servers, wanted, level)

    def _far(self, servers: TurnServers, lane: Lane) -> Relay | None:
        """What calls those servers that the turn's sandbox has no way to."""
        if not servers.far:
            return None
        return Relay(servers.far, lambda kind, body: self._record(kind, lane, body))

    def _model(self, message: Message, session: Session, facts: SessionFacts) -> str | None:
        """The message's model, or else the session's, its agent's, the house's."""
        own = None if facts.agent is None else facts.agent.model
        return message.model or session.model or own or self._house.default_model

    async def _enter(self, lane: Lane, level: TrustLevel) -> None:
        """Record that the turn runs. The lane is ours, so a row that says another does is stale."""
        turns = self._stores.turns
        try:
            await turns.begin(lane.turn_id, lane.session_id, level, lane.sent)
        except SessionBusy:
            stale = await turns.latest(lane.session_id)
            if stale is None or not await turns.end(stale.id, "interrupted", "turn_interrupted"):
                raise
            await turns.begin(lane.turn_id, lane.session_id, level, lane.sent)

    async def _record(self, kind: str, lane: Lane, body: dict[str, Any]) -> None:
        await self._house.record(kind, lane.session_id, lane.turn_id, body)


def _to_warn_of(
    place: Workplace, facts: SessionFacts, servers: TurnServers
) -> Iterator[WarningEvent]:
    if place.warning is not None:
        yield WarningEvent(code="working_directory", message=place.warning)
    if facts.too_long:
        yield WarningEvent(code=NOT_TAKEN_UP, message=not_taken_up(TOO_LONG))
    for each in servers.warnings:
        yield WarningEvent(code=LEFT_OUT, message=each)


def _terms(policy: CompiledPolicy, level: TrustLevel) -> Terms:
    gateway = policy.gateway
    return Terms(
        deny_list=policy.hidden,
        models=gateway.models,
        server_tools=gateway.server_tools[level],
        cage_network=policy.cage_network,
        trust_mode=policy.defaults[level].trust_mode,
        turn_tokens=gateway.turn.tokens,
        turn_cost_usd=gateway.turn.cost_usd,
        session_tokens=gateway.session.tokens,
        session_cost_usd=gateway.session.cost_usd,
    )
