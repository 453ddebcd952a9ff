"""What can't be done now is tried again later, until it is done or nobody wants it any more."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Self


class Later:
    """One piece of work, tried again as long as it is wanted. An async context manager.

    A try comes `soonest` seconds after it is wanted. As long as it is wanted still, each pause is
    twice the one before, up to `latest` seconds. The work itself says by `drop` that it is done.
    Leaving gives it up, in the midst of a try too.
    """

    def __init__(
        self, work: Callable[[], Awaitable[None]], *, soonest: float, latest: float
    ) -> None:
        self._work = work
        self._soonest = soonest
        self._latest = latest
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._try_on())
        return self

    async def __aexit__(self, *_exception: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    @property
    def is_wanted(self) -> bool:
        """Whether a try is to come."""
        return self._wanted.is_set()

    def want(self) -> None:
        """Have it tried later, and again until it is dropped."""
        self._wanted.set()

    def drop(self) -> None:
        """Try it no more until it is wanted anew; a try whose pause has begun still comes."""
        self._wanted.clear()

    async def _try_on(self) -> None:
        pause = self._soonest
        while True:
            await self._wanted.wait()
            await asyncio.sleep(pause)
            await self._work()
            pause = min(2 * pause, self._latest) if self.is_wanted else self._soonest
