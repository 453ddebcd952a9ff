"""How long a test waits for what should come, at the most: one bound for all of them."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from supervisor.runtimes.waiting import WaitingRoom

A_WHILE: Final = 120.0
"""Seconds. Nothing is concluded from its length; it costs nothing where all is well, and a machine
that is busy with other things is no fault of ours."""

SOON: Final = 30.0
"""Seconds. For what is promised to come soon: less than what would end it by itself."""


async def until(holds: Callable[[], object]) -> None:
    """Wait until something holds that nobody tells of; looks anew every few milliseconds."""
    async with asyncio.timeout(A_WHILE):
        while not holds():
            await asyncio.sleep(0.005)


@contextmanager
def patient_rooms() -> Iterator[None]:
    """Turns wait as long as it takes for a sandbox that is being made ahead of them.

    Else a machine that is busy with other things would decide which of two ways a turn takes.
    """
    with pytest.MonkeyPatch.context() as patch:
        defaults = {**(WaitingRoom.__init__.__kwdefaults__ or {}), "patience": A_WHILE}
        patch.setattr(WaitingRoom.__init__, "__kwdefaults__", defaults)
        yield
