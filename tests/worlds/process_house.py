"""A world with a supervisor in a process of its own, to be killed and started again.

All its folders stay between two starts, its runtime folder too: what a killed one leaves behind is
there to be found.
"""

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from supervisor.ids import InstanceId
from supervisor.runtimes.container.engine import Engine
from tests.worlds.forked import Forked, trustfloor
from tests.worlds.http import PLAIN
from tests.worlds.leftovers import Left, instance_in, left_of, nothing_left_of, processes_with
from tests.worlds.server import START_SECONDS, environment
from tests.worlds.strict_sse import Message, StrictParser
from tests.worlds.waiting import A_WHILE

SCENARIO = (
    "version: 1\ndirectives: true\nscripts:\n"
    "  - {name: hello, when: {always: true}, steps: [{text: Hello.}]}\n"
)

Told = dict[str, Any]
Wanted = Callable[[Told], bool]


@dataclass
class Stream:
    """A client that reads events, and what it has read: `messages` are the very bytes."""

    response: httpx.Response
    messages: list[Message] = field(default_factory=list)
    _parser: StrictParser = field(default_factory=StrictParser)
    _waiting: list[Message] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._pieces = self.response.aiter_raw()

    @property
    def session_id(self) -> str:
        return str(self.response.headers["trustfloor-session"])

    @property
    def events(self) -> list[Told]:
        return [json.loads(message.data) for message in self.messages]

    async def next(self) -> Told | None:
        """The next event; None once the stream has ended or the connection has broken."""
        while not self._waiting:
            try:
                piece = await anext(self._pieces, None)
            except httpx.TransportError:
                return None
            if piece is None:
                return None
            self._waiting += self._parser.feed(piece)
        self.messages.append(self._waiting.pop(0))
        event: Told = json.loads(self.messages[-1].data)
        return event

    async def until(self, wanted: Wanted) -> Told:
        """Read on to the event that is wanted."""
        async with asyncio.timeout(A_WHILE):
            while (event := await self.next()) is not None:
                if wanted(event):
                    return event
        raise AssertionError(f"the stream ended: {self.events}")

    async def rest(self) -> list[Told]:
        """Read to the end, or to where the connection broke; all that was read from the start."""
        async with asyncio.timeout(A_WHILE):
            while await self.next() is not None:
                pass
        return self.events


