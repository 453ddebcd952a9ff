"""From a message on its session's lane to a turn that runs: planned, entered, and told of.

Between `conversations.py`, which lets messages in, and `course.py`, which sees the turn through.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from supervisor.errors import RuntimeMissing, SessionBusy
from supervisor.events.log import EventLog
from supervisor.events.schema import WarningEvent
from supervisor.mcp.chosen import ALL, LEFT_OUT, TurnServers, Wanted
from supervisor.mcp.relay import Relay
from supervisor.policy.compiled import CompiledPolicy
from supervisor.runtimes.contract import Runtime
from supervisor.runtimes.honeytokens import SECRET_BYTES, Honeytokens
from supervisor.sessions.afresh import NOT_TAKEN_UP, TOO_LONG, not_taken_up
from supervisor.sessions.house import House, Stores
from supervisor.sessions.lane import Lane
from supervisor.sessions.message import Message
from supervisor.sessions.plan import SessionFacts, Terms, plan_turn, trust_of_message
from supervisor.sessions.records import MessageRequest, Records, Workplace, named_session
from supervisor.sessions.strictness import Strictness
from supervisor.sessions.turn_plan import TurnPlan
from supervisor.sessions.warned import Warned
from supervisor.storage.session import Session
from supervisor.trust.levels import TrustLevel


@dataclass(frozen=True, slots=True)
class Begun:
    """A turn that is told of and has to be seen through now; its events have a `seq` above `after`.

    `afresh` makes the plan of the same message without the transcript.
    """

    plan: TurnPlan
    runtime: Runtime
    afresh: Callable[[], Awaitable[TurnPlan]]
    after: int


class Beginning:
    """Begins turns, each on the lane that it is given."""

    def __init__(  # noqa: PLR0913 - what conversations are made of
        self,
        *,
        house: House,
        stores: Stores,
        log: EventLog,
        records: Records,
        strictness: Strictness,
        warned: Warned,
    ) -> None:
        self._house = house
        self._stores = stores
        self._log = log
        self._records = records
        self._strictness = strictness
        self._warned = warned

    async def begin(self, request: MessageRequest, message: Message, lane: Lane) -> Begun:
        """Plan the turn, enter that it runs, and say so: its first events are stored.

        Raises SessionNotFound, NotFound (workspace), InvalidRequest, RuntimeMissing, SessionBusy.
        """
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
        await self._strictness.hold(lane)
        return Begun(plan, runtime, afresh, opening.seq - 1)

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
