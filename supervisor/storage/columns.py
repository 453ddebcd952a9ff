"""What a column holds, as the type it should have: damage is noted, and costs that column only."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from supervisor.storage.timestamp import from_text

_EPOCH: Final = datetime.fromtimestamp(0, UTC)


def text_in(row: Mapping[str, Any], column: str, damaged: list[str]) -> str | None:
    """The text that a column holds; None for anything else, with `column` added to `damaged`."""
    value = row[column]
    if value is None or isinstance(value, str):
        return value
    damaged.append(column)
    return None


def moment_in(row: Mapping[str, Any], column: str, damaged: list[str]) -> datetime:
    """The moment that a column holds, or the epoch, with `column` added to `damaged`."""
    try:
        if isinstance(row[column], str):
            return from_text(row[column])
    except ValueError:
        pass
    damaged.append(column)
    return _EPOCH
