"""Session, message and floors become a frozen `TurnPlan`; nothing has started yet.

Pure and total: everything that can be known before the first effect is decided here, so that
`turn.py` performs and decides nothing.
"""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, TypeVar

from supervisor.errors import InvalidRequest
from supervisor.events.schema import (
    Demand,
    PromptMetadataEvent,
    SessionEvent,
    SessionResume,
    TrustReport,
)
from supervisor.gateway.access import Budget, ModelAccess
from supervisor.ids import SessionId, TurnId
from supervisor.policy.deny_list import DenyList
from supervisor.runtimes.contract import RunPlan
from supervisor.trust.floor import Floor, FloorSource
from supervisor.trust.levels import TrustLevel
from supervisor.trust.resolve import Trust, resolve_trust

MAX_MESSAGE_CHARS: Final = 4 * 1024 * 1024
_CHARS_PER_TOKEN = 4
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/\[\]-]{0,199}")
"""A model's name becomes an argument of the CLI's, so it is short and looks like no option."""

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What is known of the session when a message comes."""

    session_id: SessionId
    vault: PurePosixPath
    level: TrustLevel
    workspace: str
    workspace_floor: TrustLevel
    message_count: int
    tokens_used: int
    cost_usd: float
    transcript: PurePosixPath
    transcript_exists: bool
    working_directory: PurePosixPath
    """Relative to the vault, and known to be a folder in it."""


@dataclass(frozen=True, slots=True)
class Message:
    """What was asked of this one message."""

    text: str
    trust_level: TrustLevel | None = None
    model: str | None = None
    system_prompt: str | None = None
    initial_context: str | None = None


@dataclass(frozen=True, slots=True)
class Terms:
    """What the policy in force says about a turn at its level. None: no limit."""

    deny_list: DenyList
    models: tuple[str, ...]
    server_tools: bool
    turn_tokens: int | None
    turn_cost_usd: float | None
    session_tokens: int | None
    session_cost_usd: float | None


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """All that is known of a turn before it starts."""

    run: RunPlan
    trust: Trust
    workspace: str
    prompt: str
    resume: SessionResume

    @property
    def working_directory(self) -> str:
        """As clients see it: relative to the vault, '.' being the vault."""
        return str(self.run.cwd)

    def opening(self) -> SessionEvent:
        """The turn's first event."""
        return SessionEvent(
            session_id=self.run.session_id,
            working_directory=self.working_directory,
            trust_level=self.trust.effective,
            trust=trust_report(self.trust),
            workspace=self.workspace,
            resume_info=self.resume,
        )

    def prompt_metadata(self) -> PromptMetadataEvent:
        """What the prompt was made of."""
        custom = self.run.system_prompt
        tokens = len(custom) // _CHARS_PER_TOKEN if custom is not None else 0
        return PromptMetadataEvent(
            prompt_source="claude_code_preset" if custom is None else "custom",
            base_prompt_tokens=tokens,
            total_prompt_tokens=tokens + len(self.prompt) // _CHARS_PER_TOKEN,
        )


def floors_of(
    server: TrustLevel, workspace: str, workspace_floor: TrustLevel, session: TrustLevel | None
) -> tuple[Floor, ...]:
    """Every floor that counts for a session; its own level is one for each of its messages."""
    floors = (
        Floor(FloorSource.SERVER, server),
        Floor(FloorSource.WORKSPACE, workspace_floor, workspace),
    )
    return floors if session is None else (*floors, Floor(FloorSource.SESSION, session))


def trust_of_message(facts: SessionFacts, server: TrustLevel, asked: TrustLevel | None) -> Trust:
    """The effective trust of one message: what it asks, or else what its session has."""
    return resolve_trust(
        facts.level if asked is None else asked,
        floors_of(server, facts.workspace, facts.workspace_floor, facts.level),
    )


def check_message(message: Message) -> None:
    """Refuse what can't be sent in any session, before one is made. Raises InvalidRequest."""
    for where, text in (
        ("message", message.text),
        ("systemPrompt", message.system_prompt),
        ("initialContext", message.initial_context),
        ("model", message.model),
    ):
        if text is not None and _has_half_characters(text):
            raise InvalidRequest("the text isn't valid Unicode", where=where)
    if message.model and _MODEL.fullmatch(message.model) is None:
        raise InvalidRequest(
            "this can't be a model's name",
            where="model",
            remedy="give a name of at most 200 letters, digits and . _ : @ / [ ] -",
        )
    _prompt(message, is_first=True)


def plan_turn(
    *,
    turn_id: TurnId,
    message: Message,
    facts: SessionFacts,
    trust: Trust,
    terms: Terms,
) -> TurnPlan:
    """The plan of one turn. Raises InvalidRequest for a message that can't be sent."""
    prompt = _prompt(message, is_first=facts.message_count == 0)
    return TurnPlan(
        run=RunPlan(
            session_id=facts.session_id,
            turn_id=turn_id,
            level=trust.effective,
            vault=facts.vault,
            cwd=facts.working_directory,
            transcript=facts.transcript,
            resume=facts.transcript_exists,
            deny_list=terms.deny_list,
            access=_access(terms, facts),
            model=message.model,
            system_prompt=message.system_prompt,
        ),
        trust=trust,
        workspace=facts.workspace,
        prompt=prompt,
        resume=_resume(facts),
    )


def trust_report(trust: Trust) -> TrustReport:
    """The trace of a resolution, as clients get it."""
    return TrustReport(
        requested=trust.requested,
        effective=trust.effective,
        floors=tuple(
            Demand(source=floor.source.value, level=floor.level, name=floor.name)
            for floor in trust.floors
        ),
        trace=trust.trace(),
    )


def _prompt(message: Message, *, is_first: bool) -> str:
    text, context = message.text, message.initial_context if is_first else None
    if context and text.strip():
        text = f"## Context\n\n{context}\n\n---\n\n## Request\n\n{text}"
    elif context:
        text = context
    if not text.strip():
        raise InvalidRequest("the message is empty", where="message", remedy="say something")
    if len(text) > MAX_MESSAGE_CHARS:
        raise InvalidRequest(
            f"the message has {len(text)} characters",
            where="message",
            remedy=f"send at most {MAX_MESSAGE_CHARS}",
        )
    return text


def _has_half_characters(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


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
    if not facts.transcript_exists:
        return SessionResume(method="new", previous_message_count=facts.message_count)
    return SessionResume(
        method="sdk_resume",
        sdk_session_valid=True,
        sdk_resume_attempted=True,
        previous_message_count=facts.message_count,
        loaded_from_disk=True,
    )
