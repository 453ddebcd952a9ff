"""Worlds with HTTP in them: an API on a real port of loopback, and the ways to talk to it raw."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

import uvicorn
from starlette.types import ASGIApp

from supervisor.api.connections import BoundedProtocol
from supervisor.api.stalled import let_go_of_stalled
from tests.worlds.waiting import A_WHILE
from trustfloor.finding import no_trust

PLAIN: Final = no_trust()
"""`verify` of a client that speaks no TLS. `httpx` would load the authorities of the whole web for
every client anew, a twentieth of a second each time."""


@dataclass(frozen=True)
class Listening:
    """A server of this test's own."""

    port: int
    server: uvicorn.Server

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextlib.asynccontextmanager
async def listening(app: ASGIApp, stalled_seconds: float | None = None) -> AsyncIterator[Listening]:
    """Serve the application on a free port, as `trustfloor serve` does, until the block ends.

    With `stalled_seconds`, readers that stand still for so long are let go; else none is.
    """
    with contextlib.closing(socket.socket()) as listener:
        if stalled_seconds is not None:
            let_go_of_stalled(listener, stalled_seconds)
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            app,
            http=BoundedProtocol,
            ws="none",
            lifespan="off",
            access_log=False,
            server_header=False,
            log_config=None,
            timeout_graceful_shutdown=1,
        )
        server = _Quiet(config)
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(server.serve([listener]))
            await server.up.wait()
            try:
                yield Listening(listener.getsockname()[1], server)
            finally:
                server.over.set()
                await serving


class _Quiet(uvicorn.Server):
    """Leaves the signals to the test runner, says when it listens, and ends as soon as it may.

    `uvicorn` looks each tenth of a second whether it is to end, and then waits another for what it
    has let go of.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up, self.over = asyncio.Event(), asyncio.Event()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self.over.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for each in [*self.servers, *(sockets or ())]:
            each.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        for _ in range(20):
            await asyncio.sleep(0.005)
            if not self.server_state.connections and not self.server_state.tasks:
                break

    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()


@dataclass(frozen=True)
class Answer:
    """What came back over a raw connection, up to its end."""

    status: int
    head: bytes
    body: bytes


async def status_of(port: int, request: bytes) -> int:
    """Send exactly these bytes; the status that is answered, whether or not the body ever ends."""
    return (await _exchange(port, request, whole=False)).status


async def speak(port: int, request: bytes) -> Answer:
    """Send exactly these bytes and read all that comes back, up to the connection's end."""
    return await _exchange(port, request, whole=True)


async def _exchange(port: int, request: bytes, *, whole: bool) -> Answer:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        await writer.drain()
        async with asyncio.timeout(A_WHILE):
            head = await reader.readuntil(b"\r\n\r\n")
            body = await reader.read() if whole else b""
    finally:
        writer.close()
    return Answer(int(head.split(b" ", 2)[1]), head, body)
