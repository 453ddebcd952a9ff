"""Field report S15: a migration that is cut off anywhere, and what the next start makes of it."""

import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from supervisor.storage.migrate import apply_steps, load_steps
from supervisor.storage.opening import HardenedConnection
from tests.worlds.earlier_database import earlier_database, rows_of
from tests.worlds.storage import ROOT

NEWEST = load_steps("sessions")[-1].version


def our_database(path: Path, version: int) -> None:
    """A filled database of ours as it was at an older version."""
    with closing(sqlite3.connect(path, isolation_level=None)) as cx:
        steps = [step for step in load_steps("sessions") if step.version <= version]
        apply_steps(cx, path, steps)
        cx.execute("PRAGMA journal_mode = WAL")
        cx.executescript("""
            BEGIN;
            WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)
            INSERT INTO sessions (id, title, created_at, last_accessed, trust_level, workspace)
            SELECT 'id ' || i, 'title ' || i, '', '', 'vault', 'default' FROM n;
            INSERT INTO session_tags SELECT id, 'tag', '' FROM sessions;
            INSERT INTO turns SELECT 'turn ' || id, id, 'done', '', '', 'full', NULL FROM sessions;
            COMMIT;
        """)
        if version >= 15:
            cx.execute(
                "INSERT INTO chunks SELECT 'chunk:' || id || ':content:0', id, 'session',"
                " 'content', 0, 'words of ' || id, NULL, '' FROM sessions"
            )


def killed_everywhere(source: Path, folder: Path) -> int:
    """How many statements a start on this database takes.

    A copy on which it was killed after each of them, and which was opened again, is in the folder.
    """
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "tests.worlds.dying_migration", str(source), str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return int(done.stdout)


@pytest.fixture
def folder_in_memory(tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system that writes to no disk: a killed process loses nothing there."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="tf-", dir=memory) as folder:
        yield Path(folder)


def sound_rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path, factory=HardenedConnection)) as cx:
        assert cx.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert cx.execute("PRAGMA foreign_key_check").fetchall() == []
    return rows_of(path)


@pytest.mark.parametrize("start", [0, 8, 13, 15])
def test_a_start_killed_after_any_statement_leaves_a_database_that_opens_with_every_row(
    folder_in_memory: Path, start: int
) -> None:
    folder = folder_in_memory
    source = folder / "source.db"
    if start:
        (earlier_database if start < 13 else our_database)(source, start)
    statements = killed_everywhere(source, folder / "killed")
    steps = [step for step in load_steps("sessions") if step.version > start]
    assert statements > sum(len(step.statements) for step in steps)
    whole = sound_rows(folder / "killed" / f"{statements}.db")  # control: this one wasn't killed
    assert (NEWEST,) in whole["schema_version"]
    if start:
        assert len(whole["sessions"]) == (30 if start == 8 else 100)
        assert len(whole["session_tags"]) == len(whole["sessions"])
    for each in range(statements):
        assert sound_rows(folder / "killed" / f"{each}.db") == whole, each
