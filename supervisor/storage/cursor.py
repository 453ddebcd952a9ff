"""Where a list goes on: the place of a row among all, as a text that clients hand back unread."""

from dataclasses import dataclass
from typing import Final

from supervisor.errors import InvalidRequest

_BY_ROW: Final = "~"
_LONGEST: Final = 64
_LARGEST: Final = 2**63


@dataclass(frozen=True, slots=True)
class Place:
    """After this row the list goes on: when it was last accessed, and the number it has.

    `moment` None: what the row itself says, as that is no plain text.
    """

    moment: str | None
    position: int


def cursor_of(last_accessed: object, position: int) -> str:
    """The cursor of a row, from what is stored in it; that may be anything, if by hand."""
    if (
        isinstance(last_accessed, str)
        and len(last_accessed) <= _LONGEST
        and last_accessed.isprintable()
        and "\ufffd" not in last_accessed  # stands for bytes that are no text
    ):
        return f"{last_accessed}|{position}"
    return f"{_BY_ROW}|{position}"


def parse_cursor(cursor: str) -> Place:
    """The place that a cursor names. Raises InvalidRequest."""
    moment, separator, number = cursor.rpartition("|")
    digits = number.removeprefix("-")
    well_formed = digits.isascii() and digits.isdecimal() and len(digits) < _LONGEST
    if separator and moment.isprintable() and well_formed and abs(int(number)) < _LARGEST:
        return Place(None if moment == _BY_ROW else moment, int(number))
    raise InvalidRequest(
        f"{cursor[:100]!r} is no cursor",
        where="before",
        remedy="take it from the list before, as it is, or leave it out",
    )
