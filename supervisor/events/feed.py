"""What happens in all sessions, in one order: milestones, without the words as they come.

The numbers are those of the log over all sessions, so a reader that was away goes on where it was.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from supervisor.events.log import BATCH_BYTES, EventLog, EventRecord, Numbers, Wanted
from supervisor.events.replay import gap
from supervisor.ids import SessionId

MILESTONES: Final = (
    "session", "isolation", "user_message", "model", "tool_use", "warning", "permission_request",
    "permission_resolved", "permission_denied", "user_question", "done", "aborted", "error",
)  # fmt: skip
"""The types that are told where none are asked for: no piece of text, and no tool's result."""

_PAUSE_SECONDS: Final = 0.05
"""At most so often the log is read for one reader, however much is said in all sessions."""


@asynccontextmanager
async def follow(
    log: EventLog,
    *,
    after: int | None,
    types: Sequence[str] = MILESTONES,
    session_id: SessionId | None = None,
) -> AsyncIterator["Feed"]:
    """Read on from that number (None: from now on) and then live, without end.

    Where events may have been pruned that would be told, or the number is one that this log never
    gave (it was lost, and begun anew), a `warning` with code `event_gap` says so.
    """
    with log.hub.ringing() as bell:
        last = (await log.numbers()).last
        yield Feed(log, bell, last if after is None else after, types, session_id)


def is_gap(after: int, numbers: Numbers) -> bool:
    """Whether events behind this number may be missing, or are none of what it was given for."""
    return after < numbers.pruned or after > numbers.last


class Feed:
    """What `follow` gives: batches of records whose `seq` is the number over all sessions."""

    ended: Final = False

    def __init__(
        self,
        log: EventLog,
        bell: asyncio.Event,
        seen: int,
        types: Sequence[str],
        session_id: SessionId | None,
    ) -> None:
        self._log = log
        self._bell = bell
        self._seen = seen
        self._types = types
        self._session_id = session_id
        self._told = 0
        """Up to which number the reader knows that events may be missing."""
        self._bell.set()

    async def batch(self, wait: float | None = None) -> list[EventRecord]:
        """All records that are there, waiting up to `wait` seconds (None: for ever) for the first.

        Empty when the time is over.
        """
        deadline = None if wait is None else asyncio.get_running_loop().time() + wait
        while True:
            try:
                async with asyncio.timeout_at(deadline):
                    await self._bell.wait()
            except TimeoutError:
                return []
            self._bell.clear()
            if records := await self._read():
                return records
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _read(self) -> list[EventRecord]:
        through = (await self._log.numbers()).last
        wanted = Wanted(self._seen, through, self._types, self._session_id, max_bytes=BATCH_BYTES)
        found = await self._log.over_all(wanted)
        # Looked at afterwards: what was pruned meanwhile isn't among those found.
        numbers = await self._log.numbers()
        if is_gap(max(self._seen, self._told), numbers):
            self._bell.set()
            self._told = numbers.pruned
            self._seen = 0 if self._seen > numbers.last else self._seen
            return [self._gap()]
        if len(found) > 0:
            self._bell.set()  # there may be more
        self._seen = found[-1].number if found else max(self._seen, through)
        return [record._replace(seq=number) for number, record in found]

    def _gap(self) -> EventRecord:
        missing = "some events from then on are no longer stored"
        # Within its session it has no number; the reader keeps the one that it has.
        return gap(self._log, SessionId(""), 0, missing)._replace(seq=self._seen)
