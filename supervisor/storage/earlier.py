"""Takes over the session database of the earlier program: versions 8 to 12, then ours.

That program noted a version that says little (10, whatever had been done), and none before it. So
its files are known by what is in them, each step leaves alone what is there already, and at last
all rows move into tables of ours. Its files aren't trusted: anything but plain tables is refused.
"""

import logging
import re
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from supervisor.clock import Instant
from supervisor.errors import ConfigurationError
from supervisor.storage.migrate import (
    VERSION_TABLE,
    back_up,
    current_version,
    load_steps,
    require_no_orphans,
    stamp,
)
from supervisor.storage.timestamp import from_text, to_text
from supervisor.storage.unit import whole

logger = logging.getLogger(__name__)

FIRST: Final = 8
LAST: Final = 12
CARRIED_TO: Final = 15
"""Our version whose tables the rows move into; later steps of ours follow as for any file."""

_COLUMNS: Final = {
    "sessions": "id title module source working_directory model message_count archived created_at"
    " last_accessed continued_from metadata",
    "session_tags": "session_id tag created_at",
    "session_contexts": "session_id folder_path added_at",
    "metadata": "key value updated_at",
    "chunks": "id content_id content_type field chunk_index chunk_text embedding created_at",
    "index_manifest": "content_id content_type content_hash title indexed_at chunk_count"
    " source_path metadata",
    "pairing_requests": "id platform platform_user_id platform_user_display platform_chat_id"
    " status approved_trust_level created_at resolved_at resolved_by",
    "schema_version": "version applied_at",
    "curator_sessions": "",
    "curator_queue": "",
}
"""Its tables, each with the columns that are read of it."""

_STATISTICS: Final = ("sqlite_stat1", "sqlite_stat4")
_INTERNAL: Final = frozenset({"sqlite_sequence", *_STATISTICS})
_ADDS_COLUMN: Final = re.compile(r"ALTER TABLE (?P<table>\w+) ADD COLUMN (?P<column>\w+)")
_COMMENTS: Final = re.compile(r"^--[^\n]*\n", re.MULTILINE)


def upgrade_earlier(cx: sqlite3.Connection, path: Path) -> None:
    """Make an earlier program's file one of ours, after a backup; leave any other as it is.

    `cx` is in autocommit mode. Killed at any moment, the file is at some version with every row,
    and the next start goes on. Raises ConfigurationError for what isn't plainly such a file; it is
    untouched then.
    """
    version = _version(cx)
    if version is None:
        return
    _require_plain(cx, path)
    back_up(cx, path, version, _version)
    cx.execute("PRAGMA foreign_keys = OFF")  # has no effect inside a transaction
    cx.create_function("utc_text", 1, _utc_text, deterministic=True)
    steps = {step.version: step for step in load_steps("earlier")}
    for each in range(FIRST + 1, LAST + 1):
        with whole(cx):
            if _version(cx) is None:  # another process came first
                return
            cx.execute(VERSION_TABLE)
            _run(cx, steps[each].statements)
            stamp(cx, each)
    with whole(cx):
        if _version(cx) is None:
            return
        _carry_over(cx, steps[LAST + 1].statements, steps[CARRIED_TO].statements)
        require_no_orphans(cx, path, CARRIED_TO)
    logger.info("%s: taken over from version %d of the earlier program", path, version)


def _version(cx: sqlite3.Connection) -> int | None:
    """The version an earlier file says it is at, FIRST if it says nothing; None: it is none."""
    tables = _tables(cx)
    if "sessions" not in tables or "workspaces" in tables:
        return None
    if "schema_version" not in tables:
        wanted = set(_COLUMNS["sessions"].split())
        return FIRST if wanted <= _columns(cx, "sessions") else None
    version = current_version(cx)
    return version if FIRST <= version <= LAST else None


def _require_plain(cx: sqlite3.Connection, path: Path) -> None:
    entries = cx.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema").fetchall()
    for kind, name, of, sql in entries:
        plain_table = kind == "table" and str(sql).lower().startswith("create table")
        if not (kind == "index" or plain_table) or of not in {*_COLUMNS, *_INTERNAL}:
            raise _refused(path, f"the {kind} {name!r}")
    for table in _tables(cx) & _COLUMNS.keys():
        missing = set(_COLUMNS[table].split()) - _columns(cx, table)
        if missing:
            raise _refused(path, f"{table!r} without {', '.join(sorted(missing))}")


def _tables(cx: sqlite3.Connection) -> set[str]:
    return {name for (name,) in cx.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def _columns(cx: sqlite3.Connection, table: str) -> set[str]:
    """The table's ordinary columns: not those that are worked out when they are read."""
    rows = cx.execute(f"PRAGMA table_xinfo({table})")
    return {name for _, name, _, _, _, _, hidden in rows if not hidden}


def _run(cx: sqlite3.Connection, statements: Iterable[str]) -> None:
    for statement in statements:
        adds = _ADDS_COLUMN.match(_COMMENTS.sub("", statement).strip())
        if adds is None or adds["column"] not in _columns(cx, adds["table"]):
            cx.execute(statement)


def _carry_over(cx: sqlite3.Connection, before: Iterable[str], after: Iterable[str]) -> None:
    indexes = cx.execute("SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")
    for (name,) in indexes.fetchall():
        cx.execute('DROP INDEX "{}"'.format(name.replace('"', '""')))
    for table in _tables(cx) & set(_STATISTICS):
        cx.execute(f"DROP TABLE {table}")
    counted = _counts(cx)
    _run(cx, before)
    cx.execute(VERSION_TABLE)
    for step in load_steps("sessions"):
        if step.version <= CARRIED_TO:
            _run(cx, step.statements)
            stamp(cx, step.version)
    _run(cx, after)
    for table, rows in _counts(cx).items():
        lost = counted.get(table, 0) - rows
        if lost > 0:
            logger.warning("%d rows of %s are of no session, or damaged: left out", lost, table)


def _counts(cx: sqlite3.Connection) -> dict[str, int]:
    return {
        table: cx.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - our names
        for table in sorted(_tables(cx) & _COLUMNS.keys() - {"schema_version"})
    }


def _utc_text(stored: bytes | None) -> str | bytes | None:
    if stored is None:
        return None
    try:
        text = stored.decode()
    except UnicodeDecodeError:
        return stored
    try:
        return to_text(Instant(from_text(text).timestamp()))
    except (ValueError, OverflowError):
        return text


def _refused(path: Path, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"the database is none that can be taken over: it has {what}",
        where=str(path),
        remedy="move it away to start with an empty one; transcripts stay where they are",
    )
