"""The index_manifest table: what is indexed, and of which state of its content."""

import logging
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from supervisor.clock import Clock
from supervisor.errors import InvalidRequest
from supervisor.storage import json_line
from supervisor.storage.chunks import LONGEST_ID, NewChunk, put_chunk, require_chunk
from supervisor.storage.columns import moment_in, text_in
from supervisor.storage.database import Database
from supervisor.storage.session_row import parse_object
from supervisor.storage.stored_text import require_text
from supervisor.storage.timestamp import SystemClock, to_text

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedContent:
    """A content that is indexed. `content_hash` tells whether it has changed since."""

    content_id: str
    content_type: str
    content_hash: str | None = None
    title: str | None = None
    source_path: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestEntry(IndexedContent):
    """The same as it is stored; `indexed_at` is in UTC.

    `damaged` names the columns that could not be read and were replaced: without a hash that can
    be read the content counts as changed.
    """

    indexed_at: datetime
    chunk_count: int
    damaged: tuple[str, ...] = ()


class ManifestStore:
    """What is indexed; every method is one transaction or one read."""

    def __init__(self, db: Database, clock: Clock | None = None) -> None:
        self._db = db
        self._clock = clock or SystemClock()

    async def replace_content(self, content: IndexedContent, chunks: Sequence[NewChunk]) -> None:
        """Put these pieces in the place of all that the content has, and note it, as one change.

        Raises InvalidRequest for a piece of another content, and for what can't be stored.
        """
        require_text(content.content_id, "content_id", most=LONGEST_ID)
        for chunk in chunks:
            require_chunk(chunk)
            if (chunk.content_id, chunk.content_type) != (content.content_id, content.content_type):
                raise InvalidRequest("a piece of another content", where=chunk.id)
        now = to_text(self._clock.now())

        def work(cx: sqlite3.Connection) -> None:
            cx.execute("DELETE FROM chunks WHERE content_id = ?", (content.content_id,))
            for chunk in chunks:
                put_chunk(cx, chunk, now)
            metadata = json_line.dump(dict(content.metadata)).decode() if content.metadata else None
            cx.execute(
                "INSERT OR REPLACE INTO index_manifest (content_id, content_type, content_hash,"
                " title, indexed_at, chunk_count, source_path, metadata)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    content.content_id,
                    content.content_type,
                    content.content_hash,
                    content.title,
                    now,
                    len(chunks),
                    content.source_path,
                    metadata,
                ),
            )

        await self._db.transact(work)

    async def remove_content(self, content_id: str) -> bool:
        """Take a content out of the index with its pieces; whether it was there."""

        def work(cx: sqlite3.Connection) -> bool:
            gone = cx.execute("DELETE FROM chunks WHERE content_id = ?", (content_id,)).rowcount
            noted = cx.execute("DELETE FROM index_manifest WHERE content_id = ?", (content_id,))
            return gone + noted.rowcount > 0

        return await self._db.transact(work)

    async def get_manifest(self, content_id: str) -> ManifestEntry | None:
        """What is noted of a content, or None."""
        row = await self._db.row("SELECT * FROM index_manifest WHERE content_id = ?", (content_id,))
        return None if row is None else _entry(dict(row))

    async def list_manifest(
        self, content_type: str | None = None, limit: int = 1_000, after: str = ""
    ) -> list[ManifestEntry]:
        """Up to `limit` indexed contents by their ids, those after `after`; of one type, or all."""
        typed = "" if content_type is None else "content_type = ? AND "
        parameters = (after, max(0, limit))
        rows = await self._db.rows(
            f"SELECT * FROM index_manifest WHERE {typed}content_id > ?"  # noqa: S608 - a constant
            " ORDER BY content_id LIMIT ?",
            parameters if content_type is None else (content_type, *parameters),
        )
        return [_entry(dict(row)) for row in rows]


def _entry(row: Mapping[str, Any]) -> ManifestEntry:
    damaged: list[str] = []

    def optional(column: str) -> str | None:
        return text_in(row, column, damaged)

    count = row["chunk_count"]
    if not isinstance(count, int):
        damaged.append("chunk_count")
        count = 0
    entry = ManifestEntry(
        content_id=optional("content_id") or "",
        content_type=optional("content_type") or "",
        content_hash=optional("content_hash"),
        title=optional("title"),
        indexed_at=moment_in(row, "indexed_at", damaged),
        chunk_count=count,
        source_path=optional("source_path"),
        metadata=parse_object(row["metadata"], damaged),
        damaged=tuple(damaged),
    )
    if damaged:
        logger.warning(
            "what is indexed as %.100s: nothing readable in %s",
            entry.content_id,
            ", ".join(damaged),
        )
    return entry
