"""What the outside may ask of sessions: send a message, abort a turn, look at and change trust."""

import asyncio
import logging
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Final, Self
from uuid import uuid4

import orjson

from supervisor.approvals.open_requests import TurnContext
from supervisor.errors import (
    InvalidRequest,
    NotFound,
    RuntimeMissing,
    SessionBusy,
    SessionNotFound,
    ShuttingDown,
    TurnFailed,
)
from supervisor.events.log import EventLog
from supervisor.events.schema import Event, IsolationEvent, WarningEvent
from supervisor.ids import SessionId, TurnId, is_session_id, new_session_id, new_turn_id
from supervisor.observability.logs import fields, log_context
from supervisor.policy.compiled import CompiledPolicy
from supervisor.runtimes.contract import RunResult, Runtime, ToolGate
from supervisor.sessions.ending import LastWords, cut_off, failed, last_words
from supervisor.sessions.floors import Floors
from supervisor.sessions.house import GateTerms, House, Stores
from supervisor.sessions.lane import Lane, Lanes
from supervisor.sessions.memory import SPOKEN, PastTurn, earlier, missed_turns, transcript_for
from supervisor.sessions.plan import (
    Message,
    SessionFacts,
    Terms,
    TurnPlan,
    check_message,
    check_model,
    plan_turn,
    trust_of_message,
    with_own_floor,
)
from supervisor.sessions.recovery import close_the_books_of_the_dead
from supervisor.sessions.transcripts import has_content, stored_pointer, transcript_pointer
from supervisor.sessions.turn import Heard, Stage, perform
from supervisor.sessions.working_directory import resolve_working_directory
from supervisor.storage.session_row import NewSession, SessionRow
from supervisor.storage.workspaces import DEFAULT
from supervisor.trust.floor import Floor
from supervisor.trust.levels import TrustLevel
from supervisor.trust.resolve import Trust, require_not_looser, resolve_trust

logger = logging.getLogger(__name__)

