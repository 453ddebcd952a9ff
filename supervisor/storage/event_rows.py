"""The events table: numbered per session, appended in batches, pruned by turns."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from supervisor.ids import SessionId, TurnId

ROW_OVERHEAD = 200
"""Bytes that a row takes besides its data, about: what retention counts for it."""

_TURNS_PRUNED_PER_APPEND = 16


class _Row(NamedTuple):
    session_id: SessionId
    turn_id: TurnId
    seq: int
    type: str
    ts: str
    data: bytes


class EventRecord(_Row):
    """One stored event. `data` is its final JSON, one line; `ts` is ISO 8601 in UTC."""

    is_shared = False
    """Whether several read this very record: what is made of it is worth keeping with it then."""
    framed: bytes | None = None
    """As it goes to clients, if it is shared and was sent to one."""


class NewEvent(NamedTuple):
    """An event before it has its number: `tail` is its JSON object without `{"seq":N,`."""

    session_id: SessionId
    turn_id: TurnId
    type: str
    ts: str
    tail: bytes
    terminal: bool


@dataclass(frozen=True, slots=True)
class Retention:
    """How much is kept: bytes in all and per session."""

    total_bytes: int = 2 << 30
    session_bytes: int = 128 << 20


def append(
    cx: sqlite3.Connection, events: Sequence[NewEvent], retention: Retention
) -> list[EventRecord]:
    """Number and store the events, in order; then prune what is beyond the bounds.

    Within a transaction (`Database.transact`), which makes numbers certain between processes too.
    """
    last_seqs = _last_seqs(cx, {event.session_id for event in events})
    records = []
    for event in events:
        seq = last_seqs[event.session_id] = last_seqs[event.session_id] + 1
        data = b'{"seq":%d,%b' % (seq, event.tail)
        records.append(
            EventRecord(event.session_id, event.turn_id, seq, event.type, event.ts, data)
        )
    number = _numbers(cx, len(records))
    cx.executemany(
        "INSERT INTO events (rowid, session_id, turn_id, seq, type, ts, data)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(number + at, *record) for at, record in enumerate(records)],
    )
    pairs = sorted(zip(records, events, strict=True), key=lambda pair: pair[0].session_id)
    for session_id, of_session in groupby(pairs, key=lambda pair: pair[0].session_id):
        session_bytes = 0
        for _, of_turn in groupby(of_session, key=lambda pair: pair[0].turn_id):
            session_bytes += _count(cx, list(of_turn))
        _add_to_session(cx, session_id, last_seqs[session_id], session_bytes)
        _prune_session(cx, session_id, retention.session_bytes)
    _prune_total(cx, retention.total_bytes)
    return records


def forget(cx: sqlite3.Connection, session_id: SessionId) -> None:
    """Remove all of the session's events; its numbers are not given again."""
    cx.execute("DELETE FROM events WHERE session_id = ?", (session_id,))
    cx.execute("DELETE FROM event_turns WHERE session_id = ?", (session_id,))
    cx.execute(
        "UPDATE event_totals SET bytes = bytes - coalesce("
        "(SELECT bytes FROM event_sessions WHERE session_id = ?), 0)",
        (session_id,),
    )
    cx.execute("UPDATE event_sessions SET bytes = 0 WHERE session_id = ?", (session_id,))


def _last_seqs(cx: sqlite3.Connection, session_ids: set[SessionId]) -> dict[SessionId, int]:
    marks = ", ".join("?" * len(session_ids))
    rows = cx.execute(
        f"SELECT session_id, last_seq FROM event_sessions WHERE session_id IN ({marks})",  # noqa: S608 - question marks
        tuple(session_ids),
    )
    return dict.fromkeys(session_ids, 0) | {row["session_id"]: row["last_seq"] for row in rows}


def _numbers(cx: sqlite3.Connection, count: int) -> int:
    """The first of so many numbers, which nobody else gets."""
    (last,) = cx.execute(
        "UPDATE event_totals SET last_number = last_number + ? RETURNING last_number", (count,)
    ).fetchone()
    return int(last) - count + 1


