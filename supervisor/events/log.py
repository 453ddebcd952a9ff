"""The event log: an event is committed before anyone sees it, so no kill takes back what was seen.

Appends that come together are committed together: one task drains the intake into one transaction.
Committed means: survives the death of the process. A power cut may take the last moments (WAL with
synchronous=NORMAL), never the file's consistency.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any, Self

from supervisor.clock import Clock
from supervisor.errors import TrustfloorError
from supervisor.events.hub import Hub
from supervisor.events.intake import Intake, Pending
from supervisor.events.redact import Redactor
from supervisor.events.schema import AbortedEvent, DoneEvent, ErrorEvent, Event
from supervisor.events.size import LARGEST_EVENT, cut, is_light
from supervisor.ids import SessionId, TurnId
from supervisor.observability.metrics import METRICS
from supervisor.storage import event_reading, event_rows, json_line
from supervisor.storage.database import Database
from supervisor.storage.event_reading import Extent, Numbered, Numbers, Wanted
from supervisor.storage.event_rows import EventRecord, NewEvent, Retention
from supervisor.storage.timestamp import SystemClock, to_text

__all__ = ["EventLog", "EventRecord", "Numbers", "Retention", "Wanted", "is_terminal"]

BATCH_EVENTS = 1000
BATCH_BYTES = 256 << 10
"""How much `read` gives at once (one event at least), and so what a reader holds in memory."""

_log = logging.getLogger(__name__)
_TERMINAL_TYPES = frozenset(
    kind.model_fields["type"].default for kind in (DoneEvent, AbortedEvent, ErrorEvent)
)


def is_terminal(record: EventRecord) -> bool:
    """Whether the record ends its turn."""
    return record.type in _TERMINAL_TYPES


class EventLog:
    """All sessions' events, in a database of their own; open while the `async with` lasts.

    Leaving the block stores what was taken in, then closes.
    """

    def __init__(
        self,
        path: Path,
        *,
        redactor: Redactor | None = None,
        retention: Retention | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.hub = Hub()
        self.redactor = redactor or Redactor()
        self._retention = retention or Retention()
        self.clock = clock or SystemClock()
        self._db = Database(path, "events")
        self._intake = Intake()
        self._open = AsyncExitStack()

    @property
    def queued(self) -> int:
        """Events that were said and aren't stored yet."""
        return self._intake.waiting

    def redact(self, text: str) -> str:
        """The text without the secrets that are known by now."""
        return self.redactor.text(text)

    async def __aenter__(self) -> Self:
        await self._open.enter_async_context(self._db)
        # Not a task group: it would wrap the errors of the whole block in an exception group.
        self._open.push_async_callback(self._finish, asyncio.create_task(self._store_batches()))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.aclose()

    async def append(self, session_id: SessionId, turn_id: TurnId, event: Event) -> EventRecord:
        """Store the event and then publish it; returns once it is committed.

        Waits when too much is queued. What is larger than LARGEST_EVENT is cut, and says so.
        Raises StorageBusy or ConfigurationError if it could not be stored; nobody saw it then.
        Cancelled while it waits to be committed, it may be stored.
        """
        began = time.monotonic()
        pending = await self._intake.add(self._numberless(session_id, turn_id, event))
        record = await pending.outcome
        METRICS.lag.set(time.monotonic() - began)
        return record

    async def append_all(
        self, session_id: SessionId, turn_id: TurnId, events: Sequence[Event]
    ) -> list[EventRecord]:
        """Store several events of a turn in order; faster than one after the other."""
        entries = [
            await self._intake.add(self._numberless(session_id, turn_id, event)) for event in events
        ]
        return list(await asyncio.gather(*(entry.outcome for entry in entries)))

    async def read(
        self, session_id: SessionId, after: int = 0, *, limit: int = BATCH_EVENTS
    ) -> list[EventRecord]:
        """Stored events after that number, the first up to `limit`; fewer if they are large."""
        return await event_reading.read(self._db, session_id, after, limit, BATCH_BYTES)

    async def of_types(self, session_id: SessionId, types: Sequence[str]) -> list[EventRecord]:
        """The session's stored events of these types, in order."""
        return await event_reading.of_types(self._db, session_id, types)

    async def extent(self, session_id: SessionId) -> Extent:
        """The first and last number stored of the session."""
        return await event_reading.extent(self._db, session_id)

    async def last_seq(self, session_id: SessionId) -> int:
        """The number of the session's last event; 0 if there was none."""
        return (await self.extent(session_id)).last

    async def numbers(self) -> Numbers:
        """How far the numbers of all sessions' events go."""
        return await event_reading.numbers(self._db)

    async def over_all(self, wanted: Wanted) -> list[Numbered]:
        """Stored events of all sessions by their number among all, in order."""
        return await event_reading.over_all(self._db, wanted)

    async def first_seq(self, session_id: SessionId, turn_id: TurnId) -> int | None:
        """The number of the turn's first event; None if none of it is stored."""
        return await event_reading.first_seq(self._db, session_id, turn_id)

    async def has_asked(self, request_id: str) -> bool:
        """Whether a request of this id was ever put to a person, as far as events are stored."""
        return await event_reading.has_asked(self._db, request_id)

    async def forget(self, session_id: SessionId) -> None:
        """Remove the session's events, when the session itself is deleted."""
        await self._db.transact(partial(event_rows.forget, session_id=session_id))
        self.hub.forget(session_id)

    def _numberless(self, session_id: SessionId, turn_id: TurnId, event: Event) -> NewEvent:
        ts = to_text(self.clock.now())
        envelope = {"turn_id": turn_id, "ts": ts, "session_id": session_id}
        whole = envelope | event.model_dump(by_alias=True)
        line = self._line(whole)
        return NewEvent(session_id, turn_id, whole["type"], ts, line[1:], event.TERMINAL)

    def _line(self, whole: dict[str, Any]) -> bytes:
        """The event as JSON, without secrets, and no larger than LARGEST_EVENT."""
        if not is_light(whole, LARGEST_EVENT):
            whole = cut(whole, self.redactor.text)
        line = json_line.dump(whole)
        if self.redactor.may_be_in(line):
            whole = self.redactor.apply(whole)
            line = json_line.dump(whole)
        # Only now is it known for certain: escapes and replacements make texts longer.
        return (
            line if len(line) <= LARGEST_EVENT else json_line.dump(cut(whole, self.redactor.text))
        )

    async def _store_batches(self) -> None:
        batch: Sequence[Pending] = ()
        try:
            while batch := await self._intake.take():
                await self._store(batch)
        finally:
            self._intake.abandon(batch)

    async def _store(self, batch: Sequence[Pending]) -> None:
        """Store and publish a batch. Never raises: whatever happens, the log goes on."""
        try:
            events = [entry.event for entry in batch]
            records = await self._db.transact(
                partial(event_rows.append, events=events, retention=self._retention)
            )
        except TrustfloorError as error:  # the database as a whole: no event is to blame
            _fail(batch, error)
        except Exception as error:  # noqa: BLE001  (one event must not end the log for everybody)
            if len(batch) == 1:
                _log.exception("an event of type %s can't be stored", batch[0].event.type)
                _fail(batch, error)
                return
            for entry in batch:
                await self._store([entry])
        else:
            for entry, record in zip(batch, records, strict=True):
                self._publish(entry, record)

    def _publish(self, entry: Pending, record: EventRecord) -> None:
        try:
            self.hub.publish(record)
        except Exception:  # noqa: BLE001  (it is stored: readers find it there)
            _log.exception("an event could not be passed on")
        if not entry.outcome.done():
            entry.outcome.set_result(record)

    async def _finish(self, storing: asyncio.Task[None]) -> None:
        self._intake.close()
        await storing


def _fail(batch: Sequence[Pending], error: Exception) -> None:
    for entry in batch:
        if not entry.outcome.done():
            entry.outcome.set_exception(error)
