"""What can't be done now is tried again, ever more rarely, until it is dropped."""

import asyncio

import pytest

from supervisor.later import Later
from tests.worlds.waiting import A_WHILE


class Work:
    """Can't be done until it has been tried so many times."""

    def __init__(self, tries: int, *, soonest: float = 1.0) -> None:
        self.tries = tries
        self.tried = 0
        self.done = asyncio.Event()
        self.later = Later(self.work, soonest=soonest, latest=5.0)

    async def work(self) -> None:
        self.tried += 1
        if self.tried == self.tries:
            self.later.drop()
            self.done.set()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, in seconds; none of them takes any time."""
    noted: list[float] = []
    sleep = asyncio.sleep

    async def no_time(seconds: float) -> None:
        noted.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", no_time)
    return noted


async def test_nothing_is_tried_that_nobody_wants() -> None:
    work = Work(tries=1, soonest=0.0)
    async with asyncio.timeout(A_WHILE), work.later:
        await asyncio.sleep(0.05)
        assert (work.tried, work.later.is_wanted) == (0, False)
        work.later.want()  # control: what is wanted is tried at once
        await work.done.wait()


async def test_pauses_grow_up_to_a_bound_and_begin_anew_once_it_was_done(
    pauses: list[float],
) -> None:
    work = Work(tries=5)
    async with asyncio.timeout(A_WHILE), work.later:
        work.later.want()
        await work.done.wait()
        assert pauses == [1.0, 2.0, 4.0, 5.0, 5.0]
        work.tries += 2
        work.done.clear()
        work.later.want()
        await work.done.wait()
    assert pauses[5:] == [1.0, 2.0]


async def test_leaving_gives_up_a_try_that_never_ends() -> None:
    begun = asyncio.Event()

    async def endless() -> None:
        begun.set()
        await asyncio.Event().wait()

    async with asyncio.timeout(A_WHILE), Later(endless, soonest=0, latest=0) as later:
        later.want()
        await begun.wait()