def _count(cx: sqlite3.Connection, run: list[tuple[EventRecord, NewEvent]]) -> int:
    """Add a run of one turn's events to its range; the bytes added.

    What comes late, after the session's next turn began, counts as that turn's: ranges of a
    session never overlap.
    """
    first, last = run[0][0], run[-1][0]
    size = sum(len(record.data) + ROW_OVERHEAD for record, _ in run)
    ended = any(event.terminal for _, event in run)
    known = cx.execute(
        "UPDATE event_turns SET last_seq = ?, bytes = bytes + ?,"
        " ended = max(ended, ? AND turn_id = ?)"
        " WHERE session_id = ? AND newest = 1 AND (turn_id = ? OR EXISTS (SELECT 1 FROM"
        " event_turns o WHERE o.session_id = ? AND o.newest = 0 AND o.turn_id = ?))",
        (
            last.seq,
            size,
            ended,
            first.turn_id,
            first.session_id,
            first.turn_id,
            first.session_id,
            first.turn_id,
        ),
    )
    if known.rowcount == 0:
        cx.execute(
            "UPDATE event_turns SET newest = 0 WHERE session_id = ? AND newest = 1",
            (first.session_id,),
        )
        cx.execute(
            "INSERT INTO event_turns (session_id, turn_id, first_seq, last_seq, bytes, newest,"
            " ended) VALUES (?, ?, ?, ?, ?, 1, ?)",
            (first.session_id, first.turn_id, first.seq, last.seq, size, ended),
        )
    return size


def _add_to_session(
    cx: sqlite3.Connection, session_id: SessionId, last_seq: int, size: int
) -> None:
    cx.execute(
        "INSERT INTO event_sessions (session_id, last_seq, bytes) VALUES (?, ?, ?)"
        " ON CONFLICT (session_id) DO UPDATE SET"
        " last_seq = excluded.last_seq, bytes = bytes + excluded.bytes",
        (session_id, last_seq, size),
    )
    cx.execute("UPDATE event_totals SET bytes = bytes + ?", (size,))


def _prune_session(cx: sqlite3.Connection, session_id: SessionId, bound: int) -> None:
    for _ in range(_TURNS_PRUNED_PER_APPEND):
        oldest = cx.execute(
            "SELECT t.* FROM event_turns t JOIN event_sessions s USING (session_id)"
            " WHERE t.session_id = ? AND s.bytes > ? AND t.newest = 0 ORDER BY t.ordinal LIMIT 1",
            (session_id, bound),
        )
        if not _drop(cx, list(oldest)):
            return


def _prune_total(cx: sqlite3.Connection, bound: int) -> None:
    """Oldest first, sparing each session's newest turn; then also those, of sessions long idle.

    A turn that hasn't ended, and the newest of all, are never pruned.
    """
    for _ in range(_TURNS_PRUNED_PER_APPEND):
        oldest = cx.execute(
            "SELECT * FROM (SELECT t.* FROM event_turns t, event_totals e"
            " WHERE e.bytes > ? AND newest = 0 ORDER BY ordinal LIMIT 1)"
            " UNION ALL SELECT * FROM (SELECT t.* FROM event_turns t, event_totals e"
            " WHERE e.bytes > ? AND newest = 1 AND ended = 1"
            " AND ordinal < (SELECT max(ordinal) FROM event_turns) ORDER BY ordinal LIMIT 1)"
            " LIMIT 1",
            (bound, bound),
        )
        if not _drop(cx, list(oldest)):
            return


def _drop(cx: sqlite3.Connection, turns: Sequence[sqlite3.Row]) -> bool:
    for turn in turns:
        cx.execute(
            "UPDATE event_totals SET pruned_number = max(pruned_number, coalesce((SELECT max(rowid)"
            " FROM events WHERE session_id = ? AND seq BETWEEN ? AND ?), 0))",
            (turn["session_id"], turn["first_seq"], turn["last_seq"]),
        )
        cx.execute(
            "DELETE FROM events WHERE session_id = ? AND seq BETWEEN ? AND ?",
            (turn["session_id"], turn["first_seq"], turn["last_seq"]),
        )
        cx.execute("DELETE FROM event_turns WHERE ordinal = ?", (turn["ordinal"],))
        cx.execute(
            "UPDATE event_sessions SET bytes = bytes - ? WHERE session_id = ?",
            (turn["bytes"], turn["session_id"]),
        )
        cx.execute("UPDATE event_totals SET bytes = bytes - ?", (turn["bytes"],))
    return bool(turns)
