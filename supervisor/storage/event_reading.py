"""Stored events read in ranges: of a session by its numbers, or over all sessions.

`event_rows.py` writes and prunes them.
"""

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from supervisor.ids import SessionId, TurnId
from supervisor.storage.database import Database
from supervisor.storage.event_rows import EventRecord


class Extent(NamedTuple):
    """Which numbers of a session are stored, both included; first > last when none are."""

    first: int
    last: int


class Numbered(NamedTuple):
    """A stored event with its number among those of all sessions."""

    number: int
    record: EventRecord


class Numbers(NamedTuple):
    """The last number given, and the last below which events may have been pruned."""

    last: int
    pruned: int


async def numbers(db: Database) -> Numbers:
    """How far the numbers of all sessions' events go."""
    row = await db.row("SELECT last_number, pruned_number FROM event_totals")
    return Numbers(0, 0) if row is None else Numbers(*row)


class Wanted(NamedTuple):
    """Events of these types, of all sessions or one, numbered above `after`, up to `through`.

    The first of them: up to `limit`, and one or as many as fit `max_bytes`.
    """

    after: int
    through: int
    types: Sequence[str]
    session_id: SessionId | None = None
    limit: int = 500
    max_bytes: int = 8 << 20


async def over_all(db: Database, wanted: Wanted) -> list[Numbered]:
    """The events that are wanted, in the order of their numbers."""
    marks = ", ".join("?" * len(wanted.types))
    one = () if wanted.session_id is None else (wanted.session_id,)
    of_session = " AND session_id = ?" * len(one)
    which = f"FROM events WHERE rowid > ? AND rowid <= ? AND type IN ({marks}){of_session}"
    given = (*wanted.types, *one)
    sizes = await db.rows(
        f"SELECT rowid, length(data) {which} ORDER BY rowid LIMIT ?",
        (wanted.after, wanted.through, *given, wanted.limit),
    )
    if not sizes:
        return []
    rows = await db.rows(
        f"SELECT rowid, session_id, turn_id, seq, type, ts, data {which} ORDER BY rowid",
        (wanted.after, _fitting(sizes, wanted.max_bytes), *given),
    )
    return [Numbered(number, EventRecord(*rest)) for number, *rest in rows]


def _fitting(sizes: Sequence[sqlite3.Row], max_bytes: int) -> int:
    """The last number of those, of (number, bytes), that fit together; the first one does."""
    taken, through = 0, 0
    for number, size in sizes:
        if taken and taken + size > max_bytes:
            break
        taken += size
        through = number
    return through


async def extent(db: Database, session_id: SessionId) -> Extent:
    """The numbers that are stored of the session."""
    row = await db.row(
        "SELECT last_seq, (SELECT min(first_seq) FROM event_turns t"
        " WHERE t.session_id = s.session_id) AS first FROM event_sessions s WHERE session_id = ?",
        (session_id,),
    )
    if row is None:
        return Extent(1, 0)
    last = int(row["last_seq"])
    return Extent(last + 1 if row["first"] is None else int(row["first"]), last)


async def read(
    db: Database, session_id: SessionId, after: int, limit: int, max_bytes: int
) -> list[EventRecord]:
    """The stored events after that number: up to `limit`, and one or as many as fit `max_bytes`."""
    # The length of a blob is known from its row's header, so sizing touches none of the data.
    sizes = await db.rows(
        "SELECT seq, length(data) AS size FROM events WHERE session_id = ? AND seq > ?"
        " ORDER BY seq LIMIT ?",
        (session_id, after, limit),
    )
    if not sizes:
        return []
    rows = await db.rows(
        "SELECT session_id, turn_id, seq, type, ts, data FROM events"
        " WHERE session_id = ? AND seq > ? AND seq <= ? ORDER BY seq",
        (session_id, after, _fitting(sizes, max_bytes)),
    )
    return [EventRecord(*row) for row in rows]


async def first_seq(db: Database, session_id: SessionId, turn_id: TurnId) -> int | None:
    """The number of the turn's first event; None if none of it is stored."""
    row = await db.row(
        "SELECT first_seq FROM event_turns WHERE session_id = ? AND turn_id = ?",
        (session_id, turn_id),
    )
    return None if row is None else int(row["first_seq"])


async def of_types(db: Database, session_id: SessionId, types: Sequence[str]) -> list[EventRecord]:
    """The session's stored events of these types, in order."""
    marks = ", ".join("?" * len(types))
    sql = (
        "SELECT session_id, turn_id, seq, type, ts, data FROM events"  # noqa: S608 - question marks
        f" WHERE session_id = ? AND type IN ({marks}) ORDER BY seq"
    )
    rows = await db.rows(sql, (session_id, *types))
    return [EventRecord(*row) for row in rows]


async def has_asked(db: Database, request_id: str) -> bool:
    """Whether a stored event puts a request of this id to a person."""
    row = await db.row(
        "SELECT 1 FROM events WHERE type IN ('permission_request', 'user_question')"
        " AND instr(data, CAST(? AS BLOB)) LIMIT 1",
        (f'"{request_id}"',),
    )
    return row is not None
