"""The course of a turn that has begun: played, booked, its ending stored, and swept after.

After `beginning.py`, which begins it; `turn.py` performs the plan. Whatever breaks here, the
turn gets one ending and gives its lane back.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Any, Final
from uuid import uuid4

from supervisor.approvals.open_requests import TurnContext
from supervisor.errors import (
    ConfigurationError,
    HoneytokenTripped,
    SessionNotFound,
    TrustfloorError,
    TurnFailed,
    TurnTimedOut,
)
from supervisor.events.log import EventLog
from supervisor.events.schema import Event, IsolationEvent
from supervisor.observability.logs import fields
from supervisor.observability.metrics import METRICS
from supervisor.observability.traces import span
from supervisor.runtimes.contract import RunResult, Runtime
from supervisor.runtimes.honeytokens import Trip
from supervisor.sessions.afresh import key_of
from supervisor.sessions.alarm import Alarm
from supervisor.sessions.ending import LastWords, cut_off, failed, last_words
from supervisor.sessions.house import GateTerms, House, Stores, TurnGate
from supervisor.sessions.lane import Lane, Lanes
from supervisor.sessions.late_endings import LateEndings, Write
from supervisor.sessions.timing import Timing
from supervisor.sessions.turn import Ending, Heard, Stage, Stopped, perform
from supervisor.sessions.turn_plan import TurnPlan
from supervisor.sessions.warned import Warned
from supervisor.storage.session import Session
from supervisor.storage.turns import Used
from supervisor.trust.levels import TrustLevel

logger = logging.getLogger(__name__)

_LONGEST_WHY: Final = 2_000
"""Characters of a reason in the audit log; a client may have given it."""


class Course:
    """Sees turns through, each in the task that calls `run`."""

    def __init__(
        self, house: House, stores: Stores, log: EventLog, lanes: Lanes, warned: Warned
    ) -> None:
        self._house = house
        self._stores = stores
        self._log = log
        self._lanes = lanes
        self._warned = warned
        self.late = LateEndings()
        """What of endings can't be stored yet; to be entered before a turn runs."""

    async def run(
        self,
        plan: TurnPlan,
        runtime: Runtime,
        lane: Lane,
        afresh: Callable[[], Awaitable[TurnPlan]],
    ) -> None:
        """Play the turn, book what it spent, say how it ended, give the lane back, sweep.

        `afresh` makes the plan of the same message without the transcript.
        """
        heard = Heard()
        timing = Timing(plan.run.level)

        async def say(event: Event) -> None:
            if self._warned.is_told(plan.run.session_id, event):
                return
            heard.note(event)
            timing.note(event)
            await self._log.append(plan.run.session_id, plan.run.turn_id, event)
            if isinstance(event, IsolationEvent):
                body = event.model_dump(mode="json")
                await self._house.record("isolation", lane.session_id, lane.turn_id, body)

        lane.say = say
        lane.honeytokens = plan.run.honeytokens
        words: LastWords | None = None
        then: Callable[[], None] = _nothing
        try:
            gate = self._gate(plan, runtime)
            stage = Stage(
                runtime=runtime,
                gate=gate,
                say=say,
                stop=lane.stop,
                heard=heard,
                seconds=plan.seconds(self._house.turn_seconds),
                alarm=Alarm(plan.run.honeytokens, partial(self._incident, plan)),
                afresh=afresh,
            )
            await self._house.record("launch", lane.session_id, lane.turn_id, _launched(plan))
            with span(
                "turn",
                level=plan.run.level.value,
                session=plan.run.session_id,
                turn=plan.run.turn_id,
            ) as told:
                ending = await perform(plan, stage)
                told.set_attribute("trustfloor.ending", type(ending).__name__)
            plan = heard.afresh or plan
            await self._killed(lane, ending)
            answered = isinstance(ending, RunResult)
            session = await self._book(plan, heard, answered=answered)
            if answered and not session.archived:  # of one put away no message is expected
                then = partial(runtime.expect, plan.run)
            words = last_words(
                plan,
                ending,
                heard,
                denials=gate.denials,
                duration_ms=round(timing.seconds * 1000),
                message_count=session.message_count,
            )
        except SessionNotFound as gone:
            heard.is_booked = True  # there is no session to enter it into
            words = failed(plan.run.session_id, gone)
        except Exception as fault:  # noqa: BLE001  (a turn's task may not fall silent)
            failure = _unwritten(fault) or _incident(fault)
            words = failed(plan.run.session_id, failure, heard.partial_response)
        finally:
            words = words or cut_off(plan.run.session_id, heard.partial_response)
            unsaid = () if heard.has_message else (plan.user_message(),)
            await self._close(lane, words, unsaid, heard, then)
            _note_end(plan, words, heard, timing.seconds)
            await self._house.sweep()
            runtime.make_ready()  # only now: what is made for others takes nothing from this turn
            self._house.ended(plan.run.session_id)

    async def _book(self, plan: TurnPlan, heard: Heard, *, answered: bool) -> Session:
        await self._stores.sessions.add_spending(plan.run.session_id, self._used(heard))
        heard.is_booked = True
        if plan.begins_anew and heard.has_begun:
            begin = {key_of(plan.run.level): plan.run.resume_from or None}
            await self._stores.sessions.merge_metadata(plan.run.session_id, begin)
        if answered:
            await self._stores.sessions.increment_message_count(plan.run.session_id)
        return await self._stores.sessions.get_session(plan.run.session_id)

    def _used(self, heard: Heard) -> Used:
        return Used(heard.spending.tokens, heard.spending.cost_usd, self._house.scripted)

    async def _killed(self, lane: Lane, ending: Ending) -> None:
        """Enter that the turn was ended from outside, or by a limit, and why."""
        why = None
        if isinstance(ending, Stopped):
            why = ending.reason
        elif isinstance(ending, TurnTimedOut | HoneytokenTripped):
            why = ending.message
        if why is not None:
            body = {"what": "turn", "why": why[:_LONGEST_WHY]}
            await self._house.record("kill", lane.session_id, lane.turn_id, body)

    async def _close(
        self,
        lane: Lane,
        words: LastWords,
        unsaid: Sequence[Event],
        heard: Heard,
        then: Callable[[], None],
    ) -> None:
        """Store the ending, after what there was no cage to say before: the message itself.

        `then` comes once it is stored, while nothing else can begin in the session.
        """
        # The terminal event first: a row that has ended without one would leave readers waiting.
        last = (*unsaid, words.event)
        ending = {"state": words.state, "error": words.error_code}
        used = self._used(heard)
        writes: list[Write] = [
            partial(self._log.append_all, lane.session_id, lane.turn_id, last),
            partial(self._house.record, "ending", lane.session_id, lane.turn_id, ending),
            partial(self._stores.turns.end, lane.turn_id, words.state, words.error_code, used),
        ]
        if not heard.is_booked:
            writes.append(partial(self._stores.sessions.add_spending, lane.session_id, used))
        try:
            lane.is_ending = True
            while writes:
                await self._written(writes[0])
                writes.pop(0)
            then()
        except TrustfloorError as error:
            logger.error("its ending can't be stored yet: %s", error.message)  # noqa: TRY400
            self.late.keep(lane.session_id, writes)
        except Exception:
            # Whatever it is, it must not take other sessions' turns along.
            logger.exception("turn %s: its ending could not be stored", lane.turn_id)
        finally:
            self._lanes.leave(lane)

    async def _written(self, write: Write) -> None:
        """Write, and once more with what room was held back, should the disk refuse."""
        try:
            await write()
        except ConfigurationError:
            if not await asyncio.to_thread(self._house.make_room):
                raise
            await write()

    def _gate(self, plan: TurnPlan, runtime: Runtime) -> TurnGate:
        vault = runtime.as_seen_vault or str(plan.run.vault)
        return self._house.make_gate(
            GateTerms(
                context=TurnContext(
                    plan.run.session_id,
                    plan.run.turn_id,
                    agent=None if plan.agent is None else plan.agent.path,
                    workspace=plan.workspace,
                ),
                level=plan.run.level,
                as_seen_vault=vault,
                as_seen_cwd=str(PurePosixPath(vault) / plan.run.cwd),
                as_seen_home=runtime.as_seen_home,
                honeytokens=plan.run.honeytokens,
                bounds=plan.bounds,
                permissions=plan.permissions,
            )
        )

    async def _incident(self, plan: TurnPlan, trip: Trip) -> None:
        """Write down that a honeytoken showed up; the turn ends in any case."""
        run = plan.run
        known = fields(trust=run.level.value, path=trip.path, where=trip.where)
        logger.error("a honeytoken showed up", extra=known)
        body = {"what": "honeytoken", "path": trip.path, "where": trip.where}
        try:
            await self._house.record("incident", run.session_id, run.turn_id, body)
        except ConfigurationError:
            logger.exception("turn %s: its incident could not be recorded", run.turn_id)


