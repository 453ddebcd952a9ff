"""What is admitted of a CLI process's output, and what is said of the rest."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Control:
    """A frame of the control protocol, for the SDK."""

    frame: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Content:
    """A frame about the conversation, for the translator."""

    frame: dict[str, Any]
    size: int
    """Of its line, in bytes."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """Transcript entries to keep. `subagent` names a sub-agent's own transcript."""

    entries: tuple[dict[str, Any], ...]
    subagent: str | None


@dataclass(frozen=True, slots=True)
class Objection:
    """Something that was not admitted: a stable code, and a sentence without the content itself."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class FarMessage:
    """A message of the Model Context Protocol to a server that the supervisor calls."""

    request_id: str
    server: str
    message: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FarCancelled:
    """The process doesn't wait for an answer any more."""

    request_id: str


class Flooded(Exception):
    """The process says more that means nothing than is worth reading."""


@dataclass(frozen=True, slots=True)
class Astray:
    """The process was given an earlier conversation, and has begun another session's."""


Admitted = Control | Content | Mirror | Objection | FarMessage | FarCancelled | Astray
