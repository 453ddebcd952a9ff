"""Says a turn's events in order without waiting for each to be stored, bounded in memory.

Below `turn.py`. What comes in a flood is so stored together: one commit for each event would be
most of the work (docs/performance.md).
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from supervisor.events.schema import Event, TextEvent, ThinkingEvent, ToolResultEvent

_AHEAD_CHARS: Final = 4 * 1024 * 1024
_EVENT_CHARS: Final = 4096

Saying = Callable[[Event], Awaitable[object]]


@asynccontextmanager
async def ahead(say: Saying) -> AsyncIterator[Saying]:
    """A `say` that returns once the event is under way; all are stored when the block is left.

    Raises in place of a later event, or at the end, what the saying of an earlier one raised. Tasks
    begin in the order they were made in, and `say` queues the event before it waits for anything:
    so the order is kept.
    """
    under_way: deque[tuple[asyncio.Task[object], int]] = deque()
    chars = 0

    async def wait_for_one() -> None:
        nonlocal chars
        task, size = under_way.popleft()
        chars -= size
        await task

    async def tell(event: Event) -> None:
        nonlocal chars
        size = _size(event)
        while under_way and (chars + size > _AHEAD_CHARS or under_way[0][0].done()):
            await wait_for_one()
        chars += size
        under_way.append((asyncio.create_task(_said(say, event)), size))

    try:
        yield tell
        while under_way:
            await wait_for_one()
    finally:
        await asyncio.gather(*(task for task, _ in under_way), return_exceptions=True)


async def _said(say: Saying, event: Event) -> object:
    return await say(event)


def _size(event: Event) -> int:
    """About how much memory it holds, in characters; generous where that isn't quickly known."""
    if isinstance(event, TextEvent | ThinkingEvent):
        return _EVENT_CHARS + len(event.delta) + len(event.content or "")
    if isinstance(event, ToolResultEvent):
        return _EVENT_CHARS + len(event.content)
    return _AHEAD_CHARS // 8
