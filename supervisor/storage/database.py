"""One SQLite file: opened safely, one writer at a time, readers beside it.

Waiting: writers of this process take turns, in the order in which they came, and each waits for the
others up to QUEUE_WAIT seconds: they are at work, and end. Of other processes nobody knows that: by
BUSY_WAIT seconds after it came, a writer has waited for them. Then StorageBusy is raised, and
nothing was written.
"""

import asyncio
import logging
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

import aiosqlite

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

QUEUE_WAIT = 60.0
"""Seconds that a write waits for its turn among those of this process."""

T = TypeVar("T")

_PATIENCE_STEP_MS = 250
_PAGE_SIZES: dict[Schema, int] = {"sessions": 4096, "events": 16384, "access": 4096}
"""Events reach 64 KB and more: larger pages, shorter chains of them."""

# The schema is known to be ours by now, and its triggers write an index of words, which SQLite
# before 3.44 lets only a trusted schema do.
_TRIGGERS_MAY = "PRAGMA trusted_schema = ON"

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


class Database:
    """A database file, open while the `async with` lasts; its schema is brought up to date first.

    With a `home` it has to be that data folder's own: any other is taken in at the strictest
    levels, and `adoption` says so.

    `write()` gives the one writing connection inside a transaction, `transact()` runs a whole unit
    in one go, `rows()` reads what is committed. Errors: StorageBusy (worth a retry),
    DatabaseTooNew, ConfigurationError.
    """

    def __init__(
        self,
        path: Path,
        schema: Schema = "sessions",
        *,
        wait: float = BUSY_WAIT,
        home: Home | None = None,
    ) -> None:
        self.path = path
        self.adoption: Adoption | None = None
        self._home = home
        self._schema = schema
        self._wait = wait
        self._patience = int(wait * 1000)
        self._turn = asyncio.Lock()
        self._open = AsyncExitStack()
        self._writer: aiosqlite.Connection
        self._reader: aiosqlite.Connection
        self._unit_thread: ThreadPoolExecutor
        self._unit_connection: sqlite3.Connection | None = None

    async def __aenter__(self) -> Self:
        settled = await asyncio.to_thread(
            prepare, self.path, self._schema, self._wait, home=self._home
        )
        async with AsyncExitStack() as stack:
            if settled is not None:
                # Runs last, when nothing of ours has the file open any more.
                stack.push_async_callback(asyncio.to_thread, self._leave, settled)
            with translated_errors(self.path):
                self._writer = await stack.enter_async_context(self._connect("writer"))
                self._reader = await stack.enter_async_context(self._connect("reader"))
                await self.rows("SELECT 1 FROM sqlite_schema")  # now the write-ahead log is there
            if settled is not None:
                self.adoption = settled.adoption
                await asyncio.to_thread(self._arrive, settled)
            self._unit_thread = ThreadPoolExecutor(1, thread_name_prefix="storage")
            stack.push_async_callback(self._close_units)
            self._open = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    @asynccontextmanager
    async def write(self) -> AsyncIterator[aiosqlite.Connection]:
        """A unit of writing: committed as a whole at the end of the block, or not at all.

        A cancellation that comes during the commit is held back until its outcome is certain.
        """
        deadline = await self._my_turn()
        try:
            with translated_errors(self.path):
                try:
                    await self._begin(deadline)
                    yield self._writer
                    await _to_the_end(self._writer.commit())
                except BaseException:
                    await _to_the_end(self._writer.rollback())
                    raise
        finally:
            self._turn.release()

    async def transact(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run `work` as a unit of writing, in a thread: committed as a whole, or not at all.

        For units of many statements: `write()` changes threads for each one, which costs more
        than the statement (measured on two busy cores: about 2.3 ms against 0.6 to 1 ms an event).
        """
        deadline = await self._my_turn()
        try:
            with translated_errors(self.path):
                running = asyncio.get_running_loop().run_in_executor(
                    self._unit_thread, self._run_unit, work, self._left(deadline)
                )
                return await _to_the_end(running)
        finally:
            self._turn.release()

    async def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """All rows of a query, as of the last commit."""
        with translated_errors(self.path):
            return list(await self._reader.execute_fetchall(sql, parameters))

    async def row(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Row | None:
        """The first row of a query, or None."""
        return next(iter(await self.rows(sql, parameters)), None)

    def _arrive(self, settled: "_AtHome") -> None:
        try:
            settled.witness.opened(settled.database_id, self.path)
        except OSError as error:
            raise ConfigurationError(
                f"the data folder can't be written: {error.strerror}",
                where=error.filename,
                remedy="free some space, or mend the folder's owner and mode",
            ) from error

    def _leave(self, settled: "_AtHome") -> None:
        try:
            settled.witness.closed(settled.database_id, self.path)
        except OSError as error:
            # The next start finds a database that isn't known to be as we left it.
            logger.warning("how %s was left could not be noted: %s", self.path, error)

    async def _my_turn(self) -> float:
        """Wait for it; until when, in the loop's time, other processes are waited for."""
        deadline = asyncio.get_running_loop().time() + self._wait
        try:
            async with asyncio.timeout(QUEUE_WAIT):
                await self._turn.acquire()
        except TimeoutError:
            raise _busy(self.path) from None
        return deadline

    def _left(self, deadline: float) -> int:
        left = (deadline - asyncio.get_running_loop().time()) * 1000
        # One step at least: whoever stood in line for long isn't turned away by a moment's lock.
        return max(1, -(-int(left) // _PATIENCE_STEP_MS)) * _PATIENCE_STEP_MS

    def _run_unit(self, work: Callable[[sqlite3.Connection], T], patience: int) -> T:
        if self._unit_connection is None:
            self._unit_connection = sqlite3.connect(
                self.path, isolation_level=None, factory=HardenedConnection
            )
            self._unit_connection.row_factory = sqlite3.Row
            self._unit_connection.execute("PRAGMA foreign_keys = ON")
            self._unit_connection.execute("PRAGMA synchronous = NORMAL")
            self._unit_connection.execute(_TRIGGERS_MAY)
        cx = self._unit_connection
        cx.execute(f"PRAGMA busy_timeout = {patience}")
        cx.execute("BEGIN IMMEDIATE")
        try:
            result = work(cx)
            cx.commit()
        except BaseException:
            cx.rollback()
            raise
        return result

    async def _close_units(self) -> None:
        def close() -> None:
            if self._unit_connection is not None:
                self._unit_connection.close()

        await asyncio.get_running_loop().run_in_executor(self._unit_thread, close)
        self._unit_thread.shutdown()

    async def _begin(self, deadline: float) -> None:
        patience = self._left(deadline)
        if patience != self._patience:
            await self._writer.execute(f"PRAGMA busy_timeout = {patience}")
            self._patience = patience
        # A reader that turns writer is refused at once whatever the timeout says (its snapshot is
        # stale), so the lock is taken before the first read.
        await self._writer.execute("BEGIN IMMEDIATE")

    @asynccontextmanager
    async def _connect(self, role: str) -> AsyncIterator[aiosqlite.Connection]:
        async with aiosqlite.connect(
            self.path, isolation_level=None, timeout=self._wait, factory=HardenedConnection
        ) as connection:
            connection.row_factory = sqlite3.Row
            await connection.execute("PRAGMA foreign_keys = ON")
            await connection.execute("PRAGMA synchronous = NORMAL")
            if role == "reader":
                await connection.execute("PRAGMA query_only = ON")
            else:
                await connection.execute(_TRIGGERS_MAY)
            yield connection


@dataclass(frozen=True, slots=True)
class _AtHome:
    """A database that is sealed as ours, and who remembers how it was left."""

    database_id: str
    adoption: Adoption | None
    witness: Witness


def prepare(
    path: Path, schema: Schema, wait: float = BUSY_WAIT, *, home: Home | None = None
) -> _AtHome | None:
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
            at_home = _AtHome(settled.database_id, settled.adoption, Witness(home.data))
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
            raise _busy(path) from error
        if code in _REMEDIES:
            raise ConfigurationError(
                f"the database can't be used: {error}", where=str(path), remedy=_REMEDIES[code]
            ) from error
        raise


def _busy(path: Path) -> StorageBusy:
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


async def _to_the_end(work: Awaitable[T]) -> T:
    """The outcome of the work; a cancellation on the way is held back until it is known."""
    task = asyncio.ensure_future(work)
    interruption: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            interruption = error
    result = task.result()
    if interruption is not None:
        raise interruption
    return result
