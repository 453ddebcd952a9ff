"""Which calls an agent's process has said, so that nothing is told of one before the call itself.

A process may ask about a call before it says it: the CLI does for those of sub-agents, which reach
us by way of the agent that started them.
"""

import asyncio
from typing import Final

from supervisor.runtimes.said_queue import SaidQueue

_MOST: Final = 4096
"""How many calls are known, and waited for: the newest."""
_LONGEST_ID: Final = 256
_PATIENCE_SECONDS: Final = 1.0
"""How long a call is waited for that is asked about: a process may never say it."""


class ToldCalls:
    """The newest calls that were said, by their ids, and where in the queue each was put."""

    def __init__(self, said: SaidQueue) -> None:
        self._said = said
        self._places: dict[str, asyncio.Future[int]] = {}

    def note(self, call: str, place: int) -> None:
        """Note that a call was said: as the item of that number."""
        if len(call) <= _LONGEST_ID and not (known := self._place_of(call)).done():
            known.set_result(place)

    async def told(self, call: str) -> None:
        """Return when the turn has told of this call, or when it has not been said in time."""
        if not call or len(call) > _LONGEST_ID:
            return
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                place = await asyncio.shield(self._place_of(call))
        except TimeoutError:
            return
        await self._said.dealt_with(place)
        # The turn says it in a task of its own, which may not have begun: it goes first.
        await asyncio.sleep(0)

    def _place_of(self, call: str) -> asyncio.Future[int]:
        known = self._places.get(call)
        if known is None:
            known = self._places[call] = asyncio.get_running_loop().create_future()
            if len(self._places) > _MOST:
                del self._places[next(iter(self._places))]
        return known
