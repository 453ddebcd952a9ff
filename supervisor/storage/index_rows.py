"""The rows of the index as a whole: a content's pieces put in the place of older ones, and gone.

A change is staged first: its pieces have an index below 0, which no search sees, and come in as
many transactions as they need. The last one gives all pieces their places and removes the others.
So, killed at any moment, each content is indexed as it was or as it is now.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

import orjson

from supervisor.clock import Clock
from supervisor.storage import word_index
from supervisor.storage.chunks import SESSION_CONTENT, NewChunk
from supervisor.storage.database import Database
from supervisor.storage.index_manifest import IndexedContent
from supervisor.storage.index_records import (
    Held,
    Kept,
    Noted,
    SessionRow,
    digest_of,
    read_noted,
    read_session,
)
from supervisor.storage.timestamp import SystemClock, to_text

_BATCH: Final = 500
_OURS: Final = "trustfloor.search."
_NOTED: Final = "SELECT content_id, content_type, content_hash, title, metadata FROM index_manifest"
_SESSIONS: Final = "SELECT rowid AS number, id, title, transcript_path FROM sessions"


class IndexRows:
    """The index's rows; every method is one read or one short transaction."""

    def __init__(self, db: Database, clock: Clock | None = None) -> None:
        self._db = db
        self._clock = clock or SystemClock()

    async def mend(self) -> bool:
        """Remove what was staged and never finished, and what no content has; one part of it.

        Whether more may be left. An index of words out of step is made anew.
        """

        def work(cx: sqlite3.Connection) -> bool:
            gone = cx.execute(
                "DELETE FROM chunks WHERE number IN (SELECT number FROM chunks WHERE"
                " chunk_index < 0 OR content_id NOT IN (SELECT content_id FROM index_manifest)"
                " LIMIT ?)",
                (_BATCH,),
            )
            if gone.rowcount == 0 and not word_index.is_in_step(cx):
                word_index.rebuild(cx)
            return gone.rowcount > 0

        return await self._db.transact(work)

    async def forget_all(self) -> None:
        """Remove the whole index, whoever made it, and its marks."""

        def work(cx: sqlite3.Connection) -> None:
            word_index.rebuild(cx)  # so that what goes is what is in it
            cx.execute("DELETE FROM chunks")
            cx.execute("DELETE FROM index_manifest")
            cx.execute("DELETE FROM metadata WHERE key LIKE ?", (f"{_OURS}%",))

        await self._db.transact(work)

    async def held(self, content_id: str) -> list[Held]:
        """The pieces of a content that the index has."""
        found: list[Held] = []
        after = -1
        while True:
            rows = await self._db.rows(
                "SELECT number, chunk_index, position, title, heading, chunk_text FROM chunks"
                " WHERE content_id = ? AND chunk_index >= 0 AND number > ?"
                " ORDER BY number LIMIT ?",
                (content_id, after, _BATCH),
            )
            found += [
                Held(
                    row["number"],
                    row["chunk_index"],
                    row["position"],
                    row["title"],
                    digest_of(str(row["chunk_text"]), row["heading"]),
                )
                for row in rows
            ]
            if len(rows) < _BATCH:
                return found
            after = rows[-1]["number"]

    async def stage(self, chunks: Sequence[NewChunk]) -> None:
        """Bring pieces in that nobody sees yet."""
        now = to_text(self._clock.now())
        await self._db.transact(lambda cx: _insert_staged(cx, chunks, now))

    async def discard(self, content_id: str) -> None:
        """Remove what was staged for a content."""
        await self._db.transact(lambda cx: _discard(cx, content_id))

    async def finish(
        self,
        content: IndexedContent,
        last: Sequence[NewChunk],
        kept: Iterable[Kept],
        gone: Iterable[int],
    ) -> bool:
        """Put the staged pieces and those that are kept in their places, and note the content.

        False, and nothing of it is left, if it is a session that is gone by now.
        """
        now = to_text(self._clock.now())

        def work(cx: sqlite3.Connection) -> bool:
            if content.content_type == SESSION_CONTENT and not _has_session(cx, content.content_id):
                _discard(cx, content.content_id)
                return False
            _insert_staged(cx, last, now)
            cx.executemany("DELETE FROM chunks WHERE number = ?", ((each,) for each in gone))
            for each in kept:
                cx.execute(
                    "UPDATE chunks SET chunk_index = ?, position = ?, id ="
                    " 'chunk:' || content_id || ':' || field || ':' || ? WHERE number = ?",
                    (-1 - each.index, each.position, -1 - each.index, each.number),
                )
            _retitle(cx, content)
            cx.execute(
                "UPDATE chunks SET chunk_index = -1 - chunk_index, content_type = ?, id ="
                " 'chunk:' || content_id || ':' || field || ':' || (-1 - chunk_index)"
                " WHERE content_id = ? AND chunk_index < 0",
                (content.content_type, content.content_id),
            )
            _note(cx, content, now)
            return True

        return await self._db.transact(work)

    async def note(self, content: IndexedContent) -> None:
        """Note of a content whose pieces stay what else is known of it now."""
        now = to_text(self._clock.now())
        await self._db.transact(lambda cx: _note(cx, content, now))

    async def move(self, before: str, content: IndexedContent) -> None:
        """Give a content another name; its pieces stay as they are."""
        now = to_text(self._clock.now())

        def work(cx: sqlite3.Connection) -> None:
            _remove(cx, content.content_id)
            cx.execute("DELETE FROM index_manifest WHERE content_id = ?", (before,))
            cx.execute(
                "UPDATE chunks SET content_id = ?, content_type = ?,"
                " id = 'chunk:' || ? || ':' || field || ':' || chunk_index WHERE content_id = ?",
                (content.content_id, content.content_type, content.content_id, before),
            )
            _retitle(cx, content)
            _note(cx, content, now)

        await self._db.transact(work)

    async def remove(self, content_id: str) -> None:
        """Take a content out of the index."""
        await self._db.transact(lambda cx: _remove(cx, content_id))

    async def forget_more(self, *, first: bool) -> bool:
        """Rid the index of a little of what was deleted from it; whether more is left."""
        return await self._db.transact(lambda cx: word_index.forget_more(cx, first=first))

    async def sessions(self, after: int, limit: int = _BATCH) -> list[SessionRow]:
        """Sessions in the order of their rows, those after a number."""
        rows = await self._db.rows(
            f"{_SESSIONS} WHERE rowid > ? ORDER BY rowid LIMIT ?", (after, limit)
        )
        return [read_session(row) for row in rows]

    async def session(self, session_id: str) -> SessionRow | None:
        """One session, or None."""
        row = await self._db.row(f"{_SESSIONS} WHERE id = ?", (session_id,))
        return None if row is None else read_session(row)

    async def noted(self, content_ids: Sequence[str]) -> dict[str, Noted]:
        """What the manifest says of these contents."""
        places = ", ".join("?" * len(content_ids))
        rows = await self._db.rows(f"{_NOTED} WHERE content_id IN ({places})", tuple(content_ids))
        return {each.content_id: each for each in map(read_noted, rows)}

    async def noted_of_type(
        self, content_types: Sequence[str], after: str = "", limit: int = _BATCH
    ) -> list[Noted]:
        """What the manifest says of contents of these types, in the order of their ids."""
        places = ", ".join("?" * len(content_types))
        rows = await self._db.rows(
            f"{_NOTED} WHERE content_type IN ({places}) AND content_id > ?"
            " ORDER BY content_id LIMIT ?",
            (*content_types, after, limit),
        )
        return [read_noted(row) for row in rows]

    async def gone_sessions(self) -> list[str]:
        """Indexed sessions that there are none of any more."""
        rows = await self._db.rows(
            "SELECT content_id FROM index_manifest WHERE content_type = ?"
            " AND content_id NOT IN (SELECT id FROM sessions)",
            (SESSION_CONTENT,),
        )
        return [row["content_id"] for row in rows]

    async def counts(self) -> dict[str, int]:
        """How many contents of each type are indexed."""
        rows = await self._db.rows(
            "SELECT content_type, count(*) AS contents FROM index_manifest GROUP BY content_type"
        )
        return {row["content_type"]: row["contents"] for row in rows}

    async def remember(self, key: str, value: str) -> None:
        """Keep a mark of the index as a whole."""
        now = to_text(self._clock.now())
        await self._db.transact(
            lambda cx: cx.execute(
                "INSERT OR REPLACE INTO metadata (key, value, updated_at) VALUES (?, ?, ?)",
                (_OURS + key, value, now),
            )
        )

    async def remembered(self, key: str) -> str | None:
        """Such a mark, or None."""
        row = await self._db.row("SELECT value FROM metadata WHERE key = ?", (_OURS + key,))
        return row["value"] if row is not None and isinstance(row["value"], str) else None


