"""One thing that is kept ready for a turn, and what its taker has of it."""

import asyncio
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from supervisor.errors import TurnFailed
from supervisor.ids import SessionId, new_turn_id
from supervisor.observability.logs import Marks

T = TypeVar("T")

_USED: Final = "its turn is over"

Place = SessionId | int
"""Where it is kept: under the session it is for, or a number if it is for whoever comes."""


class Guest(Generic[T]):
    """One thing that is kept, from its making to its end."""

    def __init__(self, place: Place, fit: Hashable = None) -> None:
        self.id = new_turn_id()
        self.place = place
        self.session = None if isinstance(place, int) else place
        self.fit = fit
        self.is_taken = False
        self.why: str | None = None
        self.marks = Marks()
        self.called = asyncio.Event()
        self.over = asyncio.Event()
        self.ready: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        self.task: asyncio.Task[None] | None = None

    def dismiss(self, why: str) -> None:
        """Let it go; its making is broken off if it isn't made yet. The first word on it counts."""
        if self.over.is_set():
            return
        self.why = self.why or why
        self.over.set()
        self.called.set()
        if self.task is not None and not self.ready.done():
            self.task.cancel()


class Held(Generic[T]):
    """What was taken, and is used until `end`, or until it is left as an async context manager.

    Left by a TurnFailed, it went for that; but not once it `serves`.
    """

    def __init__(self, value: T, guest: Guest[T]) -> None:
        self.value = value
        self._guest = guest
        self._serves = False

    def serve(self) -> None:
        """It was found good, and is its turn's now, whose failures are no word on it.

        They may be an agent's own words, too, which nobody has looked at yet.
        """
        self._serves = True

    async def __aenter__(self) -> T:
        return self.value

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, TurnFailed) and not self._serves:
            await self.end(error.message)
        else:
            await self.end()

    async def end(self, why: str = _USED) -> None:
        """Leave its context, and wait until that is done; doing so twice is harmless."""
        self._guest.dismiss(why)
        if self._guest.task is not None:
            await asyncio.wait({self._guest.task})
