"""Session, message and floors become a frozen `TurnPlan` (`turn_plan.py`); nothing has started yet.

Pure and total: everything that can be known before the first effect is decided here, so that
`turn.py` performs and decides nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal, TypeVar

from supervisor.agents.definition import AgentDefinition
from supervisor.events.schema import SessionResume
from supervisor.gateway.access import Budget, ModelAccess
from supervisor.ids import SessionId, TurnId
from supervisor.policy.deny_list import DenyList
from supervisor.policy.session_permissions import SessionPermissions
from supervisor.prompt.sections import Sections
from supervisor.runtimes.contract import FarServers, RunPlan
from supervisor.runtimes.honeytokens import Honeytokens
from supervisor.sessions.afresh import key_of
from supervisor.sessions.memory import Earlier, with_earlier
from supervisor.sessions.message import Message, check_model, text_of
from supervisor.sessions.turn_plan import TurnPlan
from supervisor.trust.floor import Floor, FloorSource
from supervisor.trust.levels import TrustLevel
from supervisor.trust.resolve import Trust, resolve_trust

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What is known of the session when a message comes."""

    session_id: SessionId
    vault: PurePosixPath
    level: TrustLevel | None
    """The session's own level; None for one that this message begins."""
    floors: tuple[Floor, ...]
    """Everybody else's demands."""
    workspace: str
    message_count: int
    tokens_used: int
    cost_usd: float
    transcript: PurePosixPath
    transcript_exists: bool
    working_directory: PurePosixPath
    """Relative to the vault, and known to be a folder in it."""
    begins: Mapping[str, int] = field(default_factory=dict)
    """From which byte on each side's transcript is taken up, by its key (`afresh.py`)."""
    resume_from: int = 0
    """The same of this level's side, for this message."""
    too_long: bool = False
    """Whether there is more of it than is handed to a CLI."""
    earlier: Earlier | None = None
    """What was said where this transcript doesn't have it."""
    brings: bool = False
    """Whether it brought words along from before it began: an import, or a fork."""
    agent: AgentDefinition | None = None
    """The session's agent, as its file is now."""
    sections: Sections = field(default_factory=Sections)
    """What the vault adds to the system prompt."""
    agents: tuple[str, ...] = ()
    """The names of all agents of the vault."""
    permissions: SessionPermissions | None = None
    """What the session's own record lets it do unasked; None if it says nothing."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the policy in force says about a turn at its level. None: no limit."""

    deny_list: DenyList
    models: tuple[str, ...]
    server_tools: bool
    cage_network: bool
    trust_mode: bool
    turn_tokens: int | None
    turn_cost_usd: float | None
    session_tokens: int | None
    session_cost_usd: float | None


def with_own_floor(floors: tuple[Floor, ...], level: TrustLevel | None) -> tuple[Floor, ...]:
    """All floors of a session: its own level is one for each of its messages."""
    return floors if level is None else (*floors, Floor(FloorSource.SESSION, level))


def trust_of_message(facts: SessionFacts, asked: TrustLevel | None) -> Trust:
    """The effective trust of one message: what it asks, or else what its session has."""
    return resolve_trust(
        facts.level if asked is None else asked, with_own_floor(facts.floors, facts.level)
    )


def plan_turn(  # noqa: PLR0913  (all that a plan is made of)
    *,
    turn_id: TurnId,
    message: Message,
    facts: SessionFacts,
    trust: Trust,
    terms: Terms,
    honeytokens: Honeytokens | None = None,
    servers: str | None = None,
    far: FarServers | None = None,
    scripted: bool = False,
) -> TurnPlan:
    """The plan of one turn. Raises InvalidRequest for a message that can't be sent."""
    said = text_of(message, is_first=facts.message_count == 0)
    agent = facts.agent
    custom = message.system_prompt is not None
    told = Sections() if custom else facts.sections
    own_prompt = None if agent is None else _with_sections(agent.prompt, told)
    check_model(message.model, terms.models)
    own = facts.permissions
    return TurnPlan(
        run=RunPlan(
            session_id=facts.session_id,
            turn_id=turn_id,
            level=trust.effective,
            vault=facts.vault,
            cwd=facts.working_directory,
            transcript=facts.transcript,
            resume=facts.transcript_exists,
            resume_from=facts.resume_from,
            deny_list=terms.deny_list,
            access=_access(terms, facts),
            model=message.model,
            system_prompt=message.system_prompt if custom else own_prompt,
            append_system_prompt=None if custom or own_prompt is not None else told.text,
            tools=_offered(agent),
            network=terms.cage_network,
            servers=servers,
            far=far,
            honeytokens=honeytokens,
        ),
        trust=trust,
        workspace=facts.workspace,
        said=said,
        prompt=with_earlier(said, facts.earlier),
        attached=message.attached,
        resume=_resume(facts),
        agent=agent,
        has_custom_prompt=custom,
        sections=told,
        agents=facts.agents,
        trust_mode=terms.trust_mode and (own is None or own.trust_mode),
        permissions=own,
        scripted=scripted,
        begins_anew=facts.begins.get(key_of(trust.effective), 0) != facts.resume_from,
    )


def _with_sections(prompt: str | None, told: Sections) -> str | None:
    if prompt is None or told.text is None:
        return prompt
    return f"{prompt}\n\n{told.text}"


def _offered(agent: AgentDefinition | None) -> tuple[str, ...] | None:
    """The CLI's own tools that the agent has; the gate refuses the others in any case."""
    if agent is None or agent.bounds.tools is None:
        return None
    return tuple(name for name in agent.bounds.tools if not name.startswith("mcp__"))


def _access(terms: Terms, facts: SessionFacts) -> ModelAccess:
    return ModelAccess(
        models=terms.models,
        server_tools=terms.server_tools,
        budget=Budget(
            tokens=_less(terms.turn_tokens, _rest(terms.session_tokens, facts.tokens_used)),
            cost_usd=_less(terms.turn_cost_usd, _rest(terms.session_cost_usd, facts.cost_usd)),
        ),
    )


def _rest(limit: Number | None, used: Number) -> Number | None:
    return None if limit is None else max(limit - used, type(used)(0))


def _less(one: Number | None, other: Number | None) -> Number | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


def _resume(facts: SessionFacts) -> SessionResume:
    exists, before = facts.transcript_exists, facts.earlier
    method: Literal["new", "sdk_resume", "context_injection"] = "sdk_resume" if exists else "new"
    return SessionResume(
        method="context_injection" if before is not None else method,
        sdk_session_valid=exists,
        sdk_resume_attempted=exists,
        context_injected=before is not None,
        messages_injected=before.messages if before is not None else 0,
        tokens_estimate=before.tokens if before is not None else 0,
        previous_message_count=facts.message_count,
        loaded_from_disk=exists,
    )
