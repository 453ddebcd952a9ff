"""Databases that other processes hold, share, or are killed on."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from supervisor.errors import StorageBusy
from supervisor.ids import new_session_id, new_turn_id
from supervisor.storage.database import Database, prepare
from supervisor.storage.migrate import Step, load_steps, migrate
from supervisor.trust.levels import TrustLevel
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

MIGRATE_AND_DIE = """
import os, signal, sqlite3, sys
from pathlib import Path
from supervisor.storage.migrate import Step, load_steps, migrate

class Dying(sqlite3.Connection):
    left = int(sys.argv[2])
    def execute(self, *arguments):
        result = super().execute(*arguments)
        Dying.left -= 1
        if Dying.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

path = Path(sys.argv[1])
steps = load_steps("sessions")
if len(sys.argv) > 3:
    steps = (*steps, Step(9000, "later", tuple(sys.argv[3:])))
migrate(sqlite3.connect(path, isolation_level=None, factory=Dying), path, steps)
"""
LATER = (
    "ALTER TABLE sessions ADD COLUMN extra TEXT",
    "UPDATE sessions SET extra = title",
    "CREATE TABLE more (a TEXT)",
    "INSERT INTO more SELECT extra FROM sessions",
)


def version_and_titles(path: Path) -> tuple[int, list[str]]:
    with closing(sqlite3.connect(path)) as cx:
        tables = {name for (name,) in cx.execute("SELECT name FROM sqlite_schema")}
        if "schema_version" not in tables:
            assert tables == set()
            return 0, []
        (version,) = cx.execute("SELECT max(version) FROM schema_version").fetchone()
        assert ("more" in tables) == (version == 9000)
        titles = [title for (title,) in cx.execute("SELECT title FROM sessions ORDER BY title")]
    return version, titles


def killed_after(path: Path, statements: int, *later: str) -> bool:
    with child(MIGRATE_AND_DIE, str(path), str(statements), *later) as process:
        return process.wait(60) != 0


def test_a_first_migration_killed_after_any_statement_is_nothing_or_all(tmp_path: Path) -> None:
    statements = 0
    while True:
        statements += 1
        path = tmp_path / f"{statements}.db"
        if not killed_after(path, statements):
            break
        assert version_and_titles(path)[0] in {0, 13, 14, 15}  # each migration by itself
        prepare(path, "sessions")
        assert version_and_titles(path) == (15, [])
    assert statements > len(load_steps("sessions")[0].statements)


async def test_a_later_migration_killed_after_any_statement_keeps_every_row(
    tmp_path: Path,
) -> None:
    titles = [f"title {number:03}" for number in range(200)]
    async with stores(tmp_path) as at, at.db.write() as cx:
        await cx.executemany(
            "INSERT INTO sessions (id, title, created_at, last_accessed, trust_level, workspace)"
            " VALUES (?, ?, '', '', 'vault', 'default')",
            [(title, title) for title in titles],
        )
    whole = (tmp_path / "sessions.db").read_bytes()
    versions, statements = set(), 0
    while True:
        statements += 1
        path = tmp_path / f"{statements}.db"
        path.write_bytes(whole)
        killed = killed_after(path, statements, *LATER)
        version, found = version_and_titles(path)
        versions.add(version)
        assert found == titles
        with closing(sqlite3.connect(path, isolation_level=None)) as cx:
            migrate(cx, path, (*load_steps("sessions"), Step(9000, "later", LATER)))
        assert version_and_titles(path) == (9000, titles)
        backup = path.with_name(path.name + ".v15.bak")
        assert version_and_titles(backup) == (15, titles)
        if not killed:
            break
    assert versions == {15, 9000}
    assert statements > len(LATER)


def test_two_supervisors_that_start_at_once_migrate_once(tmp_path: Path) -> None:
    code = """
import sys; from pathlib import Path; from supervisor.storage.database import prepare
sys.stdin.readline(); prepare(Path(sys.argv[1]), "sessions")
"""
    path = tmp_path / "sessions.db"
    with child(code, str(path)) as one, child(code, str(path)) as two:
        for process in (one, two):
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        assert (one.wait(60), two.wait(60)) == (0, 0)
    assert version_and_titles(path) == (15, [])


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


async def test_the_documented_wait_is_what_a_database_has(tmp_path: Path) -> None:
    async with Database(tmp_path / "x.db") as db, db.write() as cx:
        (row,) = await cx.execute_fetchall("PRAGMA busy_timeout")
        assert row[0] == 5000
