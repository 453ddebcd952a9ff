"""The chunks table: texts that are searched, in pieces, each with its vector if it has one."""

import logging
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from supervisor.clock import Clock
from supervisor.errors import InvalidRequest
from supervisor.storage.columns import moment_in
from supervisor.storage.database import Database
from supervisor.storage.stored_text import require_text
from supervisor.storage.tags import normal_tag
from supervisor.storage.timestamp import SystemClock, to_text

logger = logging.getLogger(__name__)

SESSION_CONTENT: Final = "session"
"""The content type whose `content_id` is a session's id; such chunks go with their session."""

LONGEST_ID: Final = 4_200
LONGEST_CHUNK: Final = 100_000
"""Characters."""

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,62}\Z")
_TOO_LARGE: Final = 2**31
# Those below 0 belong to a change that isn't finished (`index_rows.py`).
_SELECT: Final = (
    "SELECT id, content_id, content_type, field, chunk_index, chunk_text, embedding, created_at,"
    " title, heading, position FROM chunks WHERE chunk_index >= 0"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewChunk:
    """One piece of a text. `embedding` is a vector's bytes, as whoever made it reads them.

    `title` is the content's, `heading` what the piece stands under, and `position` the message or
    the line that it begins with, from 1; 0: none is known.
    """

    content_id: str
    content_type: str
    chunk_index: int
    chunk_text: str
    field: str = "content"
    embedding: bytes | None = None
    title: str = ""
    heading: str = ""
    position: int = 0

    @property
    def id(self) -> str:
        """Its one name. A field holds no colon, so no two pieces share one."""
        return f"chunk:{self.content_id}:{self.field}:{self.chunk_index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A stored piece; `created_at` is in UTC."""

    id: str
    content_id: str
    content_type: str
    field: str
    chunk_index: int
    chunk_text: str
    embedding: bytes | None
    created_at: datetime
    title: str
    heading: str
    position: int


class ChunkStore:
    """Pieces of content; every method is one transaction or one read.

    A row that can't be read whole is left out of every answer, and the log is warned of it.
    """

    def __init__(self, db: Database, clock: Clock | None = None) -> None:
        self._db = db
        self._clock = clock or SystemClock()

    async def upsert_chunk(self, chunk: NewChunk) -> str:
        """Store a piece, in the place of an older one of that name; its id.

        Raises InvalidRequest for what can't be stored.
        """
        require_chunk(chunk)
        now = to_text(self._clock.now())
        await self._db.transact(lambda cx: put_chunk(cx, chunk, now))
        return chunk.id

    async def get_chunks_for_content(
        self, content_id: str, field: str | None = None
    ) -> list[Chunk]:
        """The pieces of one content in their order; of one field, or of all."""
        named = "" if field is None else " AND field = ?"
        rows = await self._db.rows(
            f"{_SELECT} AND content_id = ?{named} ORDER BY field, chunk_index",
            (content_id,) if field is None else (content_id, field),
        )
        return _readable(rows)

    async def delete_chunks_for_content(self, content_id: str) -> int:
        """Remove all pieces of one content; how many there were."""
        async with self._db.write() as cx:
            cursor = await cx.execute("DELETE FROM chunks WHERE content_id = ?", (content_id,))
            return cursor.rowcount

    async def search_chunks(
        self,
        content_type: str | None = None,
        tags: Sequence[str] = (),
        limit: int = 50,
    ) -> list[Chunk]:
        """Up to `limit` pieces of that type, and of sessions with any of the tags; newest first."""
        conditions, parameters = list[str](), list[Any]()
        if content_type is not None:
            conditions.append("content_type = ?")
            parameters.append(content_type)
        if tags:
            words = sorted({normal_tag(tag) for tag in tags})
            conditions.append(
                "EXISTS (SELECT 1 FROM session_tags WHERE session_id = chunks.content_id"  # noqa: S608
                f" AND tag IN ({', '.join('?' * len(words))}))"
            )
            parameters += words
        sql = f"{' AND '.join([_SELECT, *conditions])} ORDER BY number DESC LIMIT ?"
        return _readable(await self._db.rows(sql, (*parameters, max(0, limit))))


def require_chunk(chunk: NewChunk) -> None:
    """Raise InvalidRequest, naming the field, unless the piece can be stored."""
    require_text(chunk.content_id, "content_id", most=LONGEST_ID)
    require_text(chunk.chunk_text, "chunk_text", most=LONGEST_CHUNK)
    for field, value in (("content_type", chunk.content_type), ("field", chunk.field)):
        if _NAME.match(value) is None:
            raise InvalidRequest(f"{value[:100]!r} is no plain name", where=field)
    for field, value in (("title", chunk.title), ("heading", chunk.heading)):
        if value:
            require_text(value, field, most=LONGEST_CHUNK)
    for field, number in (("chunk_index", chunk.chunk_index), ("position", chunk.position)):
        if not 0 <= number < _TOO_LARGE:
            raise InvalidRequest("this is no number from 0", where=field)


def put_chunk(cx: sqlite3.Connection, chunk: NewChunk, now: str) -> None:
    """Store the piece in the caller's transaction."""
    cx.execute(
        "INSERT INTO chunks (id, content_id, content_type, field, chunk_index, chunk_text,"
        " embedding, created_at, title, heading, position)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (content_id, field, chunk_index) DO UPDATE SET id = excluded.id,"
        " content_type = excluded.content_type, chunk_text = excluded.chunk_text,"
        " embedding = excluded.embedding, created_at = excluded.created_at,"
        " title = excluded.title, heading = excluded.heading, position = excluded.position",
        (
            chunk.id,
            chunk.content_id,
            chunk.content_type,
            chunk.field,
            chunk.chunk_index,
            chunk.chunk_text,
            chunk.embedding,
            now,
            chunk.title,
            chunk.heading,
            chunk.position,
        ),
    )


def _readable(rows: Sequence[sqlite3.Row]) -> list[Chunk]:
    parsed = (_parse(dict(row)) for row in rows)
    return [chunk for chunk in parsed if chunk is not None]


def _parse(row: Mapping[str, Any]) -> Chunk | None:
    damaged = [column for column, kind in _KINDS.items() if not isinstance(row[column], kind)]
    created = moment_in(row, "created_at", damaged)
    if damaged:
        logger.warning(
            "the chunk %.100s is left out: nothing readable in %s", row["id"], ", ".join(damaged)
        )
        return None
    return Chunk(**{**row, "created_at": created})


_KINDS: Final[Mapping[str, Any]] = {
    "id": str,
    "content_id": str,
    "content_type": str,
    "field": str,
    "chunk_text": str,
    "chunk_index": int,
    "embedding": bytes | None,
    "title": str,
    "heading": str,
    "position": int,
}
