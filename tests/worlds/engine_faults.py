"""A world in which the engine fails in the ways engines do, behind a socket of the test's own."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from supervisor.variables import ENGINE_SOCKET


class FaultyEngine:
    """A relay in front of the real engine. One fault at a time; `mend` ends it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.silent = False
        """Accept, and never answer."""
        self.no_space = False
        """Answer each `create` as an engine whose disk is full does."""
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[object]] = set()

    async def mend(self) -> None:
        """Listen, and pass everything on."""
        self.silent = self.no_space = False
        if self._server is None:
            self._server = await asyncio.start_unix_server(self._serve, self.path)

    async def stop(self, *, leave_socket: bool = False) -> None:
        """Nobody listens; the file goes too, unless it is to be left as a crash leaves it."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
        serving = tuple(self._tasks)
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        if not leave_socket:
            self.path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        ends = [writer]
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(ENGINE_SOCKET)
            ends.append(far_writer)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass_on(reader, far_writer, back=writer))
                group.create_task(self._pass_on(far_reader, writer))
        except asyncio.CancelledError:
            pass  # this world ends; asyncio's streams would log it
        finally:
            for each in ends:
                each.transport.abort()
            self._tasks.discard(task)

    async def _pass_on(
        self,
        source: asyncio.StreamReader,
        sink: asyncio.StreamWriter,
        back: asyncio.StreamWriter | None = None,
    ) -> None:
        with suppress(OSError):
            while data := await source.read(1 << 16):
                if self.silent:
                    await asyncio.Event().wait()
                if back is not None and self.no_space and b"/containers/create" in data[:200]:
                    back.write(NO_SPACE)
                    await back.drain()
                    return
                sink.write(data)
                await sink.drain()
            if sink.can_write_eof():
                sink.write_eof()


_SAID = json.dumps(
    {"message": "mkdir /var/lib/docker/overlay2/x: no space left on device"}
).encode()
NO_SPACE = (
    b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\n"
    b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(_SAID), _SAID)
)


@asynccontextmanager
async def faulty_engine(path: Path) -> AsyncIterator[FaultyEngine]:
    """A relay at this path that works until it is told to fail."""
    engine = FaultyEngine(path)
    await engine.mend()
    try:
        yield engine
    finally:
        await engine.stop()
