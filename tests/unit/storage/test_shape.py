import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from supervisor.errors import ConfigurationError
from supervisor.storage.opening import prepare
from supervisor.storage.shape import require_our_shape


def rewritten(path: Path, old: str, new: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as cx:
        cx.execute("PRAGMA writable_schema = ON")
        changed = cx.execute(
            "UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE instr(sql, ?)", (old, new, old)
        )
        assert changed.rowcount > 0


def judge(path: Path) -> None:
    with closing(sqlite3.connect(path)) as cx:
        require_our_shape(cx, path, "sessions")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("-- relative to the vault", "-- worded another way"),
        ("    id TEXT PRIMARY KEY", "\tid  TEXT\n PRIMARY /* the */ KEY"),
    ],
)
def test_a_comment_or_a_space_more_makes_no_difference(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "x.db"
    prepare(path, "sessions")
    rewritten(path, old, new)
    judge(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("('full', 'vault', 'sandboxed')", "('full', 'vault', ' sandboxed')"),
        ("tag TEXT NOT NULL", "tag TEXT NOT NULL DEFAULT '--'"),
        ("DEFAULT 'chat'", "DEFAULT (zeroblob(9))"),
        (" REFERENCES workspaces (slug) ON DELETE RESTRICT", ""),
        ("metadata TEXT", "metadata TEXT /* open"),
    ],
)
def test_any_other_word_does(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "x.db"
    prepare(path, "sessions")
    judge(path)
    rewritten(path, old, new)
    with pytest.raises((ConfigurationError, sqlite3.DatabaseError)):
        judge(path)


def test_the_schemas_of_both_databases_are_told_apart(tmp_path: Path) -> None:
    prepare(tmp_path / "e.db", "events")
    prepare(tmp_path / "e.db", "events")
    with pytest.raises(ConfigurationError):
        prepare(tmp_path / "e.db", "sessions")
