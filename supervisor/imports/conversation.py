"""A conversation as the readers of exports give it, whatever its format. Pure."""

import uuid
from dataclasses import dataclass
from typing import Final

from supervisor.ids import SessionId, is_session_id
from supervisor.sessions.brought import Words
from supervisor.storage.session_source import SessionSource

_OURS: Final = uuid.UUID("6f0f9a52-6a0b-5d0e-9a2d-2a4c5f3e7b11")
"""The name space of the ids of conversations that have none that we could take."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation. Moments are seconds since the Unix epoch; None: unknown or unbelievable.

    `cwd` is where a Claude Code session worked: a text to show, never a path to use.
    """

    source: SessionSource
    session_id: SessionId
    place: str
    title: str | None
    said: tuple[Words, ...]
    created: float | None = None
    updated: float | None = None
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class Broken:
    """What could not be read: where in the file, and why."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True)
class Read:
    """What a file holds."""

    conversations: tuple[Conversation, ...] = ()
    broken: tuple[Broken, ...] = ()


class Unreadable(ValueError):
    """This one conversation can't be read; its text says why."""


def id_of(source: SessionSource, given: str | None, *else_by: str) -> SessionId:
    """The session's id: the conversation's own where that is one, else always the same for it.

    `else_by` tells the conversation from others where it has no id at all.
    """
    known = (given or "").strip().lower()
    if is_session_id(known):
        return SessionId(known)
    name = "\n".join((source.value, *((f"id:{known}",) if known else else_by)))
    return SessionId(str(uuid.uuid5(_OURS, name)))
