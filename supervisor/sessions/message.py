"""One message as it is asked for, and what can't be sent in any session."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from supervisor.errors import InvalidRequest
from supervisor.sessions.attachments import Attached, with_texts
from supervisor.trust.levels import TrustLevel

MAX_MESSAGE_CHARS: Final = 4 * 1024 * 1024
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/\[\]-]{0,199}")
"""A model's name becomes an argument of the CLI's, so it is short and looks like no option."""
_ALIASES = frozenset({"default", "best", "sonnet", "opus", "haiku", "opusplan"})
"""What the CLI makes a full name of by itself; the gateway judges that one."""
_LONG_CONTEXT = "[1m]"  # the CLI's own suffix, which it takes off


@dataclass(frozen=True, slots=True)
class Message:
    """What was asked of this one message."""

    text: str
    trust_level: TrustLevel | None = None
    model: str | None = None
    system_prompt: str | None = None
    initial_context: str | None = None
    attached: tuple[Attached, ...] = ()


def check_message(message: Message) -> None:
    """Refuse what can't be sent in any session, before one is made. Raises InvalidRequest."""
    for where, text in (
        ("message", message.text),
        *((f"attachments.{at}.filename", each.name) for at, each in enumerate(message.attached)),
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
    text_of(message, is_first=True)


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


def text_of(message: Message, *, is_first: bool) -> str:
    """What is said to the agent: with a first message's context, and with the texts attached.

    Raises InvalidRequest.
    """
    text = with_texts(message.text, message.attached)
    context = message.initial_context if is_first else None
    if context and text.strip():
        text = f"## Context\n\n{context}\n\n---\n\n## Request\n\n{text}"
    elif context:
        text = context
    if not text.strip() and not message.attached:
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
