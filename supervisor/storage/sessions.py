"""The sessions table: metadata of conversations; their messages live in the transcripts."""

import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from typing import Any, Final

import aiosqlite

from supervisor.clock import Clock, Instant
from supervisor.errors import InvalidRequest, SessionBusy, SessionNotFound
from supervisor.ids import SessionId
from supervisor.storage import json_line, listing
from supervisor.storage.chunks import SESSION_CONTENT
from supervisor.storage.database import Database
from supervisor.storage.listing import Filters
from supervisor.storage.session import PERMISSIONS, Session, SessionCreate, SessionUpdate
from supervisor.storage.session_row import POSITION, parse_row
from supervisor.storage.tags import normal_tag
from supervisor.storage.timestamp import SystemClock, from_text, to_text
from supervisor.storage.turns import Used

DAY: Final = 24 * 60 * 60
MOST_LISTED: Final = 1_000
"""Sessions of one page."""

_LARGEST_OFFSET: Final = 2**63 - 1
_NEVER_EMPTY: Final = frozenset(
    {"module", "source", "message_count", "archived", "trust_level", "workspace"}
)
_BY_ID: Final = f"SELECT rowid AS {POSITION}, * FROM sessions WHERE id = ?"  # noqa: S608


class SessionStore:
    """Sessions, newest access first; every method is one transaction or one read."""

    def __init__(self, db: Database, clock: Clock | None = None) -> None:
        self._db = db
        self._clock = clock or SystemClock()

    async def create_session(self, session: SessionCreate) -> Session:
        """Store a new session, created and accessed now unless it says otherwise.

        Raises InvalidRequest if the id is taken or the workspace is unknown.
        """
        now = self._now()
        values = _values(session.model_dump())
        values["created_at"] = values["created_at"] or now
        values["last_accessed"] = values["last_accessed"] or now
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        async with self._db.write() as cx:
            sql = f"INSERT INTO sessions ({columns}) VALUES ({marks})"  # noqa: S608 - fixed names
            with _integrity_named(session.workspace):
                await cx.execute(sql, tuple(values.values()))
            return await _require(cx, session.id)

    async def find_session(self, session_id: SessionId) -> Session | None:
        """The session, or None."""
        row = await self._db.row(_BY_ID, (session_id,))
        return None if row is None else parse_row(dict(row))

    async def get_session(self, session_id: SessionId) -> Session:
        """The session. Raises SessionNotFound."""
        session = await self.find_session(session_id)
        if session is None:
            raise _not_found(session_id)
        return session

    async def list_sessions(  # noqa: PLR0913  (each may be filtered by)
        self,
        limit: int = 50,
        *,
        module: str | None = None,
        archived: bool | None = None,
        agent_type: str | None = None,
        workspace: str | None = None,
        tag: str | None = None,
        before: str | None = None,
        offset: int = 0,
    ) -> list[Session]:
        """Up to `limit` sessions (at most MOST_LISTED), the last accessed first; None: any.

        `before` is the `cursor` of the last session of the page before, at the cost of one page.
        `offset` skips as many, at the cost of what it skips. Raises InvalidRequest for a cursor
        or a tag that is none.
        """
        filters = Filters(
            module=module,
            archived=archived,
            agent_type=agent_type,
            workspace=workspace,
            tag=None if tag is None else normal_tag(tag),
        )
        limit, offset = min(max(0, limit), MOST_LISTED), min(max(0, offset), _LARGEST_OFFSET)
        query = listing.page(filters, limit, offset, before)
        rows = await self._db.rows(query.sql, query.parameters)
        return [parse_row(dict(row)) for row in rows]

    async def sessions_beginning(self, text: str, limit: int = MOST_LISTED) -> list[Session]:
        """Up to `limit` sessions (at most MOST_LISTED) whose id begins so, by their ids."""
        query = listing.beginning(text, min(max(0, limit), MOST_LISTED))
        rows = await self._db.rows(query.sql, query.parameters)
        return [parse_row(dict(row)) for row in rows]

    async def get_session_count(
        self,
        module: str | None = None,
        archived: bool | None = None,
        *,
        agent_type: str | None = None,
        workspace: str | None = None,
    ) -> int:
        """How many sessions there are of that kind; None: any."""
        filters = Filters(
            module=module, archived=archived, agent_type=agent_type, workspace=workspace
        )
        query = listing.count(filters)
        (row,) = await self._db.rows(query.sql, query.parameters)
        return int(row["found"])

    async def update_session(self, session_id: SessionId, update: SessionUpdate) -> Session:
        """Change what the update gives, and mark the session accessed.

        Raises SessionNotFound, and InvalidRequest for a workspace that isn't there.
        """
        given = update.model_dump(exclude_unset=True).items()
        values = _values(
            {key: value for key, value in given if value is not None or key not in _NEVER_EMPTY}
        )
        assignments = "".join(f"{column} = ?, " for column in values)
        sql = (
            f"UPDATE sessions SET {assignments}last_accessed = ?"  # noqa: S608 - the model's names
            " WHERE id = ?"
        )
        async with self._db.write() as cx:
            with _integrity_named(update.workspace):
                await cx.execute(sql, (*values.values(), self._now(), session_id))
            return await _require(cx, session_id)

    async def merge_metadata(self, session_id: SessionId, changes: Mapping[str, Any]) -> Session:
        """Set these keys of the session's metadata and leave the others; None removes a key.

        At once for all who change it, unlike an update with the whole. Where the metadata was
        damaged, the session goes on permitting nothing unless the changes say what it permits.
        """
        async with self._changed(session_id) as cx:
            stored = await _require(cx, session_id)
            metadata = {PERMISSIONS: stored.permissions.model_dump(mode="json")}
            metadata = {**(metadata if stored.damaged else {}), **stored.metadata, **changes}
            kept = {key: value for key, value in metadata.items() if value is not None}
            await cx.execute(
                "UPDATE sessions SET metadata = ?, last_accessed = ? WHERE id = ?",
                (json_line.dump(kept).decode(), self._now(), session_id),
            )
            return await _require(cx, session_id)

    async def touch_session(self, session_id: SessionId) -> None:
        """Mark the session accessed now. Raises SessionNotFound."""
        async with self._changed(session_id) as cx:
            await cx.execute(
                "UPDATE sessions SET last_accessed = ? WHERE id = ?", (self._now(), session_id)
            )

    async def increment_message_count(self, session_id: SessionId, increment: int = 1) -> int:
        """Add to the message count, at once for all who count; the new count."""
        async with self._changed(session_id) as cx:
            await cx.execute(
                "UPDATE sessions SET message_count = message_count + ? WHERE id = ?",
                (increment, session_id),
            )
            return (await _require(cx, session_id)).message_count

    async def add_spending(self, session_id: SessionId, used: Used) -> None:
        """Add what a turn has used to what the session has."""
        if used.tokens < 0 or used.cost_usd < 0:
            raise ValueError("spending can't be negative")
        async with self._changed(session_id) as cx:
            await cx.execute(
                "UPDATE sessions SET tokens_used = tokens_used + ?, cost_usd = cost_usd + ?,"
                " scripted_usd = scripted_usd + ? WHERE id = ?",
                (used.tokens, used.cost_usd, used.cost_usd - used.paid_usd, session_id),
            )

    async def archive_session(self, session_id: SessionId) -> None:
        """Put the session away; nothing of it is deleted."""
        await self._set_archived(session_id, 1)

    async def unarchive_session(self, session_id: SessionId) -> None:
        """Take the session back."""
        await self._set_archived(session_id, 0)

    async def delete_session(self, session_id: SessionId) -> None:
        """Remove the session with its tags, contexts, turns, grants and indexed text.

        The transcript stays. Raises SessionNotFound, and SessionBusy while a turn of it runs.
        """
        async with self._changed(session_id) as cx:
            running = await cx.execute_fetchall(
                "SELECT id FROM turns WHERE session_id = ? AND state = 'running'", (session_id,)
            )
            if list(running):
                raise SessionBusy(
                    "a turn of this session is running", where=session_id, remedy="abort it first"
                )
            for statement in _DELETIONS:
                await cx.execute(statement, (session_id,))

    async def cleanup_old_sessions(self, days: int) -> list[SessionId]:
        """Delete the archived sessions that nobody has accessed for so many days; their ids.

        Left are those of which a turn runs, and those whose last access can't be read.
        """
        if days < 0:
            raise InvalidRequest("days can't be negative", where="days")
        latest = from_text(to_text(Instant(max(0.0, self._clock.now() - days * DAY))))

        def work(cx: sqlite3.Connection) -> list[SessionId]:
            old = [
                session_id
                for session_id, accessed in cx.execute(_PUT_AWAY).fetchall()
                if _is_before(accessed, latest)
            ]
            for statement in _DELETIONS:
                cx.executemany(statement, [(each,) for each in old])
            return [SessionId(each) for each in old]

        return await self._db.transact(work)

    async def _set_archived(self, session_id: SessionId, archived: int) -> None:
        async with self._changed(session_id) as cx:
            await cx.execute(
                "UPDATE sessions SET archived = ? WHERE id = ?", (archived, session_id)
            )

    @asynccontextmanager
    async def _changed(self, session_id: SessionId) -> AsyncIterator[aiosqlite.Connection]:
        async with self._db.write() as cx:
            await _require(cx, session_id)
            yield cx

    def _now(self) -> str:
        return to_text(self._clock.now())


