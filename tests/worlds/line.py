"""A world with a line between a client and a supervisor, which a test cuts in mid-word."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.worlds.serving import serving


@dataclass
class Line:
    """A port of loopback, `host`, that leads to wherever `to` says, unless it is cut."""

    host: str = ""
    to: Callable[[], str] | None = None
    """The address of the server that it leads to, at the time."""
    asked: list[bytes] = field(default_factory=list)
    """What clients have said, by connection."""
    is_cut: bool = False
    _marker: bytes | None = None
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    @property
    def url(self) -> str:
        """Its own address."""
        return f"http://{self.host}"

    def cut(self) -> None:
        """Break all connections, and take no more until it is mended."""
        self.is_cut = True
        for writer in self._open:
            writer.transport.abort()

    def cut_within(self, marker: bytes) -> None:
        """Cut in the middle of this text, when an answer has it the next time."""
        self._marker = marker

    def mend(self) -> None:
        """Take connections again."""
        self.is_cut = False

    def heads(self, path: str) -> list[bytes]:
        """The heads of the requests for this path, in small letters."""
        said = [part for each in self.asked for part in each.lower().split(b"\r\n\r\n")]
        return [each for each in said if each.startswith(f"get {path} ".lower().encode())]

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection to its end."""
        if self.is_cut or self.to is None:
            writer.transport.abort()
            return
        there = urlsplit(self.to())
        assert there.hostname is not None
        ends = {writer}
        number = len(self.asked)
        self.asked.append(b"")
        try:
            back, forth = await asyncio.open_connection(there.hostname, there.port)
            ends.add(forth)
            self._open |= ends
            async with asyncio.TaskGroup() as group:
                group.create_task(self._up(reader, forth, number))
                group.create_task(self._down(back, writer))
        except* OSError:
            pass  # it was cut, or an end has left
        finally:
            self._open -= ends
            for end in ends:
                end.close()

    async def _up(
        self, reader: asyncio.StreamReader, forth: asyncio.StreamWriter, number: int
    ) -> None:
        while data := await reader.read(65_536):
            self.asked[number] += data
            forth.write(data)
            await forth.drain()
        forth.close()

    async def _down(self, back: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await back.read(65_536):
            at = -1 if self._marker is None else data.find(self._marker)
            if self._marker is not None and at >= 0:
                writer.write(data[: at + len(self._marker) // 2])
                await writer.drain()
                self._marker = None
                # Ended, not reset: what was sent before would be thrown away by a reset.
                self._open.discard(writer)
                writer.close()
                self.cut()
                return
            writer.write(data)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def a_line() -> AsyncIterator[Line]:
    """A line that leads nowhere yet; it ends with the block."""
    line = Line()
    async with serving(line.carry) as port:
        line.host = f"127.0.0.1:{port}"
        try:
            yield line
        finally:
            line.cut()
