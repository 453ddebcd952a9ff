"""Whether a database holds what our own migrations make, and nothing besides.

A trigger, a view or an altered table of somebody else's would have its way with every row that we
write. So the schema is compared with a fresh one of the same version before any row is read.
"""

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from supervisor.errors import ConfigurationError
from supervisor.storage.migrate import Schema, apply_steps, current_version, load_steps

_Entry = tuple[str, str, str, str]
_TOKENS: Final = re.compile(
    r"""(?P<kept>'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\])"""
    r"|(?P<gap>(?:--[^\n]*(?:\n|\Z)|/\*.*?\*/|[ \t\n\f\r])+)|(?P<other>.)",
    re.DOTALL,
)
_NAMED_AT_MOST = 5


def require_our_shape(cx: sqlite3.Connection, path: Path, schema: Schema) -> None:
    """Raise ConfigurationError, naming what is there, unless the schema is ours at its version.

    Says nothing of a file without a schema and of versions we don't know: those are the
    migration's to judge.
    """
    # In one transaction: another process may migrate the file at this moment.
    cx.execute("BEGIN")
    try:
        found = _entries(cx)
        _require_plain_version(found, path)
        version = current_version(cx)
    finally:
        cx.execute("ROLLBACK")
    if not found:
        return
    steps = load_steps(schema)
    if not steps[0].version <= version <= steps[-1].version:
        return
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        apply_steps(fresh, path, [step for step in steps if step.version <= version])
        expected = _entries(fresh)
    surplus, missing = found - expected, expected - found
    if surplus or missing:
        raise _refused(path, _named(surplus) or f"lacks {_named(missing)}")


def _require_plain_version(found: set[_Entry], path: Path) -> None:
    """That table is read to learn what to compare with, so it has to be an ordinary one."""
    for kind, name, _, sql in found:
        if name.lower() == "schema_version" and not (
            kind == "table" and sql.lower().startswith("create table ")
        ):
            raise _refused(path, f"the {kind} {name!r}, which is no ordinary table")


def _entries(cx: sqlite3.Connection) -> set[_Entry]:
    # SQLite's own list of numbers given stays where a table that had such numbers is gone.
    rows = cx.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name <> 'sqlite_sequence'"
    )
    return {(str(kind), str(name), str(of), _plain(sql)) for kind, name, of, sql in rows}


def _plain(sql: object) -> str:
    """The statement without comments and with single spaces, so that only its meaning counts."""
    if not isinstance(sql, str):
        return "" if sql is None else repr(sql)
    parts = (" " if token["gap"] else token[0] for token in _TOKENS.finditer(sql))
    return "".join(parts).strip()


def _named(entries: set[_Entry]) -> str:
    names = sorted(f"the {kind} {name!r} on {of!r}" for kind, name, of, _ in entries)
    more = len(names) - _NAMED_AT_MOST
    return ", ".join(names[:_NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")


def _refused(path: Path, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"the database isn't as this program makes it: {what}",
        where=str(path),
        remedy=f"move it away ({path}, with -wal and -shm beside it) to start with an empty one;"
        " transcripts stay where they are",
    )
