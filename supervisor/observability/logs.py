"""What the program says of itself: one line a record, with session and turn, without secrets."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

from supervisor.clock import Instant
from supervisor.storage import json_line
from supervisor.storage.timestamp import to_text

LogFormat = Literal["json", "human"]


@dataclass(slots=True)
class Marks:
    """The ids that lines carry. Changing them changes what the block's later lines carry."""

    session_id: str | None = None
    turn_id: str | None = None


_marks: ContextVar[Marks | None] = ContextVar("marks", default=None)

_MEMBERS = frozenset({"ts", "level", "logger", "message", "session_id", "turn_id", "error"})
"""What each line may have by itself."""

_QUIET = {
    "uvicorn.access": logging.CRITICAL,  # paths carry ids and queries
    "aiosqlite": logging.WARNING,  # at DEBUG it writes each statement with its parameters
    "httpx": logging.WARNING,  # at INFO it writes each URL
    "httpcore": logging.WARNING,  # at DEBUG it writes headers
    "docker": logging.WARNING,
    "urllib3": logging.WARNING,
    "watchfiles": logging.WARNING,  # what came of a change is told by us
}


def fields(**known: str | float | None) -> dict[str, Any]:
    """The `extra` of a log call: members of its own in JSON, `name=value` for people."""
    return {"fields": {name: value for name, value in known.items() if value is not None}}


@contextmanager
def log_context(*, session_id: str | None = None, turn_id: str | None = None) -> Iterator[Marks]:
    """Lines written within the block, and in tasks begun there, carry these ids."""
    outer = _marks.get() or Marks()
    marks = Marks(session_id or outer.session_id, turn_id or outer.turn_id)
    token = _marks.set(marks)
    try:
        yield marks
    finally:
        _marks.reset(token)


def configure_logs(
    log_format: LogFormat = "human",
    level: int | str = logging.INFO,
    redact: Callable[[str], str] = str,
) -> None:
    """Send all logging to stderr in one format; what was set up before is replaced.

    `redact` is given each finished text, trace-backs included. Uvicorn is to be started with
    `log_config=None` and `access_log=False`, so that it leaves this as it is.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines(redact) if log_format == "json" else _HumanLines(redact))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name, floor in _QUIET.items():
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(max(floor, root.level))


class _Redacting(logging.Formatter):
    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def _fields(self, record: logging.LogRecord) -> dict[str, Any]:
        marks = _marks.get() or Marks()
        fields = {
            "ts": to_text(Instant(record.created)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redact(_message(record)),
            "session_id": marks.session_id,
            "turn_id": marks.turn_id,
            **self._known(record),
        }
        if record.exc_info:
            fields["error"] = self._redact(self.formatException(record.exc_info))
        return {name: value for name, value in fields.items() if value is not None}

    def _known(self, record: logging.LogRecord) -> dict[str, Any]:
        """What the call gave as `fields`; none of it can take the place of a member above."""
        given = getattr(record, "fields", {})
        return {
            name if name not in _MEMBERS else f"{name}_": self._redact(value)
            if isinstance(value, str)
            else value
            for name, value in given.items()
        }


class _JsonLines(_Redacting):
    def format(self, record: logging.LogRecord) -> str:
        return json_line.dump(self._fields(record)).decode()


class _HumanLines(_Redacting):
    def format(self, record: logging.LogRecord) -> str:
        fields = self._fields(record)
        ids = "".join(
            f" [{name.removesuffix('_id')} {fields[name]}]"
            for name in ("session_id", "turn_id")
            if name in fields
        )
        line = f"{fields['ts'][:19]}Z {fields['level']:<7} {fields['logger']}: {fields['message']}"
        known = "".join(f" {name}={_word(value)}" for name, value in self._known(record).items())
        text = _visible(line + known + ids)
        if "error" in fields:
            text += "".join("\n    " + _visible(row) for row in fields["error"].splitlines())
        return text


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError):  # arguments that don't fit the text: still worth a line
        return f"{record.msg} {record.args}"


def _word(value: object) -> str:
    """A value as one word, or in quotes if it isn't one."""
    text = str(value)
    return text if text and not set(text) & set(' "=') else json_line.dump(text).decode()


def _visible(text: str) -> str:
    """One line for a terminal: what would move the cursor or forge a second line is escaped."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
