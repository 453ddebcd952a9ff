"""Single values of an export, none of which can be believed to be what it should be. Pure."""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from supervisor.clock import Instant
from supervisor.sessions.brought import Words, text_block
from supervisor.storage.timestamp import from_text, to_text

LARGEST: Final = 128 * 1024 * 1024
"""Bytes of an export, as it is sent: years of conversations are one archive."""
LONGEST_TITLE: Final = 500
LONGEST_MESSAGE: Final = 1_000_000
"""Characters of one message that are kept."""
CUT: Final = "… [cut]"

_EARLIEST: Final = datetime(1990, 1, 1, tzinfo=UTC).timestamp()
_LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC).timestamp()


def text(value: object, most: int = LONGEST_MESSAGE) -> str:
    """The text, with what UTF-8 can't hold replaced, cut if it is too long; empty for no text."""
    if not isinstance(value, str):
        return ""
    cut = value if len(value) <= most else value[:most] + CUT
    return cut.encode(errors="replace").decode()


def title(value: object) -> str | None:
    """A title of one line, or None."""
    line = " ".join(text(value, LONGEST_TITLE * 2).split())
    return None if not line else line if len(line) <= LONGEST_TITLE else line[:LONGEST_TITLE]


def mapping(value: object) -> Mapping[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> list[Any]:
    """The list, or an empty one."""
    return value if isinstance(value, list) else []


def moment(value: object) -> float | None:
    """Seconds since the epoch, of such a number or of ISO 8601; None for what can't be a time."""
    found: float | None = None
    if isinstance(value, str):
        try:
            found = from_text(value).timestamp()
        except (ValueError, OverflowError):
            return None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        try:
            found = float(value)
        except OverflowError:
            return None
    if found is None or not math.isfinite(found) or not _EARLIEST <= found <= _LATEST:
        return None
    return found


def iso(seconds: float | None) -> str:
    """The moment as transcripts have it; empty for none."""
    return "" if seconds is None else to_text(Instant(seconds))


def plain_words(by_person: bool, parts: Iterable[str], when: float | None) -> Words | None:
    """A message of these parts; None if they say nothing."""
    said = text("\n\n".join(part for part in parts if part.strip()))
    if not said:
        return None
    return Words(
        role="user" if by_person else "assistant", blocks=(text_block(said),), timestamp=iso(when)
    )
