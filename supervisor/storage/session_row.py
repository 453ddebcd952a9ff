"""How a session's row is read: damage costs that row, and never loosens it."""

import json
import math
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from supervisor.ids import SessionId
from supervisor.storage import json_line
from supervisor.storage.columns import moment_in, text_in
from supervisor.storage.cursor import cursor_of
from supervisor.storage.session import (
    DAMAGED_PERMISSIONS,
    Session,
    read_permissions,
)
from supervisor.storage.session_source import SessionSource
from supervisor.trust.levels import TrustLevel, strictest

_HALF_LETTER: Final = "\\ud"
POSITION: Final = "position"
"""The name that the row's number has in a query."""


def parse_row(row: Mapping[str, Any]) -> Session:
    """The typed session of a database row; never fails on what the columns hold."""
    damaged: list[str] = []

    def optional(column: str) -> str | None:
        return text_in(row, column, damaged)

    def text(column: str) -> str:
        value = optional(column)
        if value is None and column not in damaged:
            damaged.append(column)
        return value or ""

    def moment(column: str) -> datetime:
        return moment_in(row, column, damaged)

    def number(column: str) -> float:
        value = row[column]
        if isinstance(value, int | float) and math.isfinite(value):
            return value
        damaged.append(column)
        return 0

    def flag(column: str) -> bool:
        value = row[column]
        if value not in (0, 1):
            damaged.append(column)
        return bool(value != 0)

    return Session(
        id=SessionId(text("id")),
        title=optional("title"),
        module=text("module"),
        source=_parse_source(row["source"], damaged),
        working_directory=optional("working_directory"),
        vault_root=optional("vault_root"),
        model=optional("model"),
        message_count=int(number("message_count")),
        archived=flag("archived"),
        created_at=moment("created_at"),
        last_accessed=moment("last_accessed"),
        continued_from=optional("continued_from"),
        agent_type=optional("agent_type"),
        metadata=_parse_metadata(row["metadata"], damaged),
        trust_level=parse_level(row["trust_level"], damaged),
        workspace=text("workspace"),
        agent_path=optional("agent_path"),
        transcript_path=optional("transcript_path"),
        tokens_used=int(number("tokens_used")),
        cost_usd=float(number("cost_usd")),
        scripted_usd=float(number("scripted_usd")),
        cursor=cursor_of(row["last_accessed"], row[POSITION]),
        damaged=tuple(damaged),
    )


def parse_level(stored: object, damaged: list[str], column: str = "trust_level") -> TrustLevel:
    """The stored level, or the strictest one with `column` added to `damaged`."""
    for level in TrustLevel:
        if stored == level.value:
            return level
    damaged.append(column)
    return strictest(*TrustLevel)


def parse_object(stored: object, damaged: list[str], column: str = "metadata") -> dict[str, Any]:
    """The JSON object that a column holds, {} for NULL; {} and `column` added if it is none."""
    if stored is None:
        return {}
    try:
        parsed = _load(stored) if isinstance(stored, str) else None
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        return parsed
    damaged.append(column)
    return {}


def _load(text: str) -> object:
    parsed = json.loads(text, parse_constant=_refuse_constant)
    # An escape can stand for half a letter, which no JSON of ours may hold.
    return json.loads(json_line.dump(parsed)) if _HALF_LETTER in text.lower() else parsed


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _parse_source(stored: object, damaged: list[str]) -> SessionSource:
    for source in SessionSource:
        if stored == source.value:
            return source
    damaged.append("source")
    return SessionSource.PARACHUTE


def _parse_metadata(stored: object, damaged: list[str]) -> dict[str, Any]:
    metadata = parse_object(stored, damaged)
    if read_permissions(metadata) is None:
        damaged.append(DAMAGED_PERMISSIONS)
    return metadata
