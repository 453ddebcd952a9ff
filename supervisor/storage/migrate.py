"""Brings a database file to the version this program knows: forward only, a transaction a step.

A new file takes one transaction in all.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from supervisor.errors import ConfigurationError, DatabaseTooNew
from supervisor.storage.timestamp import SystemClock, to_text
from supervisor.storage.unit import whole

Schema = Literal["sessions", "events", "access"]

_FOLDER = Path(__file__).parent / "migrations"
_NAME = re.compile(r"(?P<line>[a-z]+)_(?P<version>\d{4})_(?P<title>[a-z0-9_]+)\.sql\Z")
VERSION_TABLE = (
    "CREATE TABLE IF NOT EXISTS schema_version"
    " (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)"
)


@dataclass(frozen=True, slots=True)
class Step:
    """One migration: the statements that lead to `version`."""

    version: int
    title: str
    statements: tuple[str, ...]


@cache
def load_steps(line: str, folder: Path = _FOLDER) -> tuple[Step, ...]:
    """The steps of a line in order, from the files `{line}_{version}_{title}.sql`.

    Each schema is a line of its own; `earlier` leads from another program's files to ours.
    """
    steps = []
    for path in folder.iterdir():
        match = _NAME.match(path.name)
        if match is not None and match["line"] == line:
            statements = split_statements(path.read_text("utf-8"))
            steps.append(Step(int(match["version"]), match["title"], statements))
    return tuple(sorted(steps, key=lambda step: step.version))


def split_statements(script: str) -> tuple[str, ...]:
    """The script's statements; SQLite itself says where one ends (triggers hold semicolons)."""
    statements, pending = [], ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending.strip())
            pending = ""
    leftover = [line for line in pending.splitlines() if line and not line.startswith("--")]
    if leftover:
        raise ConfigurationError("a migration ends within a statement", where=leftover[0])
    return tuple(statements)


def current_version(cx: sqlite3.Connection) -> int:
    """The version a database is at; 0 means that no step was ever applied."""
    if not _has_table(cx, "schema_version"):
        return 0
    # Whatever a file from elsewhere says there: text sorts above all numbers, and is none.
    (version,) = cx.execute(
        "SELECT coalesce(max(version), 0) FROM schema_version WHERE typeof(version) = 'integer'"
    ).fetchone()
    return int(version)


def migrate(cx: sqlite3.Connection, path: Path, steps: Sequence[Step]) -> None:
    """Apply what is missing, after a backup if there is something to lose.

    `cx` is in autocommit mode. Killed at any moment, the file is at the old version or at a later
    one, never between. Raises DatabaseTooNew, and ConfigurationError for a file that isn't ours
    or older than the first step; the file is untouched then.
    """
    version, newest = current_version(cx), steps[-1].version
    _require_ours(cx, path, version, steps)
    if version == newest:
        return
    if version:
        back_up(cx, path, version)
    apply_steps(cx, path, steps)


def apply_steps(cx: sqlite3.Connection, path: Path, steps: Sequence[Step]) -> None:
    """Apply those of the steps that are missing; `path` is for errors only.

    A database that holds nothing yet gets them all at once: each transaction more waits for the
    disk several times.
    """
    cx.execute("PRAGMA foreign_keys = OFF")  # has no effect inside a transaction
    for together in [[step] for step in steps] if current_version(cx) else [steps]:
        with whole(cx):
            for step in together:
                _apply(cx, path, step)


def _require_ours(cx: sqlite3.Connection, path: Path, version: int, steps: Sequence[Step]) -> None:
    newest = steps[-1].version
    if version > newest:
        raise DatabaseTooNew(
            f"the database is at version {version}, this program knows up to {newest}",
            where=str(path),
            remedy="start the newer program, or restore the backup made before it migrated",
        )
    if version == 0 and cx.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
        raise ConfigurationError(
            "the file holds tables but no schema version: it isn't one of ours",
            where=str(path),
            remedy="name another file, or move this one away",
        )
    if 0 < version < steps[0].version:
        raise ConfigurationError(
            f"the database is at version {version}, older than any that can be upgraded",
            where=str(path),
            remedy="move the file away to start with an empty one",
        )


def _apply(cx: sqlite3.Connection, path: Path, step: Step) -> None:
    # Read again under the lock: another process may have come first.
    if current_version(cx) < step.version:
        cx.execute(VERSION_TABLE)
        for statement in step.statements:
            cx.execute(statement)
        require_no_orphans(cx, path, step.version)
        stamp(cx, step.version)


def stamp(cx: sqlite3.Connection, version: int) -> None:
    """Note in the caller's transaction that the database is at this version."""
    cx.execute(
        "INSERT OR IGNORE INTO schema_version (version, applied_at) VALUES (?, ?)",
        (version, to_text(SystemClock().now())),
    )


def require_no_orphans(cx: sqlite3.Connection, path: Path, version: int) -> None:
    """Raise ConfigurationError if a row lacks its parent, which `version` would leave so."""
    broken = cx.execute("PRAGMA foreign_key_check").fetchone()
    if broken is not None:
        raise ConfigurationError(
            f"version {version} would leave a row of {broken[0]} without its parent",
            where=str(path),
            remedy="report this; the file stays at its version",
        )


def back_up(
    cx: sqlite3.Connection,
    path: Path,
    version: int,
    version_of: Callable[[sqlite3.Connection], int | None] = current_version,
) -> None:
    """Copy to `{file}.v{version}.bak`; a half copy never carries that name.

    Under the write lock: of two processes one copies, and a file that the other one has migrated
    meanwhile, to which `version_of` gives another version, isn't copied.
    """
    target = path.with_name(f"{path.name}.v{version}.bak")
    partial = target.with_name(target.name + ".part")
    with whole(cx):
        if version_of(cx) != version:
            return
        partial.unlink(missing_ok=True)
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with (
            # Another one than that which holds the lock: a writer can't be copied from.
            closing(sqlite3.connect(path, isolation_level=None)) as source,
            closing(sqlite3.connect(partial, isolation_level=None)) as copy,
        ):
            source.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")  # a backup is one file
        with partial.open("rb") as copied:
            os.fsync(copied.fileno())
        partial.replace(target)


def _has_table(cx: sqlite3.Connection, name: str) -> bool:
    found = cx.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", (name,))
    return found.fetchone() is not None
