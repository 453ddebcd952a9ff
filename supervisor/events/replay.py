"""A reader of one session's events: the stored ones, then the live ones, no gap and no double.

The reader's number says where it is; whether what follows comes from the session's tail in memory
or from the log makes no difference to it. The tail is kept from before the log is read: what is
committed in between is then in both. A reader that fell behind goes back to the log.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

from supervisor.events.hub import Reader
from supervisor.events.log import EventLog, EventRecord, is_terminal
from supervisor.events.notices import GAP, notice
from supervisor.events.schema import WarningEvent
from supervisor.ids import SessionId


@asynccontextmanager
async def subscribe(
    log: EventLog, session_id: SessionId, *, after: int | None = None, until_terminal: bool = False
) -> AsyncIterator["Records"]:
    """Read the session's events after that number (None: all that are stored), then live ones.

    With `until_terminal` the records end with the event that ends the turn which is running or
    the next to begin, when this is called; if none runs and older events are to be replayed, with
    the last of them. Where events were pruned, or the client's number is one this log never gave
    (it was lost, and begun anew), a `warning` with code `event_gap` says so and is not stored. The
    records of a session that is deleted meanwhile end with that.
    """
    with log.hub.reading(session_id) as reader:
        horizon = None
        if until_terminal:
            last = reader.tail.last
            horizon = (await log.extent(session_id)).last if last is None else last
        yield Records(log, session_id, reader, after or 0, horizon)


def gap(log: EventLog, session_id: SessionId, seq: int, message: str) -> EventRecord:
    """A warning made on the fly, in the place of events that aren't stored any more."""
    return notice(log.clock, session_id, seq, WarningEvent(code=GAP, message=message))


class Records:
    """What `subscribe` gives: an async iterator of records, also readable in batches."""

    def __init__(
        self,
        log: EventLog,
        session_id: SessionId,
        reader: Reader,
        after: int,
        horizon: int | None,
    ) -> None:
        self._log = log
        self._session_id = session_id
        self._reader = reader
        self._seen = max(0, after)
        self._horizon = horizon  # the first terminal record at or beyond it is the last one given
        self._must_replay = not reader.tail.covers(self._seen)
        self._ended = False
        self._ready: list[EventRecord] = []

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> EventRecord:
        while not self._ready:
            if self._ended:
                raise StopAsyncIteration
            self._ready = (await self.batch())[::-1]
        return self._ready.pop()

    @property
    def ended(self) -> bool:
        """Whether the last record has been given."""
        return self._ended and not self._ready

    async def batch(self, wait: float | None = None) -> list[EventRecord]:
        """All records that are there, waiting up to `wait` seconds (None: for ever) for the first.

        Empty when the time is over, and when the records have `ended`. Cancelling loses nothing.
        What is stored already is not waited for, so reading it isn't cut short by `wait`.
        """
        if self._ready:
            ready, self._ready = self._ready[::-1], []
            return ready
        deadline = None if wait is None else asyncio.get_running_loop().time() + wait
        while not self._ended:
            if self._reader.tail.is_forgotten:
                self._ended = True
                break
            records = await (self._replay() if self._must_replay else self._live(deadline))
            if records is None:
                break
            if records:
                return records
        return []

    async def _live(self, deadline: float | None) -> list[EventRecord] | None:
        """What came since, perhaps nothing new; None when the time is over."""
        if not await self._reader.wait(self._seen, deadline):
            return None
        records = self._reader.tail.after(self._seen)
        if records is None:
            self._must_replay = True
            return []
        return self._give(list(records))

    async def _replay(self) -> list[EventRecord]:
        extent = await self._log.extent(self._session_id)
        seen = 0 if self._seen > extent.last else self._seen
        stored = await self._log.read(self._session_id, seen)
        first = stored[0].seq if stored else extent.last + 1
        if self._seen > extent.last:
            notice = self._gap(0, f"event {self._seen} is unknown here; replaying from the start")
            self._seen = 0
            return [notice]
        if first > self._seen + 1:
            missing = f"events {self._seen + 1} to {first - 1} are no longer stored"
            self._seen = first - 1
            stored = [self._gap(first - 1, missing), *stored]
        elif not stored:
            self._must_replay = False
            return []
        given = self._give(stored)
        # What is committed after the look at its extent is in the tail, which is kept since before.
        behind = self._seen < extent.last and not self._reader.tail.covers(self._seen)
        self._must_replay = behind
        return given

    def _give(self, records: list[EventRecord]) -> list[EventRecord]:
        for index, record in enumerate(records):
            self._seen = record.seq
            if self._horizon is not None and record.seq >= self._horizon and is_terminal(record):
                self._ended = True
                return records[: index + 1]
        return records

    def _gap(self, seq: int, message: str) -> EventRecord:
        """Its number is that of the last event that is missing."""
        return gap(self._log, self._session_id, seq, message)
