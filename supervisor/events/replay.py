"""A reader of one session's events: the stored ones, then the live ones, no gap and no double.

The reader is attached to the hub before it reads the log. What is committed in between is then in
both, and numbers tell the two apart; a reader that fell behind goes back to the log.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

from supervisor.events.hub import Subscription
from supervisor.events.log import EventLog, EventRecord, is_terminal
from supervisor.events.schema import WarningEvent
from supervisor.ids import SessionId, TurnId
from supervisor.storage import json_line
from supervisor.storage.timestamp import to_text

GAP = "event_gap"
"""The code of the warning that stands for events which are no longer stored."""


@asynccontextmanager
async def subscribe(
    log: EventLog, session_id: SessionId, *, after: int | None = None, until_terminal: bool = False
) -> AsyncIterator["Records"]:
    """Read the session's events after that number (None: all that are stored), then live ones.

    With `until_terminal` the records end with the event that ends the turn which is running or
    the next to begin, when this is called; if none runs and older events are to be replayed, with
    the last of them. Where events were pruned, or the client's number is one this log never gave
    (it was lost, and begun anew), a `warning` with code `event_gap` says so and is not stored.
    """
    subscription = Subscription()
    log.hub.attach(session_id, subscription)
    try:
        extent = await log.extent(session_id)
        horizon = extent.last if until_terminal else None
        yield Records(log, session_id, subscription, after or 0, horizon)
    finally:
        log.hub.detach(session_id, subscription)


def gap(log: EventLog, session_id: SessionId, seq: int, message: str) -> EventRecord:
    """A warning made on the fly, in the place of events that aren't stored any more."""
    ts, turn_id = to_text(log.clock.now()), TurnId("")
    warning = WarningEvent(code=GAP, message=message).model_dump(by_alias=True)
    envelope = {"seq": seq, "turn_id": turn_id, "ts": ts, "session_id": session_id}
    data = json_line.dump({**envelope, **warning})
    return EventRecord(session_id, turn_id, seq, "warning", ts, data)


class Records:
    """What `subscribe` gives: an async iterator of records, also readable in batches."""

    def __init__(
        self,
        log: EventLog,
        session_id: SessionId,
        subscription: Subscription,
        after: int,
        horizon: int | None,
    ) -> None:
        self._log = log
        self._session_id = session_id
        self._subscription = subscription
        self._seen = max(0, after)
        self._horizon = horizon  # the first terminal record at or beyond it is the last one given
        self._must_replay = True
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
            records = await (self._replay() if self._must_replay else self._live(deadline))
            if records is None:
                break
            if records:
                return records
        return []

    async def _live(self, deadline: float | None) -> list[EventRecord] | None:
        """What came since, perhaps nothing new; None when the time is over."""
        try:
            async with asyncio.timeout_at(deadline):
                await self._subscription.wait()
        except TimeoutError:
            return None
        records = self._subscription.take()
        fresh = [record for record in records or () if record.seq > self._seen]
        if records is None or (fresh and fresh[0].seq != self._seen + 1):
            self._must_replay = True
            return []
        return self._give(fresh)

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
        return self._give(stored)

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