def _nothing() -> None:
    """Nothing is to be got ready."""


def _launched(plan: TurnPlan) -> dict[str, Any]:
    """What is about to run, and on whose terms."""
    return {
        "level": plan.run.level.value,
        "workspace": plan.workspace,
        "agent": None if plan.agent is None else plan.agent.path,
        "model": plan.run.model,
        "cwd": str(plan.run.cwd),
        "network": plan.run.network and plan.run.level is not TrustLevel.SANDBOXED,
        "servers": plan.run.servers is not None,
        "far": sorted(plan.run.far.names) if plan.run.far is not None else [],
    }


def _note_end(plan: TurnPlan, words: LastWords, heard: Heard, seconds: float) -> None:
    spent = heard.spending
    METRICS.turn_ended(plan.run.level.value, words.state, seconds)
    tokens = {
        "input": spent.input_tokens,
        "output": spent.output_tokens,
        "cache_read": spent.cache_read_tokens,
        "cache_write": spent.cache_write_tokens,
    }
    METRICS.spent(plan.run.model, tokens, 0.0 if plan.scripted else spent.cost_usd)
    known = fields(
        trust=plan.run.level.value,
        outcome=words.state,
        code=words.error_code,
        duration_ms=round(seconds * 1000),
    )
    logger.info("turn ended", extra=known)


def _unwritten(fault: BaseException) -> ConfigurationError | None:
    """What was said of it, if what ended the turn is that something couldn't be written down."""
    if isinstance(fault, BaseExceptionGroup):
        return next(filter(None, map(_unwritten, fault.exceptions)), None)
    return fault if isinstance(fault, ConfigurationError) else None


def _incident(fault: Exception) -> TurnFailed:
    incident = uuid4().hex[:12]
    logger.error("incident %s", incident, exc_info=fault)
    return TurnFailed(
        f"something broke in the supervisor (incident {incident})",
        remedy="the supervisor's log has the details under this number; please report it",
    )
