"""What open streams hear of the supervisor's stop: first that it comes, then that it is there."""

import asyncio

from supervisor.clock import Clock
from supervisor.events.log import EventRecord
from supervisor.events.notices import UNNUMBERED, notice, shutting_down
from supervisor.ids import SessionId


class Closing(asyncio.Event):
    """Set when streams end. Before that, `announce` tells all of them that they will."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._word = asyncio.Event()
        self._notice: EventRecord | None = None

    def announce(self, seconds: float) -> None:
        """Say that turns have so many seconds to end. The first word counts."""
        if self._notice is None:
            warning = shutting_down(seconds, self._clock.now())
            self._notice = notice(self._clock, SessionId(""), UNNUMBERED, warning)
            self._word.set()

    def set(self) -> None:
        """End the streams, whether or not it was announced."""
        self._word.set()
        super().set()

    async def announced(self) -> EventRecord | None:
        """Wait for the word that the stop comes: the warning, which is in no log.

        None if streams end without one.
        """
        await self._word.wait()
        return self._notice
