"""Answers a CLI's messages to servers behind the network, side by side, over its own frames.

Below `transport.py`, which hands the messages over; the servers themselves are `FarServers`.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from supervisor.errors import TurnFailed
from supervisor.runtimes.contract import FarServers
from supervisor.runtimes.translate import CONNECTION_FAILED

CALLS_HELD: Final = 16
"""Calls of tools that are under way or whose answer isn't taken yet; more wait."""

_NO_ANSWER: Final[Mapping[str, Any]] = {"jsonrpc": "2.0", "result": {}}
"""What the CLI is sent for a message that asks for no answer."""


class FarTalk:
    """What is under way between one CLI and its far servers. How many at once, the wire bounds."""

    def __init__(
        self,
        servers: FarServers,
        write: Callable[[str], Awaitable[None]],
        warn: Callable[[str, str], Awaitable[None]],
    ) -> None:
        self._servers = servers
        self._write = write
        self._warn = warn
        self._tasks: set[asyncio.Task[None]] = set()
        self._by_id: dict[str, asyncio.Task[None]] = {}
        self._calls = asyncio.Semaphore(CALLS_HELD)
        self._writing = asyncio.Lock()
        self._closed = False
        self.told: set[str] = set()
        """The servers of which it was told why they can't be used."""

    def begin(self, request_id: str, server: str, message: Mapping[str, Any]) -> None:
        """Have one message answered."""
        if self._closed:
            return
        task = asyncio.create_task(self._answer(request_id, server, message))
        self._tasks.add(task)
        self._by_id[request_id] = task

        def done(_: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            # After a cancellation the id may be another's by now.
            if self._by_id.get(request_id) is task:
                del self._by_id[request_id]

        task.add_done_callback(done)

    def cancel(self, request_id: str) -> None:
        """Stop what the CLI doesn't wait for any more."""
        task = self._by_id.get(request_id)
        if task is not None:
            task.cancel()

    async def close(self) -> None:
        """Stop everything; afterwards nothing is written any more."""
        self._closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _answer(self, request_id: str, server: str, message: Mapping[str, Any]) -> None:
        if message.get("method") != "tools/call":
            await self._answered(request_id, server, message)
            return
        async with self._calls:  # what was answered is held until the process has taken it
            await self._answered(request_id, server, message)

    async def _answered(self, request_id: str, server: str, message: Mapping[str, Any]) -> None:
        answered = await self._servers.answer(server, message)
        if answered.trouble is not None:
            # Before the reply: after it the process says that the server failed, without a why.
            self.told.add(server)
            await self._warn(CONNECTION_FAILED, answered.trouble)
        reply = _NO_ANSWER if answered.reply is None else answered.reply
        response = {
            "subtype": "success",
            "request_id": request_id,
            "response": {"mcp_response": reply},
        }
        try:
            async with self._writing:  # one line at a time in memory, if the process doesn't read
                line = json.dumps({"type": "control_response", "response": response})
                await self._write(line + "\n")
        except (TurnFailed, OSError):
            return  # The process is gone, and the turn learns of it where its output ends.
