"""Live fan-out of committed events: a reader that does not keep up never slows the others.

Each reader has a bounded queue. When it overflows the queue is emptied and the reader marked as
lagging; it finds what it missed in the log (replay.py) and comes back. Records are shared between
the queues, not copied.
"""

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from supervisor.ids import SessionId
from supervisor.storage.event_rows import EventRecord

QUEUE_EVENTS = 1024
QUEUE_BYTES = 2 << 20


class Subscription:
    """One reader's queue of live records."""

    def __init__(self, max_events: int = QUEUE_EVENTS, max_bytes: int = QUEUE_BYTES) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._records: deque[EventRecord] = deque()
        self._bytes = 0
        self._lagging = False
        self._waiter: asyncio.Future[None] | None = None

    def offer(self, record: EventRecord) -> None:
        """Queue the record, or become lagging; never waits."""
        if not self._lagging:
            self._bytes += len(record.data)
            if len(self._records) >= self._max_events or self._bytes > self._max_bytes:
                self._lagging = True
                self._records.clear()
                self._bytes = 0
            else:
                self._records.append(record)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take(self) -> list[EventRecord] | None:
        """What is queued, perhaps nothing; None, once, if records were dropped since the last call.

        After None the caller reads the log: whatever is published from now on is queued again.
        """
        if self._lagging:
            self._lagging = False
            return None
        records = list(self._records)
        self._records.clear()
        self._bytes = 0
        return records

    async def wait(self) -> None:
        """Return when there is something to take. For one waiter at a time."""
        if self._records or self._lagging:
            return
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None


class Hub:
    """Who reads which session live."""

    def __init__(self) -> None:
        self._subscriptions: dict[SessionId, set[Subscription]] = {}
        self._bells: set[asyncio.Event] = set()

    @contextmanager
    def ringing(self) -> Iterator[asyncio.Event]:
        """A bell that is rung whenever anything is published, in whichever session."""
        bell = asyncio.Event()
        self._bells.add(bell)
        try:
            yield bell
        finally:
            self._bells.discard(bell)

    def attach(self, session_id: SessionId, subscription: Subscription) -> None:
        """From now on the subscription is offered the session's records."""
        self._subscriptions.setdefault(session_id, set()).add(subscription)

    def detach(self, session_id: SessionId, subscription: Subscription) -> None:
        """The end of it; harmless if there was none."""
        subscriptions = self._subscriptions.get(session_id, set())
        subscriptions.discard(subscription)
        if not subscriptions:
            self._subscriptions.pop(session_id, None)

    def publish(self, record: EventRecord) -> None:
        """Offer a committed record to the session's readers."""
        for subscription in self._subscriptions.get(record.session_id, ()):
            subscription.offer(record)
        for bell in self._bells:
            bell.set()

    def readers(self, session_id: SessionId) -> int:
        """How many read the session live."""
        return len(self._subscriptions.get(session_id, ()))
