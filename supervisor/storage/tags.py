"""The session_tags table: words that sessions are found by, in lower case."""

import sqlite3
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from supervisor.clock import Clock
from supervisor.errors import InvalidRequest, SessionNotFound
from supervisor.ids import SessionId
from supervisor.storage.database import Database
from supervisor.storage.session import Session
from supervisor.storage.session_row import POSITION, parse_row
from supervisor.storage.stored_text import require_text
from supervisor.storage.timestamp import SystemClock, to_text

LONGEST_TAG: Final = 100
"""Characters of a tag."""


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag, and how many sessions have it."""

    tag: str
    count: int


class TagStore:
    """Tags of sessions; every method is one transaction or one read."""

    def __init__(self, db: Database, clock: Clock | None = None) -> None:
        self._db = db
        self._clock = clock or SystemClock()

    async def add_tag(self, session_id: SessionId, tag: str) -> str:
        """Give the session a tag, if it hasn't it already; the tag as it is stored.

        Raises SessionNotFound, and InvalidRequest for what can't be a tag.
        """
        word = normal_tag(tag)
        async with self._db.write() as cx:
            try:
                await cx.execute(
                    "INSERT INTO session_tags (session_id, tag, created_at) VALUES (?, ?, ?)"
                    " ON CONFLICT DO NOTHING",
                    (session_id, word, to_text(self._clock.now())),
                )
            except sqlite3.IntegrityError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
                    raise
                raise SessionNotFound("no session has this id", where=session_id) from error
        return word

    async def remove_tag(self, session_id: SessionId, tag: str) -> bool:
        """Take a tag from the session; whether it had it."""
        async with self._db.write() as cx:
            cursor = await cx.execute(
                "DELETE FROM session_tags WHERE session_id = ? AND tag = ?",
                (session_id, normal_tag(tag)),
            )
            return cursor.rowcount == 1

    async def get_session_tags(self, session_id: SessionId) -> list[str]:
        """The session's tags, by the alphabet; none if there is no such session."""
        rows = await self._db.rows(
            f"SELECT tag FROM session_tags WHERE session_id = ? AND {_READABLE} ORDER BY tag",  # noqa: S608
            (session_id,),
        )
        return [row["tag"] for row in rows]

    async def tags_of(self, sessions: Sequence[SessionId]) -> dict[SessionId, tuple[str, ...]]:
        """The tags of these sessions, each by the alphabet; those without one are left out."""
        found: dict[SessionId, tuple[str, ...]] = {}
        marks = ", ".join("?" * len(sessions))
        for row in await self._db.rows(
            f"SELECT session_id, tag FROM session_tags WHERE session_id IN ({marks})"  # noqa: S608
            f" AND {_READABLE} ORDER BY tag",
            tuple(sessions),
        ):
            session_id = SessionId(row["session_id"])
            found[session_id] = (*found.get(session_id, ()), row["tag"])
        return found

    async def get_sessions_by_tag(self, tag: str, limit: int = 50) -> list[Session]:
        """Up to `limit` sessions that have the tag, the last accessed first."""
        rows = await self._db.rows(
            f"SELECT sessions.rowid AS {POSITION}, sessions.*"  # noqa: S608 - a constant
            " FROM session_tags JOIN sessions ON sessions.id = session_tags.session_id"
            " WHERE session_tags.tag = ?"
            " ORDER BY sessions.last_accessed DESC, sessions.rowid DESC LIMIT ?",
            (normal_tag(tag), max(0, limit)),
        )
        return [parse_row(dict(row)) for row in rows]

    async def list_all_tags(self) -> list[TagCount]:
        """All tags that sessions have, the most frequent first."""
        rows: list[Any] = await self._db.rows(
            f"SELECT tag, count(*) AS sessions FROM session_tags WHERE {_READABLE}"  # noqa: S608
            " GROUP BY tag ORDER BY sessions DESC, tag"
        )
        return [TagCount(row["tag"], row["sessions"]) for row in rows]


_READABLE: Final = "typeof(tag) = 'text'"


def normal_tag(tag: str) -> str:
    """The tag's one spelling: lower case, composed, single blanks. Raises InvalidRequest."""
    require_text(tag, "tag", most=LONGEST_TAG)
    word = " ".join(unicodedata.normalize("NFC", tag).lower().split())
    word = unicodedata.normalize("NFC", word)  # lower case may take letters apart
    if not word.isprintable():
        raise InvalidRequest("this tag holds characters that can't be seen", where="tag")
    return word
