"""Worlds of real database files: stores on a fresh file, and other processes that share it."""

import atexit
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import get_args

from supervisor.clock import Instant
from supervisor.events.log import EventLog
from supervisor.events.schema import DoneEvent, SessionResume, TextEvent
from supervisor.ids import SessionId, TurnId
from supervisor.storage.database import Database
from supervisor.storage.migrate import Schema
from supervisor.storage.opening import prepare
from supervisor.storage.session import SessionCreate
from supervisor.storage.sessions import SessionStore
from supervisor.storage.turns import TurnStore
from supervisor.storage.workspaces import WorkspaceStore
from supervisor.trust.levels import TrustLevel

ROOT = Path(__file__).parents[2]
SESSION = SessionId("00000000-0000-4000-8000-000000000001")
OTHER = SessionId("00000000-0000-4000-8000-000000000002")
TURN = TurnId("turn_1")


class TickingClock:
    """A clock that is one second later each time it is read."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._next = start

    def now(self) -> Instant:
        self._next += 1
        return Instant(self._next)


@dataclass(frozen=True)
class Stores:
    """The three stores on one database."""

    db: Database
    sessions: SessionStore
    turns: TurnStore
    workspaces: WorkspaceStore


def new_databases(folder: Path) -> None:
    """Put a new one of each schema there, if there is none: `sessions.db` and so on.

    They are copies: to make them would wait for the disk some twenty times.
    """
    for each in _made_once().iterdir():
        if not (folder / each.name).exists():
            shutil.copy(each, folder)


@cache
def _made_once() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tf-"))
    atexit.register(shutil.rmtree, folder)
    for schema in get_args(Schema):
        prepare(folder / f"{schema}.db", schema)
    return folder


@asynccontextmanager
async def stores(folder: Path, wait: float = 5.0) -> AsyncIterator[Stores]:
    """A fresh (or reopened) sessions.db in the folder; time moves a second at each step."""
    new_databases(folder)
    async with Database(folder / "sessions.db", wait=wait) as db:
        clock = TickingClock()
        yield Stores(db, SessionStore(db, clock), TurnStore(db, clock), WorkspaceStore(db, clock))


@asynccontextmanager
async def event_log(folder: Path) -> AsyncIterator[EventLog]:
    """An event log in the folder."""
    new_databases(folder)
    async with EventLog(folder / "events.db") as log:
        yield log


def session(session_id: SessionId = SESSION, level: TrustLevel = TrustLevel.VAULT) -> SessionCreate:
    """A session in the default workspace."""
    return SessionCreate(id=session_id, trust_level=level, workspace="default")


def text(words: str = "word") -> TextEvent:
    """A bit of an answer."""
    return TextEvent(delta=words)


def done(session_id: SessionId = SESSION) -> DoneEvent:
    """A turn's good end."""
    return DoneEvent(
        response="",
        session_id=session_id,
        working_directory="/",
        message_count=1,
        model=None,
        duration_ms=1,
        session_resume=SessionResume(method="new"),
    )


@contextmanager
def child(code: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Another process running this code, with pipes to it; it is gone after the block."""
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


HOLD_WRITE_LOCK = """
import sqlite3, sys, time
cx = sqlite3.connect(sys.argv[1], isolation_level=None)
cx.execute("BEGIN IMMEDIATE")
print("held", flush=True)
if len(sys.argv) > 2:
    time.sleep(float(sys.argv[2]))
else:
    sys.stdin.readline()
cx.execute("COMMIT")
cx.close()
print("free", flush=True)
"""


@contextmanager
def write_lock_held_elsewhere(path: Path, *seconds: str) -> Iterator["subprocess.Popen[str]"]:
    """Another process holds the database's write lock: till told by a line, or for some seconds."""
    with child(HOLD_WRITE_LOCK, str(path), *seconds) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder
