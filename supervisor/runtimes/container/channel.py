"""A sandbox's CLI as a channel: bytes over the socket that the engine attached to its streams."""

import asyncio
import select
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final, Self

from supervisor.errors import AgentProcessFailed, TurnFailed
from supervisor.runtimes.container.death import cause_of_death, engine_lost, paused
from supervisor.runtimes.container.engine import ContainerId, Engine
from supervisor.runtimes.container.frames import BadFrame, Demultiplexer
from supervisor.runtimes.container.spec import Limits

_CHUNK: Final = 256 * 1024
_STDERR_TAIL: Final = 16 * 1024
_QUIET_SECONDS: Final = 3.0
"""After so long without output the engine is asked whether it is still there."""
_ANSWER_SECONDS: Final = 5.0
"""How long it has for that; both together are to be below 10 seconds."""
_LOOK_EVERY: Final = 3
"""Of so many times that the engine was asked, it is once asked about the container as well."""


class ContainerChannel:
    """One attached container; a `runtimes.contract.Channel`. Close it, or use it as a context.

    Nobody reads ahead: a reader that stalls stalls the engine, and the engine the container, so
    memory stays flat whatever is sent. Standard error is kept as a short tail, the rest dropped.
    """

    def __init__(
        self, stream: socket.socket, engine: Engine, container: ContainerId, limits: Limits
    ) -> None:
        self._stream = stream
        self._engine = engine
        self._container = container
        self._limits = limits
        self._frames = Demultiplexer()
        self._unread = b""
        self._stderr_tail = b""
        self.stderr_bytes = 0
        """How much it has written to its standard error."""
        self._input_open = True
        self._objection: str | None = None
        self._heard = False
        self._cut_off: TurnFailed | None = None
        self._watch: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._watch = asyncio.create_task(self._watched())
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self.close()

    async def _watched(self) -> None:
        """Hang up on what stands still while its socket stays open, and says nothing."""
        quiet = 0
        while self._cut_off is None:
            self._heard = False
            await asyncio.sleep(_QUIET_SECONDS)
            quiet = 0 if self._heard else quiet + 1
            if quiet:
                self._cut_off = await self._standstill(look=quiet % _LOOK_EVERY == 0)
        with suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)

    async def _standstill(self, *, look: bool) -> TurnFailed | None:
        if not await self._engine.answers(_ANSWER_SECONDS):
            return engine_lost(self._engine.path, "stopped answering", "restart the engine")
        return await paused(self._engine, self._container) if look else None

    def close(self) -> None:
        """Let go of the streams; the container is not ended by it."""
        self._input_open = False
        if self._watch is not None:
            self._watch.cancel()
        self._stream.close()

    @property
    def is_silent(self) -> bool:
        """Whether it has said nothing that wasn't read yet, and hasn't closed; reads nothing."""
        if self._unread or self._cut_off is not None:
            return False
        look = select.poll()
        look.register(self._stream, select.POLLIN)
        return not look.poll(0)

    async def stirred(self) -> bool:
        """Wait until it says something, or closes, and give whether it closed; nothing is read.

        For one waiter, and not while anybody reads.
        """
        loop, stirs = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self._stream, stirs.set)
        try:
            await stirs.wait()
            return not self._stream.recv(1, socket.MSG_PEEK)
        except OSError:
            return True
        finally:
            loop.remove_reader(self._stream)

    async def first_line(self, limit: int) -> bytes | None:
        """The first line of its output, without its end; what follows is left for `chunks`.

        None: the output closed, or went over `limit` bytes, before there was one. Bound it in time.
        """
        seen = b""
        while b"\n" not in seen:
            piece = await self._read()
            if piece is None or len(seen) + len(piece) > limit + _CHUNK:
                return None
            seen += piece
        line, _, self._unread = seen.partition(b"\n")
        return line if len(line) <= limit else None

    async def chunks(self) -> AsyncIterator[bytes]:
        """Its standard output in arbitrary pieces, until it closes; empty for what it isn't."""
        if self._unread:
            ahead, self._unread = self._unread, b""
            yield ahead
        while (piece := await self._read()) is not None:
            yield piece

    async def write(self, data: bytes) -> None:
        """Send to its standard input. Raises AgentProcessFailed once it is closed."""
        if not self._input_open:
            raise _input_closed()
        try:
            await asyncio.get_running_loop().sock_sendall(self._stream, data)
        except OSError as error:
            raise _input_closed() from error

    async def close_input(self) -> None:
        """Close its standard input; doing so twice is harmless."""
        if not self._input_open:
            return
        self._input_open = False
        with suppress(OSError):  # the other side may have closed everything already
            self._stream.shutdown(socket.SHUT_WR)

    async def cause_of_death(self) -> TurnFailed | None:
        """After the output closed: why; None if it ended by itself. Takes at most 8 seconds."""
        if self._cut_off is not None:
            return self._cut_off
        return await cause_of_death(
            self._engine,
            self._container,
            limits=self._limits,
            stderr=self._stderr_tail,
            objection=self._objection,
        )

    async def _read(self) -> bytes | None:
        """The next piece of output, perhaps empty; None: closed, or no stream that we know."""
        try:
            data = await asyncio.get_running_loop().sock_recv(self._stream, _CHUNK)
        except OSError:
            return None
        if not data:
            return None
        self._heard = True
        try:
            output = self._frames.feed(data)
        except BadFrame as error:
            self._objection = str(error)
            return None
        if output.stderr:
            self.stderr_bytes += len(output.stderr)
            self._stderr_tail = (self._stderr_tail + output.stderr[-_STDERR_TAIL:])[-_STDERR_TAIL:]
        return output.stdout


def _input_closed() -> AgentProcessFailed:
    return AgentProcessFailed(
        "the agent process takes no more input", remedy="send the message again"
    )