_DELETIONS: Final = (
    "DELETE FROM sessions WHERE id = ?",
    f"DELETE FROM chunks WHERE content_id = ? AND content_type = '{SESSION_CONTENT}'",  # noqa: S608
    f"DELETE FROM index_manifest WHERE content_id = ? AND content_type = '{SESSION_CONTENT}'",  # noqa: S608
)
_PUT_AWAY: Final = (
    "SELECT id, last_accessed FROM sessions WHERE (archived <> 0) = 1 AND typeof(id) = 'text'"
    " AND NOT EXISTS (SELECT 1 FROM turns WHERE session_id = sessions.id AND state = 'running')"
)


def _is_before(stored: object, moment: datetime) -> bool:
    try:
        return isinstance(stored, str) and from_text(stored) < moment
    except ValueError:
        return False


async def _require(cx: aiosqlite.Connection, session_id: SessionId) -> Session:
    for row in await cx.execute_fetchall(_BY_ID, (session_id,)):
        return parse_row(dict(row))
    raise _not_found(session_id)


def _not_found(session_id: SessionId) -> SessionNotFound:
    return SessionNotFound("no session has this id", where=session_id)


def _values(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as their columns hold them."""
    values = dict(given)
    if "metadata" in values:
        metadata = values["metadata"]
        values["metadata"] = json_line.dump(metadata).decode() if metadata else None
    for column, value in values.items():
        if isinstance(value, datetime):
            values[column] = to_text(Instant(value.timestamp()))
        elif isinstance(value, bool):
            values[column] = int(value)
    return values


@contextmanager
def _integrity_named(workspace: str | None) -> Iterator[None]:
    """Turn a refusal by the schema into InvalidRequest that names the field."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
            raise InvalidRequest(
                f"there is no workspace {workspace!r}", where="workspace"
            ) from error
        if error.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
            raise InvalidRequest("a session with this id exists", where="session_id") from error
        raise
