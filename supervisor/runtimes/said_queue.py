"""What an agent's process said and its turn hasn't read yet: so much of it, and no more."""

import asyncio
from collections import deque
from typing import Final

from supervisor.errors import TurnFailed
from supervisor.events.schema import RuntimeEvent
from supervisor.runtimes.contract import RunResult

_LENGTH: Final = 256
_BYTES: Final = 4 * 1024 * 1024

Said = RuntimeEvent | RunResult | TurnFailed | None
"""What the turn reads: an event, the result, or the end with its cause (None: it just ended)."""


class SaidQueue:
    """What was said and not yet read: bounded in number and, but for one item, in bytes.

    Its one reader takes an item when it has dealt with those before.
    """

    def __init__(self) -> None:
        self._items: deque[tuple[Said, int]] = deque()
        self._bytes = 0
        self._put = 0
        self._took = 0
        self._dealt_with = 0
        self._changed = asyncio.Condition()

    async def put(self, said: Said, size: int = 0) -> int:
        """Add an item of so many bytes, after waiting for room; its number, from 1."""
        async with self._changed:
            await self._changed.wait_for(self._has_room)
            self._items.append((said, size))
            self._bytes += size
            self._put += 1
            self._changed.notify_all()
            return self._put

    async def get(self) -> Said:
        """Take the oldest item, after waiting for one."""
        async with self._changed:
            self._dealt_with = self._took
            self._changed.notify_all()
            await self._changed.wait_for(lambda: bool(self._items))
            said = self._taken()
            self._changed.notify_all()
            return said

    async def dealt_with(self, number: int) -> None:
        """Wait until the reader has taken the item of this number, and has come back for more."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._dealt_with >= number)

    def drain(self) -> list[Said]:
        """Take all there is, without waiting."""
        return [self._taken() for _ in range(len(self._items))]

    def _taken(self) -> Said:
        said, size = self._items.popleft()
        self._bytes -= size
        self._took += 1
        return said

    def _has_room(self) -> bool:
        return len(self._items) < _LENGTH and self._bytes < _BYTES
