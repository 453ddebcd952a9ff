import asyncio
import sqlite3
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from supervisor.errors import ConfigurationError, StorageBusy
from supervisor.storage.database import Database
from tests.worlds.storage import write_lock_held_elsewhere

PUT = "INSERT INTO metadata (key, value, updated_at) VALUES (?, '', '')"


async def keys(db: Database) -> list[str]:
    return [row["key"] for row in await db.rows("SELECT key FROM metadata ORDER BY key")]


async def test_the_file_and_its_companions_are_private_and_parents_are_made(
    tmp_path: Path,
) -> None:
    async with Database(tmp_path / "a" / "b" / "sessions.db") as db, db.write() as cx:
        await cx.execute(PUT, ("k",))
    async with Database(tmp_path / "a" / "b" / "sessions.db") as db:
        async with db.write() as cx:
            await cx.execute(PUT, ("l",))
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in db.path.parent.iterdir()}
    assert set(modes) == {"sessions.db", "sessions.db-wal", "sessions.db-shm"}
    assert set(modes.values()) == {0o600}


async def test_a_file_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    path.touch(mode=0o644)
    async with Database(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_the_promised_pragmas_are_on(tmp_path: Path) -> None:
    async with Database(tmp_path / "x.db") as db:
        assert (await db.rows("PRAGMA journal_mode"))[0][0] == "wal"
        async with db.write() as cx:
            for pragma, value in (("foreign_keys", 1), ("synchronous", 1), ("busy_timeout", 5000)):
                rows = list(await cx.execute_fetchall(f"PRAGMA {pragma}"))
                assert rows[0][0] == value, pragma
        with pytest.raises(ConfigurationError, match="readonly"):
            await db.rows(PUT, ("k",))


async def fail_in_write(db: Database) -> None:
    async with db.write() as cx:
        await cx.execute(PUT, ("lost",))
        raise ZeroDivisionError


async def fail_in_transact(db: Database) -> None:
    def work(cx: sqlite3.Connection) -> None:
        cx.execute(PUT, ("lost",))
        raise ZeroDivisionError

    await db.transact(work)


@pytest.mark.parametrize("fail", [fail_in_write, fail_in_transact])
async def test_a_unit_that_fails_leaves_nothing(
    tmp_path: Path, fail: Callable[[Database], Awaitable[None]]
) -> None:
    async with Database(tmp_path / "x.db") as db:
        with pytest.raises(ZeroDivisionError):
            await fail(db)
        async with db.write() as cx:
            await cx.execute(PUT, ("kept",))
        assert await keys(db) == ["kept"]


async def test_units_of_one_process_take_turns(tmp_path: Path) -> None:
    async with Database(tmp_path / "x.db") as db:

        async def unit(number: int) -> None:
            async with db.write() as cx:
                await cx.execute(PUT, (f"{number:02}a",))
                await asyncio.sleep(0)
                await cx.execute(PUT, (f"{number:02}b",))

        def whole(cx: sqlite3.Connection) -> None:
            cx.execute(PUT, ("transact",))

        await asyncio.gather(*(unit(number) for number in range(20)), db.transact(whole))
        assert len(await keys(db)) == 41


async def test_a_reader_sees_what_is_committed_and_no_more(tmp_path: Path) -> None:
    async with Database(tmp_path / "x.db") as db:
        async with db.write() as cx:
            await cx.execute(PUT, ("k",))
            assert await keys(db) == []
        assert await keys(db) == ["k"]


async def test_a_cancelled_unit_is_rolled_back_and_the_next_one_works(tmp_path: Path) -> None:
    async with Database(tmp_path / "x.db") as db:
        inside = asyncio.Event()

        async def unit() -> None:
            async with db.write() as cx:
                await cx.execute(PUT, ("lost",))
                inside.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(unit())
        await inside.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with db.write() as cx:
            await cx.execute(PUT, ("kept",))
        assert await keys(db) == ["kept"]


async def test_a_lock_held_elsewhere_beyond_the_wait_is_busy_for_all_who_wait(
    tmp_path: Path,
) -> None:
    async with Database(tmp_path / "x.db", wait=0.5) as db:

        async def put(key: str) -> None:
            async with db.write() as cx:
                await cx.execute(PUT, (key,))

        with write_lock_held_elsewhere(db.path) as holder:
            outcomes = await asyncio.gather(
                *(put(str(number)) for number in range(5)),
                db.transact(lambda cx: cx.execute(PUT, ("t",))),
                return_exceptions=True,
            )
            assert [type(outcome) for outcome in outcomes] == [StorageBusy] * 6
            holder.communicate("go\n")
        await put("after")
        assert await keys(db) == ["after"]


async def test_a_writer_waits_for_the_others_of_its_process_as_long_as_they_work(
    tmp_path: Path,
) -> None:
    async with Database(tmp_path / "x.db", wait=0.05) as db:
        order: list[str] = []

        async def put(key: str) -> None:
            async with db.write() as cx:
                await cx.execute(PUT, (key,))
                order.append(key)

        async with db.write() as cx:
            await cx.execute(PUT, ("first",))
            waiting = [asyncio.create_task(put(str(number))) for number in range(5)]
            unit = asyncio.create_task(db.transact(lambda cx: cx.execute(PUT, ("t",))))
            await asyncio.sleep(0.3)  # longer than another process is waited for
        await asyncio.gather(*waiting, unit)
        assert order == [str(number) for number in range(5)]
        assert await keys(db) == sorted(["first", *order, "t"])


async def test_a_cancellation_while_waiting_for_the_lock_leaves_no_open_unit(
    tmp_path: Path,
) -> None:
    async with Database(tmp_path / "x.db", wait=5) as db:
        with write_lock_held_elsewhere(db.path) as holder:
            task = asyncio.create_task(db.write().__aenter__())
            await asyncio.sleep(0)
            task.cancel()
            holder.communicate("go\n")
            with pytest.raises(asyncio.CancelledError):
                await task
        async with db.write() as cx:
            await cx.execute(PUT, ("after",))
        assert await keys(db) == ["after"]


@pytest.mark.parametrize("damage", ["not a database, by far" * 100, None])
async def test_a_file_that_cannot_be_used_is_refused_with_a_remedy(
    tmp_path: Path, damage: str | None
) -> None:
    path = tmp_path / "x.db"
    if damage is None:
        path.mkdir()
    else:
        path.write_text(damage)
    with pytest.raises(ConfigurationError) as refusal:
        async with Database(path):
            pass
    assert refusal.value.where == str(path)
    assert refusal.value.remedy


async def test_a_full_disk_is_told_with_a_remedy_and_the_database_stays_usable(
    tmp_path: Path,
) -> None:
    async with Database(tmp_path / "x.db") as db:
        big = "x" * 1_000_000
        async with db.write() as cx:
            await cx.execute("PRAGMA max_page_count = 60")
        with pytest.raises(ConfigurationError, match="full") as refusal:
            async with db.write() as cx:
                await cx.execute(PUT, (big,))
        assert refusal.value.remedy is not None
        async with db.write() as cx:
            await cx.execute(PUT, ("small",))
        assert await keys(db) == ["small"]
