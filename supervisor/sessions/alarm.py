"""A turn's alarm: rung where a honeytoken shows up, it ends the turn and is recorded once.

Between the places that look (`runtimes/honeytokens.py`) and `turn.py`, which cuts the turn off.
"""

import asyncio
from collections.abc import Awaitable, Callable

from supervisor.errors import HoneytokenTripped, TrustfloorError
from supervisor.runtimes.honeytokens import Honeytokens, Trip, tripped

Record = Callable[[Trip], Awaitable[object]]
"""Writes the incident down; raises nothing that would keep the turn from ending."""


async def _nobody(_trip: Trip) -> None:
    """Records nothing."""


class Alarm:
    """Listens to one turn's honeytokens. Rung in the event loop's thread alone."""

    def __init__(self, honeytokens: Honeytokens | None = None, record: Record = _nobody) -> None:
        self._honeytokens = honeytokens
        self._record = record
        self._recorded = False
        self._rung = asyncio.Event()
        if honeytokens is not None:
            honeytokens.listen(self._rung.set)

    async def heard(self) -> None:
        """Wait until it is rung."""
        await self._rung.wait()

    async def cause(self, last: object = None) -> HoneytokenTripped | None:
        """How the turn ends if it was rung, now recorded; None if it wasn't.

        `last` is what was heard last: an error, whose words may be the agent process's own.
        """
        if self._honeytokens is None:
            return None
        if isinstance(last, TrustfloorError):
            words = f"{last.message} {last.where}"
            self._honeytokens.check(words, "the agent process's last words")
        trip = self._honeytokens.tripped
        if trip is None:
            return None
        if not self._recorded:
            self._recorded = True
            await self._record(trip)
        return tripped(trip)
