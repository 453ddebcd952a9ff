"""To the client, live or replayed: event records as server-sent events, each flushed at once.

Written here in a few lines, as the records' bytes are to go out as they are stored, and because the
library for it replaces the server's signal handling when it is imported. A reader that leaves is
noticed at once and only unsubscribes; a slow one holds up nobody, as each reads for itself.
"""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from supervisor.events.log import EventRecord

HEARTBEAT_SECONDS: Final = 15.0
"""After so much silence a comment is sent: proxies commonly cut a stream silent for 60 s."""

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
    data = record.data.translate(_LINE_BREAKS)
    number = b"id: %d\n" % record.seq if record.seq >= 0 else b""
    return b"%bevent: %s\ndata: %s\n\n" % (number, record.type.encode(), data)


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

    `is_last` tells the record after which nothing is sent any more.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        subscribe: Callable[[], AbstractAsyncContextManager[Batches]],
        *,
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        is_last: Callable[[EventRecord], bool] | None = None,
        closing: asyncio.Event | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(headers={**(headers or {}), "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._subscribe = subscribe
        self._heartbeat_seconds = heartbeat_seconds
        self._is_last = is_last
        self._closing = closing or asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        """Stream; what was subscribed to is left when this returns, however it ends."""
        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **start})
        await _piece(send, _OPENING)
        async with asyncio.TaskGroup() as group:
            parts = (
                group.create_task(self._pump(send)),
                group.create_task(_left(receive)),
                group.create_task(self._closed()),
            )
            await asyncio.wait(parts, return_when=asyncio.FIRST_COMPLETED)
            for part in parts:
                part.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pump(self, send: Send) -> None:
        async with self._subscribe() as records:
            try:
                await self._follow(records, send)
            except asyncio.CancelledError:
                if self._closing.is_set():  # how the last turn ended is to be sent yet
                    while batch := await records.batch(0):
                        await _piece(send, b"".join(map(frame, batch)))
                raise

    async def _follow(self, records: Batches, send: Send) -> None:
        while not records.ended:
            batch = await records.batch(self._heartbeat_seconds)
            ended = self._cut(batch)
            if batch:
                await _piece(send, b"".join(map(frame, batch)))
            elif not records.ended:
                await _piece(send, _HEARTBEAT)
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

    async def _closed(self) -> None:
        await self._closing.wait()


async def _piece(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
