"""A SQLite file, made or found, checked and brought up to date before anybody works with it.

Below `database.py`, which keeps it open. What is found may be anybody's: no schema is trusted
before it is known to be ours.
"""

import logging
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from supervisor.errors import ConfigurationError, StorageBusy
from supervisor.storage.adoption import REMEDY, Adoption, Home, settle
from supervisor.storage.earlier import upgrade_earlier
from supervisor.storage.migrate import Schema, load_steps, migrate
from supervisor.storage.place import require_plain
from supervisor.storage.shape import require_our_shape
from supervisor.storage.witness import Sighting, Witness, sight

logger = logging.getLogger(__name__)

BUSY_WAIT = 5.0
"""Seconds that a write waits for other processes."""

_PAGE_SIZES: dict[Schema, int] = {"sessions": 4096, "events": 16384, "access": 4096}
"""Events reach 64 KB and more: larger pages, shorter chains of them."""

_REMEDIES = {
    sqlite3.SQLITE_FULL: "the disk is full: free some space",
    sqlite3.SQLITE_IOERR: "the disk reports errors: check the file system and the free space",
    sqlite3.SQLITE_CANTOPEN: "check that the folder exists and can be written",
    sqlite3.SQLITE_READONLY: "the file or its folder can't be written: check owner and mode",
    sqlite3.SQLITE_CORRUPT: "the file is damaged: restore a backup, or move it away",
    sqlite3.SQLITE_NOTADB: "the file isn't a SQLite database: name another, or move it away",
}


class HardenedConnection(sqlite3.Connection):
    """A connection to a file whose content is not to be trusted, in its schema above all."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        # A text that is no UTF-8 costs its own characters, not the whole answer.
        self.text_factory = partial(str, encoding="utf-8", errors="replace")
        self.execute("PRAGMA trusted_schema = OFF")
        self.execute("PRAGMA cell_size_check = ON")
        self.execute("PRAGMA secure_delete = ON")  # what is deleted is gone from the file as well
        defensive = getattr(sqlite3, "SQLITE_DBCONFIG_DEFENSIVE", None)
        if defensive is not None:  # Python 3.12 and later
            getattr(self, "setconfig")(defensive, True)  # noqa: B009  (unknown to 3.11's types)


@dataclass(frozen=True, slots=True)
class AtHome:
    """A database that is sealed as ours, and who remembers how it was left."""

    database_id: str
    adoption: Adoption | None
    witness: Witness


def prepare(
    path: Path, schema: Schema, wait: float = BUSY_WAIT, *, home: Home | None = None
) -> AtHome | None:
    """Make the file (mode 0600) if there is none, bring it up to date, and turn WAL on.

    Nothing in it is read before its schema is known to be ours. With a `home`, it is ours at the
    end, as `adoption.settle` says; None without one.
    """
    if home is not None:
        require_plain(path, home.vault)
    _make_private(path)
    seen = None if home is None else _sight(path)
    with (
        translated_errors(path),
        closing(
            sqlite3.connect(path, isolation_level=None, timeout=wait, factory=HardenedConnection)
        ) as cx,
    ):
        cx.execute(f"PRAGMA page_size = {_PAGE_SIZES[schema]}")  # counts for a file that is empty
        require_our_shape(cx, path, schema)
        if schema == "sessions":
            upgrade_earlier(cx, path)
        migrate(cx, path, load_steps(schema))
        at_home = None
        if home is not None and seen is not None:
            settled = settle(cx, path, home, seen)
            at_home = AtHome(settled.database_id, settled.adoption, Witness(home.data))
        _turn_wal_on(cx, path, time.monotonic() + wait)
    if at_home is not None and at_home.adoption is not None:
        logger.warning("%s: %s; %s", path, at_home.adoption.detail, REMEDY)
    return at_home


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's operational errors into ours; mistakes of the caller pass as they are."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise busy(path) from error
        if code in _REMEDIES:
            raise ConfigurationError(
                f"the database can't be used: {error}", where=str(path), remedy=_REMEDIES[code]
            ) from error
        raise


def busy(path: Path) -> StorageBusy:
    """What is raised where the file was in use for too long."""
    return StorageBusy(
        "another writer held the database for too long",
        where=str(path),
        remedy="try again; if it stays so, find the process that keeps the file locked",
    )


def _sight(path: Path) -> Sighting:
    try:
        return sight(path)
    except OSError as error:
        raise ConfigurationError(
            f"the database can't be read: {error.strerror}",
            where=str(path),
            remedy="check its owner and mode",
        ) from error


def _make_private(path: Path) -> None:
    if path.is_symlink():
        raise ConfigurationError(
            "the database is a link: what it leads to would be changed",
            where=str(path),
            remedy="move the link away, or name the file itself",
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            # By name: opening and closing the file here would drop SQLite's locks on it, if this
            # process has it open (POSIX locks go with any descriptor).
            if path.stat().st_mode & 0o077:
                path.chmod(0o600)
    except OSError as error:
        raise ConfigurationError(
            f"the database file can't be made private: {error.strerror}",
            where=str(path),
            remedy="check that the folder exists, is yours and can be written",
        ) from error


def _turn_wal_on(cx: sqlite3.Connection, path: Path, deadline: float) -> None:
    while True:
        try:
            (mode,) = cx.execute("PRAGMA journal_mode = WAL").fetchone()
            break
        except sqlite3.OperationalError as error:
            # The switch asks for the whole file and doesn't wait for it by itself.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    if mode != "wal":
        raise ConfigurationError(
            f"the file system allows no write-ahead log (journal mode stays {mode})",
            where=str(path),
            remedy="keep the database on a local disk",
        )
