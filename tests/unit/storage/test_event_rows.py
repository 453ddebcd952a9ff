import sqlite3
from functools import partial
from pathlib import Path

from supervisor.ids import SessionId, TurnId
from supervisor.storage import event_reading, event_rows
from supervisor.storage.database import Database
from supervisor.storage.event_reading import Extent
from supervisor.storage.event_rows import NewEvent, Retention
from tests.worlds.storage import OTHER, SESSION


def events(
    turn: str, count: int = 1, size: int = 1000, *, ended: bool = True, of: SessionId = SESSION
) -> list[NewEvent]:
    tail = b'"x":"' + b"x" * size + b'"}'
    return [
        NewEvent(of, TurnId(turn), "text", "t", tail, ended and number == count - 1)
        for number in range(count)
    ]


async def put(db: Database, batch: list[NewEvent], retention: Retention) -> list[int]:
    def work(cx: sqlite3.Connection) -> list[int]:
        return [record.seq for record in event_rows.append(cx, batch, retention)]

    return await db.transact(work)


async def stored(db: Database, session_id: SessionId = SESSION) -> list[tuple[str, int]]:
    rows = await db.rows(
        "SELECT turn_id, seq FROM events WHERE session_id = ? ORDER BY seq", (session_id,)
    )
    return [(row["turn_id"], row["seq"]) for row in rows]


async def accounts_agree(db: Database) -> bool:
    per_row = event_rows.ROW_OVERHEAD
    query = "SELECT coalesce(sum(length(data) + ?), 0) AS n FROM events"
    true = (await db.rows(query, (per_row,)))[0]["n"]
    counted = [
        (await db.rows(f"SELECT coalesce(sum(bytes), 0) AS n FROM {table}"))[0]["n"]  # noqa: S608
        for table in ("event_turns", "event_sessions", "event_totals")
    ]
    return counted == [true] * 3


async def test_the_oldest_turns_of_a_session_go_first_and_whole(tmp_path: Path) -> None:
    keep = Retention(session_bytes=5000)
    async with Database(tmp_path / "e.db", "events") as db:
        for turn in "abcd":
            await put(db, events(turn, 2), keep)
        assert await stored(db) == [("c", 5), ("c", 6), ("d", 7), ("d", 8)]
        assert await event_reading.extent(db, SESSION) == Extent(5, 8)
        assert await accounts_agree(db)


async def test_the_newest_turn_is_kept_however_large(tmp_path: Path) -> None:
    keep = Retention(session_bytes=100, total_bytes=100)
    async with Database(tmp_path / "e.db", "events") as db:
        for batch in ("a", "a", "b", "b", "b"):
            await put(db, events(batch, 3), keep)
        assert [seq for _, seq in await stored(db)] == list(range(7, 16))
        assert await accounts_agree(db)


async def test_the_total_spares_turns_that_run_and_takes_long_idle_sessions(
    tmp_path: Path,
) -> None:
    keep = Retention(total_bytes=2000)
    running, idle = SessionId("running"), SessionId("idle")
    async with Database(tmp_path / "e.db", "events") as db:
        await put(db, events("r", ended=False, of=running), keep)
        await put(db, events("i", of=idle), keep)
        for turn in "ab":
            await put(db, events(turn), keep)
        assert await stored(db, running) == [("r", 1)]
        assert await stored(db, idle) == []
        assert await stored(db) == [("b", 2)]
        assert await event_reading.extent(db, idle) == Extent(2, 1)
        assert await put(db, events("j", of=idle), keep) == [2]
        assert await accounts_agree(db)


async def test_what_comes_late_goes_with_the_turn_it_fell_into(tmp_path: Path) -> None:
    keep = Retention(session_bytes=2600)
    async with Database(tmp_path / "e.db", "events") as db:
        await put(db, [*events("a"), *events("b", ended=False), *events("a")], Retention())
        await put(db, events("c"), keep)
        assert await stored(db) == [("c", 4)]
        assert await accounts_agree(db)


async def test_forgotten_numbers_are_not_given_again(tmp_path: Path) -> None:
    async with Database(tmp_path / "e.db", "events") as db:
        await put(db, events("a", 3) + events("o", of=OTHER), Retention())
        await db.transact(partial(event_rows.forget, session_id=SESSION))
        assert await stored(db) == []
        assert await put(db, events("b"), Retention()) == [4]
        assert await stored(db, OTHER) == [("o", 1)]
        assert await accounts_agree(db)


async def test_a_read_is_bounded_in_count_and_bytes_and_gives_at_least_one(
    tmp_path: Path,
) -> None:
    async with Database(tmp_path / "e.db", "events") as db:
        await put(db, events("a", 5, size=10_000), Retention())

        async def seqs(after: int, limit: int, max_bytes: int) -> list[int]:
            read = await event_reading.read(db, SESSION, after, limit, max_bytes)
            return [record.seq for record in read]

        assert await seqs(0, 2, 1_000_000) == [1, 2]
        assert await seqs(1, 100, 25_000) == [2, 3]
        assert await seqs(0, 100, 1) == [1]
        assert await seqs(5, 100, 1) == []
