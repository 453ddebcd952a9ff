"""A session as it is stored, and how a row is read: damage costs that row, and never loosens it."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from supervisor.ids import SessionId
from supervisor.storage.timestamp import stored_moment
from supervisor.trust.levels import TrustLevel, strictest


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSession:
    """What a session is created from; the level and the workspace are always said."""

    id: SessionId
    trust_level: TrustLevel
    workspace: str
    title: str | None = None
    module: str = "chat"
    source: str = "parachute"
    working_directory: str | None = None
    vault_root: str | None = None
    model: str | None = None
    continued_from: str | None = None
    agent_type: str | None = None
    agent_path: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One stored session. `cost_usd` is in US dollars; moments are in UTC.

    `damaged` names the columns that could not be read and were replaced: an unknown trust level by
    the strictest one, everything else by nothing. `cursor` says where this row stands in a list.
    """

    id: SessionId
    title: str | None
    module: str
    source: str
    working_directory: str | None
    vault_root: str | None
    model: str | None
    message_count: int
    archived: bool
    created_at: datetime
    last_accessed: datetime
    continued_from: str | None
    agent_type: str | None
    metadata: Mapping[str, Any]
    trust_level: TrustLevel
    workspace: str
    agent_path: str | None
    transcript_path: str | None
    tokens_used: int
    cost_usd: float
    cursor: str
    damaged: tuple[str, ...] = ()


def parse_row(row: Mapping[str, Any]) -> SessionRow:
    """The typed session of a database row; never fails on what the columns hold."""
    damaged: list[str] = []

    def optional(column: str) -> str | None:
        value = row[column]
        if value is None or isinstance(value, str):
            return value
        damaged.append(column)
        return None

    def text(column: str) -> str:
        return optional(column) or ""

    def moment(column: str) -> datetime:
        return stored_moment(row[column], damaged, column)

    def number(column: str) -> float:
        value = row[column]
        if isinstance(value, int | float) and math.isfinite(value):
            return value
        damaged.append(column)
        return 0

    return SessionRow(
        id=SessionId(str(row["id"])),
        title=optional("title"),
        module=text("module"),
        source=text("source"),
        working_directory=optional("working_directory"),
        vault_root=optional("vault_root"),
        model=optional("model"),
        message_count=int(number("message_count")),
        archived=bool(row["archived"]),
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
        cursor=f"{row['last_accessed']}|{row['id']}",
        damaged=tuple(damaged),
    )


def parse_level(stored: object, damaged: list[str], column: str = "trust_level") -> TrustLevel:
    """The stored level, or the strictest one with `column` added to `damaged`."""
    for level in TrustLevel:
        if stored == level.value:
            return level
    damaged.append(column)
    return strictest(*TrustLevel)


def _parse_metadata(stored: object, damaged: list[str]) -> dict[str, Any]:
    if stored is None:
        return {}
    try:
        parsed = json.loads(stored) if isinstance(stored, str) else None
    except (ValueError, RecursionError):
        parsed = None
    if isinstance(parsed, dict):
        return parsed
    damaged.append("metadata")
    return {}