class ProcessHouse:
    """The folders of one supervisor, and the process that works on them at the moment."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.vault = root / "vault"
        self.data = root / "data"
        self.run = root / "run"
        self.url = ""
        self.process: Forked | asyncio.subprocess.Process | None = None

    @property
    def token(self) -> str:
        return (self.data / "token").read_text().strip()

    @property
    def instance(self) -> InstanceId:
        return instance_in(self.data)

    async def start(self, *, before: Sequence[str] = (), **settings: str) -> None:
        """Start `trustfloor serve`; `before` is a command that becomes it (setpriv, unshare)."""
        named = {f"TRUSTFLOOR_{name.upper()}": value for name, value in settings.items()}
        words = ("serve", "--port", "0", "--model", f"scripted:{self.root / 'scenario.yaml'}")
        own = {"TRUSTFLOOR_RUNTIME_DIR": str(self.run), "TRUSTFLOOR_SHUTDOWN_SECONDS": "0", **named}
        given = environment(self.root, own)
        process: Forked | asyncio.subprocess.Process
        if before:
            process = await asyncio.create_subprocess_exec(
                *(*before, sys.executable, "-m", "supervisor", *words),
                env=given,
                stdout=asyncio.subprocess.PIPE,
            )
        else:
            process = await trustfloor(*words, env=given)
        self.process = process
        assert process.stdout is not None
        line = ""
        async with asyncio.timeout(START_SECONDS):
            while not line.startswith("token in"):
                line = (await process.stdout.readline()).decode()
                assert line, f"the supervisor ended ({await process.wait()}) before it was up"
                if line.startswith("listening"):
                    self.url = line.split()[1]

    async def end(self, by: signal.Signals = signal.SIGKILL) -> int:
        """End the process by a signal; its exit status."""
        assert self.process is not None
        with suppress(ProcessLookupError):
            self.process.send_signal(by)
        async with asyncio.timeout(A_WHILE):
            return await self.process.wait()

    def client(self) -> httpx.AsyncClient:
        """A client with the token."""
        return httpx.AsyncClient(
            base_url=self.url,
            headers={"Authorization": f"Bearer {self.token}"},
            timeout=A_WHILE,
            trust_env=False,
            verify=PLAIN,
        )

    async def get(self, path: str) -> Told:
        async with self.client() as client:
            answer = await client.get(path)
            assert answer.status_code == 200, answer.text
            told: Told = answer.json()
            return told

    async def post(self, path: str, body: Told | None = None) -> httpx.Response:
        async with self.client() as client:
            return await client.post(path, json=body or {})

    async def grant(self, request: Mapping[str, Any]) -> httpx.Response:
        """Say yes to a permission request as it was told."""
        path = f"/api/permissions/{request['id']}/grant"
        return await self.post(path, {"contentHash": request["contentHash"]})

    @asynccontextmanager
    async def sent(self, message: str, **body: Any) -> AsyncIterator[Stream]:
        """Send a message (sandboxed, unless `body` says else) and read its turn."""
        asked = {"message": message, "trustLevel": "sandboxed", **body}
        async with (
            self.client() as client,
            client.stream("POST", "/api/chat/stream", json=asked) as response,
        ):
            assert response.status_code == 200, await response.aread()
            yield Stream(response)

    @asynccontextmanager
    async def joined(
        self, session_id: str, *, after: int = 0, until_done: bool = True
    ) -> AsyncIterator[Stream]:
        """Join a session's stream after an event; up to the next end of a turn, or for good."""
        path = f"/api/chat/session/{session_id}/stream?until={'done' if until_done else 'never'}"
        headers = {"Last-Event-ID": str(after)} if after else {}
        async with (
            self.client() as client,
            client.stream("GET", path, headers=headers) as response,
        ):
            assert response.status_code == 200, await response.aread()
            yield Stream(response)

    async def turn(self, message: str, **body: Any) -> list[Told]:
        """Send a message and read its whole turn."""
        async with self.sent(message, **body) as stream:
            return await stream.rest()

    def rows(self, session_id: str | None = None) -> list[Told]:
        """The stored turns, oldest first, as they stand in the database."""
        where, given = ("", ()) if session_id is None else (" WHERE session_id = ?", (session_id,))
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as db:
            db.row_factory = sqlite3.Row
            found = db.execute(f"SELECT * FROM turns{where} ORDER BY rowid", given)  # noqa: S608
            return [dict(row) for row in found]

    @property
    def database(self) -> Path:
        return self.vault / "Chat" / "sessions.db"

    async def a_container(self) -> None:
        """Wait until there is a container of this supervisor's."""
        async with asyncio.timeout(A_WHILE):
            while not (await self.left()).containers:
                await asyncio.sleep(0.02)

    async def left(self) -> Left:
        """What of this supervisor's exists on the machine now, whoever looks after it."""
        return await left_of(self.data, self.run)

    async def nothing_left(self) -> None:
        """Wait until nothing is left; fails with what is."""
        await nothing_left_of(self.data, self.run)


@asynccontextmanager
async def a_process_house() -> AsyncIterator[ProcessHouse]:
    """Folders for a supervisor with a small vault; its process, if one runs, is killed after."""
    root = Path(tempfile.mkdtemp(prefix="tf-", dir="/tmp"))
    house = ProcessHouse(root)
    try:
        (house.vault / "notes").mkdir(parents=True)
        (house.vault / "notes" / "today.md").write_text("Buy oat milk.\n")
        (house.vault / ".env").write_text("PASSWORD=CANARY-of-the-vault\n")
        (root / "scenario.yaml").write_text(SCENARIO)
        yield house
    finally:
        if house.process is not None:
            await house.end()
            await _clean(house)
        shutil.rmtree(root, ignore_errors=True)


async def _clean(house: ProcessHouse) -> None:
    """Remove what a killed one left, so that a test that fails leaves nothing either."""
    if not (house.data / "instance").exists():
        return
    async with Engine() as engine:
        for each in await engine.list_ours(house.instance):
            await engine.remove(each.id)
    for pid in processes_with(f"TRUSTFLOOR_INSTANCE={house.instance}"):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def is_a(*kinds: str) -> Wanted:
    """Whether an event is of one of these types."""
    return lambda event: event["type"] in kinds


def ended(event: Told) -> bool:
    """Whether an event ends a turn."""
    return event["type"] in {"done", "aborted", "error"}
