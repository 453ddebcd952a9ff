"""To the client, live or replayed: event records as server-sent events, each flushed at once.

Written here in a few lines, as the records' bytes are to go out as they are stored, and because the
library for it replaces the server's signal handling when it is imported. A reader that leaves is
noticed at once and only unsubscribes; a slow one holds up nobody, as each reads for itself. What is
held for it is bounded: one batch, and one piece beyond the high-water mark of the server's buffer.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from supervisor.api.stopping import Closing
from supervisor.events.log import EventRecord
from supervisor.observability.metrics import METRICS

HEARTBEAT_SECONDS: Final = 15.0
"""After so much silence a comment is sent: proxies commonly cut a stream silent for 60 s."""

PIECE_BYTES: Final = 64 << 10
"""What is sent at once; one event may be larger."""

_OPENING: Final = b"retry: 1000\n"
_HEARTBEAT: Final = b": still here\n"
"""Without a blank line behind: some parsers take that for an empty event once an id was sent."""

_LINE_BREAKS: Final = bytes.maketrans(b"\r\n", b"  ")


def frame(record: EventRecord) -> bytes:
    """One record as it goes over the wire; one below zero has no number there.

    Inside JSON strings line breaks are escaped, so a bare CR or LF could only be white space
    between tokens: as a blank it means the same and can't end the line. U+2028, U+0085 and the
    like are no line breaks to server-sent events and stay as they are.
    """
    if record.framed is not None:
        return record.framed
    data = record.data.translate(_LINE_BREAKS)
    number = b"id: %d\n" % record.seq if record.seq >= 0 else b""
    framed = b"%bevent: %s\ndata: %s\n\n" % (number, record.type.encode(), data)
    if record.is_shared:
        record.framed = framed
    return framed


def pieces(batch: Sequence[EventRecord]) -> Iterator[bytes]:
    """The records as they go over the wire, whole ones together up to PIECE_BYTES."""
    if len(batch) == 1:
        yield frame(batch[0])
        return
    held: list[bytes] = []
    size = 0
    for each in map(frame, batch):
        if held and size + len(each) > PIECE_BYTES:
            yield b"".join(held)
            held, size = [], 0
        held.append(each)
        size += len(each)
    if held:
        yield b"".join(held)


class Batches(Protocol):
    """What is streamed: records as they come."""

    @property
    def ended(self) -> bool:
        """Whether the last record has been given."""
        ...

    async def batch(self, wait: float | None = None) -> list[EventRecord]:
        """All records that are there, waiting up to `wait` seconds for the first."""
        ...


class EventStream(Response):
    """A response that streams records until they end, the client leaves, or `closing` is set.

    `is_last` tells the record after which nothing is sent any more. When the supervisor announces
    its stop, a warning says so, unless `hears_of_stop` knows that the records will.
    """

    media_type = "text/event-stream"

    def __init__(  # noqa: PLR0913 - each is a property of the stream
        self,
        subscribe: Callable[[], AbstractAsyncContextManager[Batches]],
        *,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        is_last: Callable[[EventRecord], bool] | None = None,
        closing: Closing | None = None,
        hears_of_stop: Callable[[], bool] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(headers={**(headers or {}), "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._subscribe = subscribe
        self._heartbeat_seconds = heartbeat_seconds
        self._is_last = is_last
        self._closing = closing
        self._hears_of_stop = hears_of_stop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Stream; what was subscribed to is left when this returns, however it ends."""
        with METRICS.streams.track_inprogress():
            await self._stream(receive, send)

    async def _stream(self, receive: Receive, send: Send) -> None:
        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **start})
        await _piece(send, _OPENING)
        async with asyncio.TaskGroup() as group:
            parts = [group.create_task(self._pump(_Out(send))), group.create_task(_left(receive))]
            if self._closing is not None:
                parts.append(group.create_task(self._closed(send, self._closing)))
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            for part in parts:
                part.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pump(self, out: "_Out") -> None:
        async with self._subscribe() as records:
            try:
                await self._follow(records, out)
            except asyncio.CancelledError:
                if self._closing is not None and self._closing.is_set():
                    # What was under way, and how the last turn ended, is to be sent yet.
                    await out.flush()
                    while batch := await records.batch(0):
                        await out.put(batch)
                raise

    async def _follow(self, records: Batches, out: "_Out") -> None:
        while not records.ended:
            batch = await records.batch(self._heartbeat_seconds)
            ended = self._cut(batch)
            if batch:
                await out.put(batch)
            elif not records.ended:
                await out.say(_HEARTBEAT)
            if ended:
                return

    def _cut(self, batch: list[EventRecord]) -> bool:
        """Drop what comes after the last record that is wanted; whether that was among them."""
        if self._is_last is None:
            return False
        for index, record in enumerate(batch):
            if self._is_last(record):
                del batch[index + 1 :]
                return True
        return False

    async def _closed(self, send: Send, closing: Closing) -> None:
        warning = await closing.announced()
        hears_of_it = self._hears_of_stop is not None and self._hears_of_stop()
        if warning is not None and not hears_of_it:
            # Between two of the others' pieces, which are whole events; it has no number to mix up.
            await _piece(send, frame(warning))
        await closing.wait()


class _Out:
    """What is being sent; cancelled meanwhile, it knows what wasn't yet.

    The server waits, where the client is slow, before it takes a piece and never after.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._piece: bytes | None = None
        self._pieces: Iterator[bytes] = iter(())

    async def put(self, batch: Sequence[EventRecord]) -> None:
        self._pieces = pieces(batch)
        await self.flush()

    async def say(self, piece: bytes) -> None:
        self._piece = piece
        await self.flush()

    async def flush(self) -> None:
        while True:
            if self._piece is None:
                self._piece = next(self._pieces, None)
            if self._piece is None:
                return
            await _piece(self._send, self._piece)
            self._piece = None


async def _piece(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