def _insert_staged(cx: sqlite3.Connection, chunks: Iterable[NewChunk], now: str) -> None:
    cx.executemany(
        "INSERT INTO chunks (id, content_id, content_type, field, chunk_index, chunk_text,"
        " created_at, title, heading, position) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                f"chunk:{each.content_id}:{each.field}:{-1 - each.chunk_index}",
                each.content_id,
                each.content_type,
                each.field,
                -1 - each.chunk_index,
                each.chunk_text,
                now,
                each.title,
                each.heading,
                each.position,
            )
            for each in chunks
        ),
    )


def _note(cx: sqlite3.Connection, content: IndexedContent, now: str) -> None:
    metadata = orjson.dumps(dict(content.metadata)).decode() if content.metadata else None
    cx.execute(
        "INSERT OR REPLACE INTO index_manifest (content_id, content_type, content_hash, title,"
        " indexed_at, chunk_count, source_path, metadata) VALUES (?, ?, ?, ?, ?,"
        " (SELECT count(*) FROM chunks WHERE content_id = ? AND chunk_index >= 0), ?, ?)",
        (
            content.content_id,
            content.content_type,
            content.content_hash,
            content.title,
            now,
            content.content_id,
            content.source_path,
            metadata,
        ),
    )


def _retitle(cx: sqlite3.Connection, content: IndexedContent) -> None:
    title = content.title or ""
    cx.execute(
        "UPDATE chunks SET title = ? WHERE content_id = ? AND title <> ?",
        (title, content.content_id, title),
    )


def _remove(cx: sqlite3.Connection, content_id: str) -> None:
    cx.execute("DELETE FROM chunks WHERE content_id = ?", (content_id,))
    cx.execute("DELETE FROM index_manifest WHERE content_id = ?", (content_id,))


def _discard(cx: sqlite3.Connection, content_id: str) -> None:
    cx.execute("DELETE FROM chunks WHERE content_id = ? AND chunk_index < 0", (content_id,))


def _has_session(cx: sqlite3.Connection, session_id: str) -> bool:
    found = cx.execute("SELECT 1 FROM sessions WHERE id = ?", (session_id,)).fetchone()
    return found is not None
