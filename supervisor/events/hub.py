"""Live fan-out of committed events: what a session said last, kept once for all who read it.

Readers have no queues. A session that is read has one tail, bounded in events and bytes, and a
reader is a number in it: where it has read to. So one that doesn't keep up costs nothing while it
stands still, whatever is said; it finds what has left the tail in the log (replay.py). All tails
together are bounded too: then those of the sessions that were silent longest are given up.
"""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from math import inf
from typing import Final

from supervisor.ids import SessionId
from supervisor.storage.event_rows import EventRecord

TAIL_EVENTS: Final = 256
TAIL_BYTES: Final = 4 << 20
"""At least one event is kept, however large it is."""
ALL_TAILS_BYTES: Final = 32 << 20
_RECORD_BYTES: Final = 768
"""What a record takes beside its JSON, as measured: itself, its names, its time."""


def weight(record: EventRecord) -> int:
    """Bytes that a record in a tail takes: its JSON twice, as it is stored and as it is sent."""
    return 2 * len(record.data) + _RECORD_BYTES


class Tail:
    """The last records of one session, without a gap, and those who wait for the next one."""

    def __init__(self, max_events: int = TAIL_EVENTS, max_bytes: int = TAIL_BYTES) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._records: deque[EventRecord] = deque()
        self.bytes = 0
        self.is_forgotten = False
        """The session is gone: nothing will come any more."""
        self._waiting: set[asyncio.Future[bool]] = set()

    def put(self, record: EventRecord) -> None:
        """Keep the record and wake who waits; never waits itself."""
        if self._records and record.seq != self._records[-1].seq + 1:
            self.clear()
        record.is_shared = True
        self._records.append(record)
        self.bytes += weight(record)
        while len(self._records) > 1 and (
            len(self._records) > self._max_events or self.bytes > self._max_bytes
        ):
            self.bytes -= weight(self._records.popleft())
        self._wake()

    def forget(self) -> None:
        """Keep nothing, and nobody waiting: the session is gone."""
        self.clear()
        self.is_forgotten = True
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, set()
        for each in waiting:
            if not each.done():
                each.set_result(True)

    def clear(self) -> None:
        """Keep nothing: what was there is in the log."""
        self._records.clear()
        self.bytes = 0

    def after(self, seq: int) -> Sequence[EventRecord] | None:
        """The records behind that number, perhaps none; None if some of them were let go."""
        records = self._records
        if not records or records[-1].seq <= seq:
            return ()
        begin = seq + 1 - records[0].seq
        if begin < 0:
            return None
        if begin == len(records) - 1:  # nearly always: the one that was published just now
            return (records[-1],)
        return list(islice(records, begin, None))

    def covers(self, seq: int) -> bool:
        """Whether all that was said behind that number is here."""
        records = self._records
        return bool(records) and records[0].seq <= seq + 1 and seq <= records[-1].seq

    @property
    def last(self) -> int | None:
        """The number of the last record; None if there is none."""
        return self._records[-1].seq if self._records else None

    def waiting(self) -> asyncio.Future[bool]:
        """True once the next record is there; to be given back to `no_longer`."""
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        return future

    def no_longer(self, future: asyncio.Future[bool]) -> None:
        """Whoever waited doesn't, whether it is done or not."""
        self._waiting.discard(future)


class Reader:
    """One who reads a tail, and waits for what comes with one timer that is seldom set anew.

    A timer for each wait would cost more than the event that nearly always ends it.
    """

    def __init__(self, tail: Tail) -> None:
        self.tail = tail
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = inf
        self._future: asyncio.Future[bool] | None = None

    async def wait(self, seq: int, deadline: float | None) -> bool:
        """Whether there is something behind that number by then, in the loop's time (None: ever).

        True as well once the session is gone. For one at a time.
        """
        last = self.tail.last
        if self.tail.is_forgotten or (last is not None and last > seq):
            return True
        future = self._future = self.tail.waiting()
        if deadline is None:
            self._deadline = inf
        else:
            self._deadline = deadline
            if self._timer is None or self._timer.when() > deadline:
                self._set(deadline)
        try:
            return await future
        finally:
            self._future = None
            self.tail.no_longer(future)

    def end(self) -> None:
        """Nobody waits here any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _set(self, when: float) -> None:
        self.end()
        self._timer = asyncio.get_running_loop().call_at(when, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._future is None or self._future.done() or self._deadline == inf:
            return
        if asyncio.get_running_loop().time() < self._deadline:
            self._set(self._deadline)
        else:
            self._future.set_result(False)


class Hub:
    """Who reads which session live."""

    def __init__(self, max_bytes: int = ALL_TAILS_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._tails: OrderedDict[SessionId, Tail] = OrderedDict()
        self._readers: Counter[SessionId] = Counter()
        self._bells: set[asyncio.Event] = set()

    @property
    def bytes(self) -> int:
        """How much all tails hold together."""
        return self._bytes

    @contextmanager
    def ringing(self) -> Iterator[asyncio.Event]:
        """A bell that is rung whenever anything is published, in whichever session."""
        bell = asyncio.Event()
        self._bells.add(bell)
        try:
            yield bell
        finally:
            self._bells.discard(bell)

    @contextmanager
    def reading(self, session_id: SessionId) -> Iterator[Reader]:
        """Within the block the session's records are kept, the last of them, for who reads it."""
        tail = self._tails.setdefault(session_id, Tail())
        self._readers[session_id] += 1
        reader = Reader(tail)
        try:
            yield reader
        finally:
            reader.end()
            self._readers[session_id] -= 1
            if not self._readers[session_id]:
                del self._readers[session_id]
                self._bytes -= self._tails.pop(session_id).bytes

    def publish(self, record: EventRecord) -> None:
        """Give a committed record to the session's readers."""
        tail = self._tails.get(record.session_id)
        if tail is not None:
            self._bytes -= tail.bytes
            tail.put(record)
            self._bytes += tail.bytes
            self._tails.move_to_end(record.session_id)
            if self._bytes > self._max_bytes:
                self._give_up_others(tail)
        for bell in self._bells:
            bell.set()

    def forget(self, session_id: SessionId) -> None:
        """Keep nothing of the session: its events are removed. Who reads it has read the last."""
        if (tail := self._tails.get(session_id)) is not None:
            self._bytes -= tail.bytes
            tail.forget()

    def readers(self, session_id: SessionId) -> int:
        """How many read the session live."""
        return self._readers[session_id]

    def all_readers(self) -> int:
        """How many read a session live, whichever."""
        return self._readers.total()

    def _give_up_others(self, latest: Tail) -> None:
        """Clear tails, the longest silent first, until the bound is kept."""
        for tail in self._tails.values():
            if self._bytes <= self._max_bytes or tail is latest:
                return
            self._bytes -= tail.bytes
            tail.clear()