_TITLE_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class MessageRequest:
    """One message, as a client asks for it; None means: as the session has it, or the default."""

    message: str
    session_id: str | None = None
    workspace: str | None = None
    trust_level: TrustLevel | None = None
    working_directory: str | None = None
    model: str | None = None
    system_prompt: str | None = None
    agent: str | None = None
    initial_context: str | None = None


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn runs; its events have a `seq` above `after`."""

    session_id: SessionId
    turn_id: TurnId
    after: int


class Conversations:
    """Sessions and their turns. An async context manager: leaving it ends every turn."""

    def __init__(self, *, house: House, stores: Stores, log: EventLog, lanes: Lanes) -> None:
        self._house = house
        self._stores = stores
        self._log = log
        self._lanes = lanes
        self._floors = Floors(house.floor, stores.workspaces)
        self._stack = AsyncExitStack()
        self._group: asyncio.TaskGroup
        self._is_stopping = False

    async def __aenter__(self) -> Self:
        await self._stack.__aenter__()
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

        Raises SessionNotFound, SessionBusy, InvalidRequest, RuntimeMissing, ShuttingDown.
        """
        self._require_open()
        if request.agent is not None:
            raise InvalidRequest(
                "agent files aren't supported by this version",
                where="agentPath",
                remedy="leave it out, or give systemPrompt",
            )
        message = Message(
            text=request.message,
            model=request.model,
            system_prompt=request.system_prompt,
            initial_context=request.initial_context,
        )
        check_message(message)
        check_model(message.model, self._house.policy().gateway.models)
        turn_id = new_turn_id()
        session_id = _named_session(request) or new_session_id()
        lane = await self._lanes.enter(session_id, turn_id)
        try:
            self._require_open()
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
        return WarningEvent(
            code="shutting_down",
            message=f"the supervisor stops in {self._house.shutdown_seconds:.0f} s",
        )

    async def abort(self, session_id: SessionId, reason: str) -> bool:
        """Ask the session's turn to end; False if none runs."""
        lane = self._lanes.find(session_id)
        if lane is None:
            return False
        lane.stop.tell(reason)
        return True

    async def trust(self, session_id: SessionId) -> Trust:
        """The trust that the session's next message would run at."""
        session = await self._stores.sessions.get(session_id)
        floors = await self._floors_of(session)
        return resolve_trust(session.trust_level, with_own_floor(floors, session.trust_level))

    async def set_trust(self, session_id: SessionId, level: TrustLevel) -> Trust:
        """Change the session's own level. Raises LooserThanFloor, SessionNotFound.

        A turn that now runs too loosely is aborted.
        """
        session = await self._stores.sessions.get(session_id)
        require_not_looser(level, await self._floors_of(session))
        await self._stores.sessions.update(session_id, trust_level=level)
        await self.floors_changed()
        return await self.trust(session_id)

    async def floors_changed(self) -> None:
        """Abort every running turn that a raised floor now finds too loose."""
        for lane in self._lanes.all():
            await self._stop_if_too_loose(lane)

    async def _stop_if_too_loose(self, lane: Lane) -> None:
        if lane.level is None:
            return
        try:
            trust = await self.trust(lane.session_id)
        except (NotFound, InvalidRequest) as gone:
            # Its row or its folder is gone; one such session may not keep the others running.
            lane.stop.tell(f"its floors can't be known any more: {gone.message}")
            return
        raised = [str(floor) for floor in trust.floors if lane.level.is_looser_than(floor.level)]
        if raised:
            lane.stop.tell(f"a floor was raised while the turn ran: {'; '.join(raised)}")

    async def _begin(self, request: MessageRequest, message: Message, lane: Lane) -> TurnStarted:
        session, warning = await self._session(request, lane.session_id)
        policy = self._house.policy()
        facts, moved = await self._facts(session, policy)
        if _named_session(request) is None:
            facts = replace(facts, level=None)
        trust = trust_of_message(facts, request.trust_level)
        facts = await self._remembering(facts, trust.effective)
        plan = plan_turn(
            turn_id=lane.turn_id,
            message=replace(
                message, model=message.model or session.model or self._house.default_model
            ),
            facts=facts,
            trust=trust,
            terms=_terms(policy, trust.effective),
        )
        runtime = self._house.runtimes.get(trust.effective)
        if runtime is None:
            raise RuntimeMissing(
                f"nothing is set up that runs {trust.effective.value} sessions",
                where=trust.effective.value,
                remedy="run: trustfloor doctor",
            )
        await self._enter(lane, trust.effective)
        lane.level = trust.effective
        await self._record("floor", lane, plan.opening().trust.model_dump(mode="json"))
        opening = await self._log.append(session.id, lane.turn_id, plan.opening())
        if warning := warning or moved:
            await self._log.append(
                session.id, lane.turn_id, WarningEvent(code="working_directory", message=warning)
            )
        await self._stores.sessions.increment_message_count(session.id)
        # Whoever raised a floor since it was read above did not see a level on this lane yet.
        await self._stop_if_too_loose(lane)
        with log_context(session_id=session.id, turn_id=lane.turn_id):  # the task's, too
            known = fields(trust=trust.effective.value, workspace=session.workspace)
            logger.info("turn began", extra=known)
            self._group.create_task(self._play(plan, runtime, lane), name=lane.turn_id)
        return TurnStarted(session.id, lane.turn_id, opening.seq - 1)

    async def _enter(self, lane: Lane, level: TrustLevel) -> None:
        """Record that the turn runs. The lane is ours, so a row that says another does is stale."""
        turns = self._stores.turns
        try:
            await turns.begin(lane.turn_id, lane.session_id, level)
        except SessionBusy:
            stale = await turns.latest(lane.session_id)
            if stale is None or not await turns.end(stale.id, "interrupted", "turn_interrupted"):
                raise
            await turns.begin(lane.turn_id, lane.session_id, level)

    async def _session(
        self, request: MessageRequest, session_id: SessionId
    ) -> tuple[SessionRow, str | None]:
        if _named_session(request) is not None:
            session = await self._stores.sessions.get(session_id)
            if request.workspace not in (None, session.workspace):
                raise InvalidRequest(
                    "a session stays in its workspace", where="workspace", remedy="leave it out"
                )
            return session, None
        workspace = await self._stores.workspaces.get(request.workspace or DEFAULT)
        cwd, warning = await asyncio.to_thread(
            resolve_working_directory,
            self._house.vault,
            request.working_directory or workspace.folder,
            self._house.policy().hidden,
        )
        trust = resolve_trust(request.trust_level, await self._floors.of(workspace.slug, cwd))
        session = await self._stores.sessions.create(
            NewSession(
                id=session_id,
                trust_level=trust.effective,
                workspace=workspace.slug,
                title=_title(request.message),
                working_directory=str(cwd),
                vault_root=str(self._house.vault),
                model=request.model,
            )
        )
        pointer = transcript_pointer(self._house.vault, cwd, session_id)
        return (
            await self._stores.sessions.update(session.id, transcript_path=str(pointer)),
            warning,
        )

    async def _floors_of(self, session: SessionRow) -> tuple[Floor, ...]:
        cwd, _ = resolve_working_directory(
            self._house.vault, session.working_directory, self._house.policy().hidden
        )
        return await self._floors.of(session.workspace, cwd)

    async def _facts(
        self, session: SessionRow, policy: CompiledPolicy
    ) -> tuple[SessionFacts, str | None]:
        """The session as it is now, and a warning if its folder is no longer there."""
        vault = self._house.vault
        cwd, warning = resolve_working_directory(vault, session.working_directory, policy.hidden)
        pointer = stored_pointer(session.transcript_path, session.id) or transcript_pointer(
            vault, cwd, session.id
        )
        facts = SessionFacts(
            session_id=session.id,
            vault=PurePosixPath(vault),
            level=session.trust_level,
            floors=await self._floors.of(session.workspace, cwd),
            workspace=session.workspace,
            message_count=session.message_count,
            tokens_used=session.tokens_used,
            cost_usd=session.cost_usd,
            transcript=pointer,
            transcript_exists=False,
            working_directory=cwd,
        )
        return facts, warning

    async def _remembering(self, facts: SessionFacts, level: TrustLevel) -> SessionFacts:
        """The facts with the transcript of this level's side, and what was said on the other."""
        transcript = transcript_for(facts.transcript, level)
        # A file that lies in the vault may have come with it: ours are those of sessions that our
        # own log knows.
        known = await self._log.last_seq(facts.session_id) > 0
        exists = known and has_content(self._house.vault, transcript)
        turns = await self._stores.turns.of_session(facts.session_id)
        past = [PastTurn(turn.id, turn.trust_level) for turn in turns]
        missed = missed_turns(past, level, resumes=exists)
        spoken = await self._log.of_types(facts.session_id, SPOKEN) if missed else []
        said = [orjson.loads(record.data) for record in spoken if record.turn_id in missed]
        return replace(
            facts, transcript=transcript, transcript_exists=exists, earlier=earlier(said)
        )

    async def _play(self, plan: TurnPlan, runtime: Runtime, lane: Lane) -> None:
        heard = Heard()
        started = time.monotonic()

        async def say(event: Event) -> None:
            heard.note(event)
            await self._log.append(plan.run.session_id, plan.run.turn_id, event)
            if isinstance(event, IsolationEvent):
                await self._record("isolation", lane, event.model_dump(mode="json"))

        lane.say = say
        words: LastWords | None = None
        try:
            stage = Stage(
                runtime=runtime,
                gate=self._gate(plan, runtime),
                say=say,
                stop=lane.stop,
                heard=heard,
                seconds=self._house.turn_seconds,
            )
            ending = await perform(plan, stage)
            session = await self._book(plan, heard, answered=isinstance(ending, RunResult))
            words = last_words(
                plan,
                ending,
                heard,
                duration_ms=round((time.monotonic() - started) * 1000),
                message_count=session.message_count,
            )
        except SessionNotFound as gone:
            words = failed(plan.run.session_id, gone)
        except Exception as fault:  # noqa: BLE001  (a turn's task may not fall silent)
            words = failed(plan.run.session_id, _incident(fault), heard.partial_response)
        finally:
            words = words or cut_off(plan.run.session_id, heard.partial_response)
            await self._close(lane, words)
            _note_end(plan, words, time.monotonic() - started)
            await self._house.sweep()

    async def _book(self, plan: TurnPlan, heard: Heard, *, answered: bool) -> SessionRow:
        spent = heard.spending
        tokens = (
            spent.input_tokens
            + spent.output_tokens
            + spent.cache_read_tokens
            + spent.cache_write_tokens
        )
        await self._stores.sessions.add_spending(plan.run.session_id, tokens, spent.cost_usd)
        if answered:
            await self._stores.sessions.increment_message_count(plan.run.session_id)
        return await self._stores.sessions.get(plan.run.session_id)

    async def _close(self, lane: Lane, words: LastWords) -> None:
        # The terminal event first: a row that has ended without one would leave readers waiting.
        try:
            lane.is_ending = True
            await self._log.append(lane.session_id, lane.turn_id, words.event)
            await self._stores.turns.end(lane.turn_id, words.state, words.error_code)
            ending = {"state": words.state, "error": words.error_code}
            await self._record("ending", lane, ending)
        except Exception:
            # Whatever it is, it must not take other sessions' turns along.
            logger.exception("turn %s: its ending could not be stored", lane.turn_id)
        finally:
            self._lanes.leave(lane)

    async def _record(self, kind: str, lane: Lane, body: dict[str, Any]) -> None:
        await self._house.record(kind, lane.session_id, lane.turn_id, body)

    def _gate(self, plan: TurnPlan, runtime: Runtime) -> ToolGate:
        vault = runtime.as_seen_vault or str(plan.run.vault)
        return self._house.make_gate(
            GateTerms(
                context=TurnContext(plan.run.session_id, plan.run.turn_id),
                level=plan.run.level,
                as_seen_vault=vault,
                as_seen_cwd=str(PurePosixPath(vault) / plan.run.cwd),
            )
        )


