"""Session, message and floors become a frozen `TurnPlan`; nothing has started yet.

Pure and total: everything that can be known before the first effect is decided here, so that
`turn.py` performs and decides nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final, Literal, TypeVar

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
from supervisor.runtimes.honeytokens import Honeytokens
from supervisor.sessions.memory import CHARS_PER_TOKEN, Earlier, with_earlier
from supervisor.trust.floor import Floor, FloorSource
from supervisor.trust.levels import TrustLevel
from supervisor.trust.resolve import Trust, resolve_trust

MAX_MESSAGE_CHARS: Final = 4 * 1024 * 1024
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/\[\]-]{0,199}")
"""A model's name becomes an argument of the CLI's, so it is short and looks like no option."""
_ALIASES = frozenset({"default", "best", "sonnet", "opus", "haiku", "opusplan"})
"""What the CLI makes a full name of by itself; the gateway judges that one."""
_LONG_CONTEXT = "[1m]"  # the CLI's own suffix, which it takes off

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
    earlier: Earlier | None = None
    """What was said where this transcript doesn't have it."""


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
    cage_network: bool
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
    said: str
    """The person's message."""
    prompt: str
    """What is handed over: the message, with what was said before where it must come along."""
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
        tokens = len(custom) // CHARS_PER_TOKEN if custom is not None else 0
        return PromptMetadataEvent(
            prompt_source="claude_code_preset" if custom is None else "custom",
            base_prompt_tokens=tokens,
            total_prompt_tokens=tokens + len(self.prompt) // CHARS_PER_TOKEN,
        )


def with_own_floor(floors: tuple[Floor, ...], level: TrustLevel | None) -> tuple[Floor, ...]:
    """All floors of a session: its own level is one for each of its messages."""
    return floors if level is None else (*floors, Floor(FloorSource.SESSION, level))


def trust_of_message(facts: SessionFacts, asked: TrustLevel | None) -> Trust:
    """The effective trust of one message: what it asks, or else what its session has."""
    return resolve_trust(
        facts.level if asked is None else asked, with_own_floor(facts.floors, facts.level)
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


def check_model(model: str | None, globs: Sequence[str]) -> None:
    """Refuse a model that the gateway would refuse. None, the CLI's own choice, passes here."""
    if not model:
        return
    name = model.removesuffix(_LONG_CONTEXT)
    if name not in _ALIASES and not any(fnmatchcase(name, glob) for glob in globs):
        raise InvalidRequest(
            f"the model {model!r} is not allowed here",
            where="model",
            remedy=f"use one that fits the policy's gateway.models: {', '.join(globs)}",
        )


def plan_turn(  # noqa: PLR0913  (all that a plan is made of)
    *,
    turn_id: TurnId,
    message: Message,
    facts: SessionFacts,
    trust: Trust,
    terms: Terms,
    honeytokens: Honeytokens | None = None,
) -> TurnPlan:
    """The plan of one turn. Raises InvalidRequest for a message that can't be sent."""
    said = _prompt(message, is_first=facts.message_count == 0)
    check_model(message.model, terms.models)
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
            network=terms.cage_network,
            honeytokens=honeytokens,
        ),
        trust=trust,
        workspace=facts.workspace,
        said=said,
        prompt=with_earlier(said, facts.earlier),
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
