"""What the rows of the index are read into, and told apart by."""

import hashlib
import sqlite3
from dataclasses import dataclass
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Held:
    """A piece that is in the index: its row, its place, its title, and a digest of its words."""

    number: int
    index: int
    position: int
    title: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class Kept:
    """A piece that stays: the row, and the place it gets."""

    number: int
    index: int
    position: int


@dataclass(frozen=True, slots=True)
class SessionRow:
    """What of a session tells where its words are; `number` goes up from session to session."""

    number: int
    id: str
    title: str | None
    transcript_path: str | None


@dataclass(frozen=True, slots=True)
class Noted:
    """What the manifest says of a content. `metadata` is empty where it can't be read."""

    content_id: str
    content_type: str
    content_hash: str | None
    title: str | None
    metadata: dict[str, Any]


def digest_of(text: str, heading: str) -> bytes:
    """What tells two pieces apart."""
    return hashlib.blake2b(f"{heading}\0{text}".encode(), digest_size=16).digest()


def read_session(row: sqlite3.Row) -> SessionRow:
    """A row of the sessions; what isn't a text there counts as none."""
    title, path = row["title"], row["transcript_path"]
    return SessionRow(
        row["number"],
        str(row["id"]),
        title if isinstance(title, str) else None,
        path if isinstance(path, str) else None,
    )


def read_noted(row: sqlite3.Row) -> Noted:
    """A row of the manifest; another program may have left anything in it."""
    try:
        metadata = orjson.loads(row["metadata"] or b"{}")
    except (orjson.JSONDecodeError, TypeError):
        metadata = {}
    content_hash, title = row["content_hash"], row["title"]
    return Noted(
        str(row["content_id"]),
        str(row["content_type"]),
        content_hash if isinstance(content_hash, str) else None,
        title if isinstance(title, str) else None,
        metadata if isinstance(metadata, dict) else {},
    )