def _named_session(request: MessageRequest) -> SessionId | None:
    if request.session_id in (None, "", "new"):
        return None
    if not is_session_id(request.session_id):
        raise SessionNotFound("no session has this id", where=request.session_id)
    return SessionId(request.session_id)


def _note_end(plan: TurnPlan, words: LastWords, seconds: float) -> None:
    known = fields(
        trust=plan.run.level.value,
        outcome=words.state,
        code=words.error_code,
        duration_ms=round(seconds * 1000),
    )
    logger.info("turn ended", extra=known)


def _title(message: str) -> str:
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return line if len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1] + "…"


def _terms(policy: CompiledPolicy, level: TrustLevel) -> Terms:
    gateway = policy.gateway
    return Terms(
        deny_list=policy.hidden,
        models=gateway.models,
        server_tools=gateway.server_tools[level],
        turn_tokens=gateway.turn.tokens,
        turn_cost_usd=gateway.turn.cost_usd,
        session_tokens=gateway.session.tokens,
        session_cost_usd=gateway.session.cost_usd,
    )


def _incident(fault: Exception) -> TurnFailed:
    incident = uuid4().hex[:12]
    logger.error("incident %s", incident, exc_info=fault)
    return TurnFailed(
        f"something broke in the supervisor (incident {incident})",
        remedy="the supervisor's log has the details under this number; please report it",
    )
