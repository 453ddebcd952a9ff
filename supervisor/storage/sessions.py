"""The sessions table: metadata of conversations; their messages live in the transcripts."""

import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypedDict, Unpack

import aiosqlite

from supervisor.clock import Clock
from supervisor.errors import InvalidRequest, SessionBusy, SessionNotFound
from supervisor.ids import SessionId
from supervisor.storage import json_line
from supervisor.storage.database import Database
from supervisor.storage.session_row import NewSession, SessionRow, parse_row
from supervisor.storage.timestamp import SystemClock, to_text
from supervisor.trust.levels import TrustLevel


class SessionChanges(TypedDict, total=False):
    """What `update` can change; a key that isn't given stays as it is."""

    title: str | None
    module: str
    source: str
    working_directory: str | None
    vault_root: str | None
    model: str | None
    message_count: int
    continued_from: str | None
    agent_type: str | None
    metadata: Mapping[str, Any]
    trust_level: TrustLevel
    workspace: str
    agent_path: str | None
    transcript_path: str | None


class SessionStore:
    """Sessions, newest access first; every method is one transaction or one read."""

    def __init__(self, db: Database, clock: Clock | None = None) -> None:
        self._db = db
        self._clock = clock or SystemClock()

    async def create(self, session: NewSession) -> SessionRow:
        """Store a new session, created and accessed now.

        Raises InvalidRequest if the id is taken or the workspace is unknown.
        """
        now = self._now()
        values: dict[str, Any] = {
            "id": session.id,
            "title": session.title,
            "module": session.module,
            "source": session.source,
            "working_directory": session.working_directory,
            "vault_root": session.vault_root,
            "model": session.model,
            "created_at": now,
            "last_accessed": now,
            "continued_from": session.continued_from,
            "agent_type": session.agent_type,
            "agent_path": session.agent_path,
            "metadata": _metadata(session.metadata),
            "trust_level": session.trust_level.value,
            "workspace": session.workspace,
        }
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        async with self._db.write() as cx:
            sql = f"INSERT INTO sessions ({columns}) VALUES ({marks})"  # noqa: S608 - fixed names
            with _integrity_named(session.workspace):
                await cx.execute(sql, tuple(values.values()))
            return await _require(cx, session.id)

    async def find(self, session_id: SessionId) -> SessionRow | None:
        """The session, or None."""
        row = await self._db.row("SELECT * FROM sessions WHERE id = ?", (session_id,))
        return None if row is None else parse_row(dict(row))

    async def get(self, session_id: SessionId) -> SessionRow:
        """The session. Raises SessionNotFound."""
        session = await self.find(session_id)
        if session is None:
            raise _not_found(session_id)
        return session

    async def list(
        self, limit: int = 50, *, archived: bool | None = None, before: str | None = None
    ) -> list[SessionRow]:
        """Up to `limit` sessions, the last accessed first.

        `before` is the `cursor` of the last session of the page before; `archived` None means
        both kinds. Raises InvalidRequest for a cursor that is none.
        """
        conditions, parameters = ["1"], list[Any]()
        if archived is not None:
            conditions.append("archived = ?")
            parameters.append(int(archived))
        if before is not None:
            moment, separator, session_id = before.partition("|")
            if not separator:
                raise InvalidRequest(f"{before!r} is no cursor", where="before")
            conditions.append("(last_accessed, id) < (?, ?)")
            parameters += [moment, session_id]
        where = " AND ".join(conditions)
        sql = (
            f"SELECT * FROM sessions WHERE {where}"  # noqa: S608 - from the constants above
            " ORDER BY last_accessed DESC, id DESC LIMIT ?"
        )
        rows = await self._db.rows(sql, (*parameters, max(0, limit)))
        return [parse_row(dict(row)) for row in rows]

    async def update(self, session_id: SessionId, **changes: Unpack[SessionChanges]) -> SessionRow:
        """Change what is given, and mark the session accessed. Raises SessionNotFound."""
        values: dict[str, Any] = dict(changes)
        unknown = values.keys() - SessionChanges.__annotations__.keys()
        if unknown:
            raise TypeError(f"not to be changed: {', '.join(sorted(unknown))}")
        if "metadata" in changes:
            values["metadata"] = _metadata(changes["metadata"])
        if "trust_level" in changes:
            values["trust_level"] = changes["trust_level"].value
        assignments = "".join(f"{column} = ?, " for column in values)
        sql = (
            f"UPDATE sessions SET {assignments}last_accessed = ?"  # noqa: S608 - names checked
            " WHERE id = ?"
        )
        async with self._db.write() as cx:
            with _integrity_named(changes.get("workspace")):
                await cx.execute(sql, (*values.values(), self._now(), session_id))
            return await _require(cx, session_id)

    async def touch(self, session_id: SessionId) -> None:
        """Mark the session accessed now. Raises SessionNotFound."""
        async with self._changed(session_id) as cx:
            await cx.execute(
                "UPDATE sessions SET last_accessed = ? WHERE id = ?", (self._now(), session_id)
            )

    async def increment_message_count(self, session_id: SessionId, by: int = 1) -> int:
        """Add to the message count, at once for all who count; the new count."""
        async with self._changed(session_id) as cx:
            await cx.execute(
                "UPDATE sessions SET message_count = message_count + ? WHERE id = ?",
                (by, session_id),
            )
            return (await _require(cx, session_id)).message_count

    async def add_spending(self, session_id: SessionId, tokens: int, cost_usd: float) -> None:
        """Add tokens (of all kinds) and US dollars to what the session has used."""
        if tokens < 0 or cost_usd < 0:
            raise ValueError("spending can't be negative")
        async with self._changed(session_id) as cx:
            await cx.execute(
                "UPDATE sessions SET tokens_used = tokens_used + ?, cost_usd = cost_usd + ?"
                " WHERE id = ?",
                (tokens, cost_usd, session_id),
            )

    async def archive(self, session_id: SessionId) -> None:
        """Put the session away; nothing of it is deleted."""
        await self._set_archived(session_id, 1)

    async def unarchive(self, session_id: SessionId) -> None:
        """Take the session back."""
        await self._set_archived(session_id, 0)

    async def delete(self, session_id: SessionId) -> None:
        """Remove the session with its tags, contexts and turns.

        Raises SessionNotFound, and SessionBusy while a turn of it runs.
        """
        async with self._changed(session_id) as cx:
            running = await cx.execute_fetchall(
                "SELECT id FROM turns WHERE session_id = ? AND state = 'running'", (session_id,)
            )
            if list(running):
                raise SessionBusy(
                    "a turn of this session is running", where=session_id, remedy="abort it first"
                )
            await cx.execute("DELETE FROM sessions WHERE id = ?", (session_id,))

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


async def _require(cx: aiosqlite.Connection, session_id: SessionId) -> SessionRow:
    rows = await cx.execute_fetchall("SELECT * FROM sessions WHERE id = ?", (session_id,))
    for row in rows:
        return parse_row(dict(row))
    raise _not_found(session_id)


def _not_found(session_id: SessionId) -> SessionNotFound:
    return SessionNotFound("no session has this id", where=session_id)


def _metadata(metadata: Mapping[str, Any]) -> str | None:
    return json_line.dump(dict(metadata)).decode() if metadata else None


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
