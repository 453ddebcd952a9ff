"""The session_contexts table: folders of the vault whose instructions a session is given."""

import logging
import sqlite3
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final

import aiosqlite

from supervisor.clock import Clock
from supervisor.errors import InvalidRequest, SessionNotFound
from supervisor.ids import SessionId
from supervisor.storage.database import Database
from supervisor.storage.session import Session
from supervisor.storage.session_row import POSITION, parse_row
from supervisor.storage.stored_text import require_text
from supervisor.storage.timestamp import SystemClock, to_text
from supervisor.storage.workspaces import relative_folder

logger = logging.getLogger(__name__)

LONGEST_FOLDER: Final = 4_096
"""Characters of a folder's path."""
MOST_CONTEXTS: Final = 100
"""Folders of one session."""

_ADD: Final = (
    "INSERT INTO session_contexts (session_id, folder_path, added_at) VALUES (?, ?, ?)"
    " ON CONFLICT DO NOTHING"
)


class ContextStore:
    """Context folders of sessions, relative to the vault; '' is the vault itself.

    Whether a folder exists is for who reads it. A row that names no folder within the vault is left
    out of every answer, and the log is warned of it.
    """

    def __init__(self, db: Database, clock: Clock | None = None) -> None:
        self._db = db
        self._clock = clock or SystemClock()

    async def set_session_contexts(self, session_id: SessionId, paths: Iterable[str]) -> list[str]:
        """Put these folders in the place of all that the session has; as they are stored.

        Raises SessionNotFound, and InvalidRequest for a folder that isn't within the vault.
        """
        folders = list(dict.fromkeys(_folder(path) for path in paths))
        async with self._of(session_id) as cx:
            await cx.execute("DELETE FROM session_contexts WHERE session_id = ?", (session_id,))
            for folder in folders:
                await cx.execute(_ADD, (session_id, folder, self._now()))
            await _require_few(cx, session_id)
        return folders

    async def add_session_context(self, session_id: SessionId, path: str) -> str:
        """Add a folder, if it isn't there already; as it is stored.

        Raises as `set_session_contexts` does.
        """
        folder = _folder(path)
        async with self._of(session_id) as cx:
            await cx.execute(_ADD, (session_id, folder, self._now()))
            await _require_few(cx, session_id)
        return folder

    async def remove_session_context(self, session_id: SessionId, path: str) -> bool:
        """Take a folder away; whether it was there."""
        async with self._db.write() as cx:
            cursor = await cx.execute(
                "DELETE FROM session_contexts WHERE session_id = ? AND folder_path = ?",
                (session_id, _folder(path)),
            )
            return cursor.rowcount == 1

    async def get_session_contexts(self, session_id: SessionId) -> list[str]:
        """The session's folders, in the order they were added."""
        rows = await self._db.rows(
            "SELECT folder_path FROM session_contexts WHERE session_id = ? ORDER BY rowid",
            (session_id,),
        )
        folders = (_stored_folder(row["folder_path"], session_id) for row in rows)
        return [folder for folder in folders if folder is not None]

    async def get_sessions_by_context(self, path: str, limit: int = 50) -> list[Session]:
        """Up to `limit` sessions that have this very folder, the last accessed first."""
        rows = await self._db.rows(
            f"SELECT sessions.rowid AS {POSITION}, sessions.*"  # noqa: S608 - a constant
            " FROM session_contexts JOIN sessions ON sessions.id = session_contexts.session_id"
            " WHERE session_contexts.folder_path = ?"
            " ORDER BY sessions.last_accessed DESC, sessions.rowid DESC LIMIT ?",
            (_folder(path), max(0, limit)),
        )
        return [parse_row(dict(row)) for row in rows]

    @asynccontextmanager
    async def _of(self, session_id: SessionId) -> AsyncIterator[aiosqlite.Connection]:
        async with self._db.write() as cx:
            try:
                yield cx
            except sqlite3.IntegrityError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
                    raise
                raise _no_session(session_id) from error
            if not list(
                await cx.execute_fetchall("SELECT 1 FROM sessions WHERE id = ?", (session_id,))
            ):
                raise _no_session(session_id)

    def _now(self) -> str:
        return to_text(self._clock.now())


def _folder(path: str) -> str:
    if path:
        require_text(path, "folder", most=LONGEST_FOLDER)
    return relative_folder(path)


def _stored_folder(folder: object, session_id: SessionId) -> str | None:
    try:
        if isinstance(folder, str):
            return _folder(folder)
    except InvalidRequest:
        pass
    logger.warning(
        "session %.100s: a context that names no folder in the vault is left out", session_id
    )
    return None


async def _require_few(cx: aiosqlite.Connection, session_id: SessionId) -> None:
    (row,) = await cx.execute_fetchall(
        "SELECT count(*) FROM session_contexts WHERE session_id = ?", (session_id,)
    )
    if row[0] > MOST_CONTEXTS:
        raise InvalidRequest(f"a session has at most {MOST_CONTEXTS} contexts", where="folder")


def _no_session(session_id: SessionId) -> SessionNotFound:
    return SessionNotFound("no session has this id", where=session_id)
