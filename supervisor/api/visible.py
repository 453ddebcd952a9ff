"""What of all sessions a caller may see, where a list or a stream goes over many of them."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from supervisor.api.caller import Caller
from supervisor.api.parts import Parts
from supervisor.api.sse import Batches
from supervisor.events.log import EventRecord
from supervisor.ids import SessionId


class Visible:
    """Tells for a session whether this caller may see it; what is asked twice is looked up once."""

    def __init__(self, supervisor: Parts, caller: Caller) -> None:
        self._sessions = supervisor.sessions
        self._caller = caller
        self._known: dict[SessionId, bool] = {}

    @property
    def all(self) -> bool:
        """Whether the caller may see everything."""
        return self._caller.workspaces is None

    async def sees(self, session_id: SessionId) -> bool:
        """Whether it is there for the caller; one that was deleted isn't, for a limited one."""
        if self.all or not session_id:
            return True
        if session_id not in self._known:
            row = await self._sessions.find_session(session_id)
            if row is None:
                return False
            self._known[session_id] = self._caller.may_see(row.workspace)
        return self._known[session_id]

    async def of(self, records: Iterable[EventRecord]) -> list[EventRecord]:
        """Those of these records that are of sessions which the caller may see."""
        return [each for each in records if await self.sees(each.session_id)]

    @asynccontextmanager
    async def through(self, source: AbstractAsyncContextManager[Batches]) -> AsyncIterator[Batches]:
        """The same records without those that the caller may not see."""
        async with source as records:
            yield records if self.all else _Narrowed(records, self)


class _Narrowed:
    def __init__(self, records: Batches, visible: Visible) -> None:
        self._records = records
        self._visible = visible

    @property
    def ended(self) -> bool:
        return self._records.ended

    async def batch(self, wait: float | None = None) -> list[EventRecord]:
        """What is there for the caller; what isn't doesn't show, not even as a sign of life."""
        loop = asyncio.get_running_loop()
        deadline = None if wait is None else loop.time() + wait
        while True:
            left = None if deadline is None else max(0.0, deadline - loop.time())
            batch = await self._records.batch(left)
            shown = await self._visible.of(batch)
            if shown or self.ended or (not batch and left is not None):
                return shown
