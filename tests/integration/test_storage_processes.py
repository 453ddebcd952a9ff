"""Databases that other processes hold, share, or are killed on."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from supervisor.errors import StorageBusy
from supervisor.ids import new_session_id, new_turn_id
from supervisor.storage.database import Database
from supervisor.storage.migrate import load_steps
from supervisor.trust.levels import TrustLevel
from tests.worlds.earlier_database import earlier_database, rows_of
from tests.worlds.storage import (
    SESSION,
    TURN,
    child,
    event_log,
    session,
    stores,
    text,
    write_lock_held_elsewhere,
)


@pytest.mark.parametrize("earlier", [None, 8, 12])
def test_two_supervisors_that_start_at_once_migrate_once(
    tmp_path: Path, earlier: int | None
) -> None:
    code = """
import sys; from pathlib import Path; from supervisor.storage.opening import prepare
sys.stdin.readline(); prepare(Path(sys.argv[1]), "sessions")
"""
    path = tmp_path / "sessions.db"
    if earlier is not None:
        earlier_database(path, earlier)
    with child(code, str(path)) as one, child(code, str(path)) as two:
        for process in (one, two):
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        assert (one.wait(60), two.wait(60)) == (0, 0)
    rows = rows_of(path)
    assert (load_steps("sessions")[-1].version,) in rows["schema_version"]
    assert len(rows["sessions"]) == (0 if earlier is None else 30)


async def test_twenty_sessions_stream_while_another_process_holds_the_lock_for_three_seconds(
    tmp_path: Path,
) -> None:
    """Field report S14, the first half: nobody fails and nothing is lost."""
    async with stores(tmp_path) as at, event_log(tmp_path) as log:
        ids = [new_session_id() for _ in range(20)]
        for each in ids:
            await at.sessions.create_session(session(each))
        with closing(sqlite3.connect(at.db.path)) as long_reader:
            long_reader.execute("BEGIN")
            long_reader.execute("SELECT * FROM sessions").fetchone()
            with (
                write_lock_held_elsewhere(tmp_path / "sessions.db", "3"),
                write_lock_held_elsewhere(tmp_path / "events.db", "3"),
            ):

                async def turn(number: int) -> None:
                    turn_id = new_turn_id()
                    await at.turns.begin(turn_id, ids[number], TrustLevel.VAULT)
                    for _ in range(10):
                        await log.append(ids[number], turn_id, text())
                    await at.sessions.increment_message_count(ids[number])
                    assert await at.turns.end(turn_id, "done")

                await asyncio.gather(*(turn(number) for number in range(20)))
        assert await at.turns.running() == []
        for each in ids:
            latest = await at.turns.latest(each)
            assert latest is not None
            assert latest.state == "done"
            assert (await at.sessions.get_session(each)).message_count == 1
            assert await log.last_seq(each) == 10


async def test_a_lock_held_beyond_the_wait_is_busy_and_afterwards_all_goes_on(
    tmp_path: Path,
) -> None:
    """Field report S14, the second half."""
    async with stores(tmp_path, wait=0.5) as at:
        await at.sessions.create_session(session())
        await at.turns.begin(TURN, SESSION, TrustLevel.VAULT)
        with write_lock_held_elsewhere(at.db.path) as holder:
            with pytest.raises(StorageBusy) as refusal:
                await at.turns.end(TURN, "done")
            assert refusal.value.retryable
            assert (await at.sessions.get_session(SESSION)).id == SESSION
            holder.communicate("go\n")
        assert await at.turns.end(TURN, "done")


COUNT = """
import asyncio, sys; from pathlib import Path
from supervisor.ids import SessionId; from supervisor.storage.database import Database
from supervisor.storage.sessions import SessionStore

async def main():
    async with Database(Path(sys.argv[1])) as db:
        sys.stdin.readline()
        for _ in range(100):
            await SessionStore(db).increment_message_count(SessionId(sys.argv[2]))

asyncio.run(main())
"""


async def test_two_processes_that_count_messages_of_one_session_lose_none(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        path = str(at.db.path)
        with child(COUNT, path, SESSION) as one, child(COUNT, path, SESSION) as two:
            for process in (one, two):
                assert process.stdin is not None
                process.stdin.write("go\n")
                process.stdin.flush()
            ends = await asyncio.gather(*(asyncio.to_thread(each.wait, 60) for each in (one, two)))
            assert ends == [0, 0]
        assert (await at.sessions.get_session(SESSION)).message_count == 200


async def test_the_documented_wait_is_what_a_database_has(tmp_path: Path) -> None:
    async with Database(tmp_path / "x.db") as db, db.write() as cx:
        (row,) = await cx.execute_fetchall("PRAGMA busy_timeout")
        assert row[0] == 5000
