"""Two things that are waited for at once."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar, cast

A = TypeVar("A")
B = TypeVar("B")


async def together(first: Awaitable[A], second: Awaitable[B]) -> tuple[A, B]:
    """Both outcomes, waited for side by side; raises the first's error before the second's.

    Neither is left alone: both have ended when this returns or raises.
    """
    outcomes = await asyncio.gather(first, second, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return cast("tuple[A, B]", tuple(outcomes))
