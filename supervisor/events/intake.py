"""The bounded queue between those who append events and the one task that stores them."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from supervisor.errors import TrustfloorError
from supervisor.storage.event_rows import EventRecord, NewEvent

MAX_EVENTS = 4096
MAX_BYTES = 16 << 20
BATCH_EVENTS = 1024
BATCH_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Pending:
    """An event that waits to be stored, and where its appender learns of it."""

    event: NewEvent
    outcome: asyncio.Future[EventRecord]


class Intake:
    """First in, first out; whoever adds to a full one waits for room, in the same order."""

    def __init__(self) -> None:
        self._entries: deque[Pending] = deque()
        self._bytes = 0
        self._waiting = 0
        self._door = asyncio.Lock()
        self._filled = asyncio.Event()
        self._emptied = asyncio.Event()
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many wait to be taken, or to be let in."""
        return len(self._entries) + self._waiting

    async def add(self, event: NewEvent) -> Pending:
        """Queue the event, after waiting for room. Raises TrustfloorError once it is closed."""
        if self._waiting or self._is_full():
            self._waiting += 1
            try:
                async with self._door:  # asyncio's locks are fair: this is the waiting line
                    while self._is_full() and not self._closed:
                        self._emptied.clear()
                        await self._emptied.wait()
            finally:
                self._waiting -= 1
        if self._closed:
            raise TrustfloorError("the event log is closed")
        pending = Pending(event, asyncio.get_running_loop().create_future())
        self._entries.append(pending)
        self._bytes += len(event.tail)
        self._filled.set()
        return pending

    async def take(self) -> Sequence[Pending]:
        """Up to one batch; empty only when closed and all is taken."""
        if not self._entries and not self._closed:
            self._filled.clear()
            await self._filled.wait()
        batch: list[Pending] = []
        taken = 0
        while self._entries and len(batch) < BATCH_EVENTS:
            size = len(self._entries[0].event.tail)
            if batch and taken + size > BATCH_BYTES:
                break
            taken += size
            batch.append(self._entries.popleft())
        self._bytes -= taken
        self._emptied.set()
        return batch

    def close(self) -> None:
        """Take no more; what is queued can still be taken."""
        self._closed = True
        self._filled.set()
        self._emptied.set()

    def abandon(self, batch: Sequence[Pending] = ()) -> None:
        """Close, and tell everybody who waits that nothing will be stored."""
        self.close()
        for entry in (*batch, *self._entries):
            if not entry.outcome.done():
                entry.outcome.set_exception(TrustfloorError("the event log has stopped"))
        self._entries.clear()

    def _is_full(self) -> bool:
        return len(self._entries) >= MAX_EVENTS or self._bytes >= MAX_BYTES
