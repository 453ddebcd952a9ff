"""One SQLite file, open: one writer at a time, readers beside it. `opening.py` made it fit.

Waiting: writers of this process take turns, in the order in which they came, and each waits for the
others up to QUEUE_WAIT seconds: they are at work, and end. Of other processes nobody knows that: by
BUSY_WAIT seconds after it came, a writer has waited for them. Then StorageBusy is raised, and
nothing was written.
"""

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

import aiosqlite

from supervisor.errors import ConfigurationError
from supervisor.storage.adoption import Adoption, Home
from supervisor.storage.migrate import Schema
from supervisor.storage.opening import (
    BUSY_WAIT,
    AtHome,
    HardenedConnection,
    busy,
    prepare,
    translated_errors,
)

logger = logging.getLogger(__name__)

QUEUE_WAIT = 60.0
"""Seconds that a write waits for its turn among those of this process."""

T = TypeVar("T")

_PATIENCE_STEP_MS = 250

# The schema is known to be ours by now, and its triggers write an index of words, which SQLite
# before 3.44 lets only a trusted schema do.
_TRIGGERS_MAY = "PRAGMA trusted_schema = ON"


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

    def _arrive(self, settled: AtHome) -> None:
        try:
            settled.witness.opened(settled.database_id, self.path)
        except OSError as error:
            raise ConfigurationError(
                f"the data folder can't be written: {error.strerror}",
                where=error.filename,
                remedy="free some space, or mend the folder's owner and mode",
            ) from error

    def _leave(self, settled: AtHome) -> None:
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
            raise busy(self.path) from None
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
