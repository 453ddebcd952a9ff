import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from supervisor.errors import ConfigurationError, DatabaseTooNew
from supervisor.storage.database import Database
from supervisor.storage.migrate import Step, load_steps, migrate, split_statements

FIRST = Step(1, "first", ("CREATE TABLE t (a TEXT)", "INSERT INTO t VALUES ('one')"))
SECOND = Step(2, "second", ("ALTER TABLE t ADD COLUMN b TEXT", "UPDATE t SET b = 'two'"))


def bring(path: Path, *steps: Step) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as cx:
        migrate(cx, path, steps)


def query(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as cx:
        return cx.execute(sql).fetchall()


def test_a_new_file_gets_all_steps_and_no_backup(tmp_path: Path) -> None:
    bring(tmp_path / "x.db", FIRST, SECOND)
    assert query(tmp_path / "x.db", "SELECT * FROM t") == [("one", "two")]
    assert query(tmp_path / "x.db", "SELECT version FROM schema_version") == [(1,), (2,)]
    assert [path.name for path in tmp_path.iterdir()] == ["x.db"]


def test_a_new_file_gets_them_all_at_once_or_none(tmp_path: Path) -> None:
    broken = Step(2, "broken", (*SECOND.statements, "INSERT INTO nowhere VALUES (1)"))
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        bring(tmp_path / "x.db", FIRST, broken)
    assert query(tmp_path / "x.db", "SELECT * FROM sqlite_schema") == []
    bring(tmp_path / "x.db", FIRST, SECOND)
    assert query(tmp_path / "x.db", "SELECT * FROM t") == [("one", "two")]


def test_an_existing_file_is_backed_up_before_it_migrates(tmp_path: Path) -> None:
    bring(tmp_path / "x.db", FIRST)
    bring(tmp_path / "x.db", FIRST, SECOND)
    backup = tmp_path / "x.db.v1.bak"
    assert query(backup, "SELECT * FROM t") == [("one",)]
    assert backup.stat().st_mode & 0o777 == 0o600
    assert query(tmp_path / "x.db", "SELECT * FROM t") == [("one", "two")]


def test_nothing_to_do_does_nothing(tmp_path: Path) -> None:
    bring(tmp_path / "x.db", FIRST)
    before = (tmp_path / "x.db").read_bytes()
    bring(tmp_path / "x.db", FIRST)
    assert (tmp_path / "x.db").read_bytes() == before


def test_a_step_that_fails_leaves_the_version_before_it(tmp_path: Path) -> None:
    broken = Step(2, "broken", (*SECOND.statements, "INSERT INTO nowhere VALUES (1)"))
    bring(tmp_path / "x.db", FIRST)
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        bring(tmp_path / "x.db", FIRST, broken)
    assert query(tmp_path / "x.db", "SELECT * FROM t") == [("one",)]
    bring(tmp_path / "x.db", FIRST, SECOND)
    assert query(tmp_path / "x.db", "SELECT * FROM t") == [("one", "two")]


def test_a_step_that_would_orphan_rows_is_rolled_back(tmp_path: Path) -> None:
    parent = Step(
        1,
        "parent",
        (
            "CREATE TABLE p (id INTEGER PRIMARY KEY)",
            "CREATE TABLE c (p INTEGER REFERENCES p (id))",
            "INSERT INTO p VALUES (1)",
            "INSERT INTO c VALUES (1)",
        ),
    )
    bring(tmp_path / "x.db", parent)
    with pytest.raises(ConfigurationError, match="without its parent"):
        bring(tmp_path / "x.db", parent, Step(2, "orphan", ("DELETE FROM p",)))
    assert query(tmp_path / "x.db", "SELECT * FROM p") == [(1,)]


async def test_a_newer_database_is_refused_with_both_versions_and_untouched(
    tmp_path: Path,
) -> None:
    path = tmp_path / "sessions.db"
    async with Database(path) as db, db.write() as cx:
        await cx.execute("INSERT INTO schema_version VALUES (99, '')")
    known = load_steps("sessions")[-1].version
    before = path.read_bytes()
    with pytest.raises(DatabaseTooNew, match=f"99.*{known}"):
        async with Database(path):
            pass
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [None, 10])
async def test_a_database_that_is_not_ours_or_too_old_is_refused_and_untouched(
    tmp_path: Path, version: int | None
) -> None:
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as cx:
        cx.execute("CREATE TABLE sessions (id TEXT)")
        if version is not None:
            cx.execute("CREATE TABLE schema_version (version INTEGER, applied_at TEXT)")
            cx.execute("INSERT INTO schema_version VALUES (?, '')", (version,))
        cx.commit()
    before = path.read_bytes()
    with pytest.raises(ConfigurationError) as refusal:
        async with Database(path):
            pass
    assert refusal.value.remedy
    assert path.read_bytes() == before


def test_statements_end_where_sqlite_says_they_do() -> None:
    script = """-- a comment; with a semicolon
CREATE TABLE t (a TEXT DEFAULT ';');
CREATE TRIGGER r AFTER INSERT ON t BEGIN
    DELETE FROM t;
END;
-- the end
"""
    assert len(split_statements(script)) == 2
    with pytest.raises(ConfigurationError, match="within a statement"):
        split_statements("SELECT 1")


def test_our_steps_are_numbered_upwards() -> None:
    assert load_steps("sessions")[0].version == 13
    assert load_steps("events")[0].version == 1
