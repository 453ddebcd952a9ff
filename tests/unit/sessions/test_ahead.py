"""Saying ahead: order, the end of the block, errors, and a bound on what is under way."""

import asyncio

import pytest

from supervisor.errors import StorageBusy
from supervisor.events.schema import Event, TextEvent
from supervisor.sessions.ahead import ahead
from tests.worlds.waiting import A_WHILE, until


class Store:
    """Takes events in at once and stores them when it is let."""

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.stored: list[str] = []
        self.let = asyncio.Event()

    async def say(self, event: Event) -> None:
        assert isinstance(event, TextEvent)
        self.taken.append(event.delta)
        await self.let.wait()
        self.stored.append(event.delta)


async def test_events_are_taken_in_order_before_the_first_is_stored() -> None:
    store = Store()
    async with asyncio.timeout(A_WHILE), ahead(store.say) as tell:
        for number in range(100):
            await tell(TextEvent(delta=str(number)))
        await until(lambda: len(store.taken) == 100)
        assert store.stored == []
        store.let.set()
    assert store.taken == store.stored == [str(number) for number in range(100)]


async def test_the_block_is_left_only_when_all_is_stored() -> None:
    store = Store()
    left = asyncio.Event()

    async def speak() -> None:
        async with ahead(store.say) as tell:
            await tell(TextEvent(delta="a"))
        left.set()

    async with asyncio.timeout(A_WHILE), asyncio.TaskGroup() as group:
        group.create_task(speak())
        await until(lambda: store.taken)
        assert not left.is_set()
        store.let.set()
    assert store.stored == ["a"]


async def test_what_could_not_be_stored_is_raised() -> None:
    async def refuse(_event: Event) -> None:
        raise StorageBusy("the disk is busy")

    with pytest.raises(StorageBusy):
        async with ahead(refuse) as tell:
            await tell(TextEvent(delta="a"))


async def test_large_events_wait_for_room() -> None:
    store = Store()
    whole = "x" * (3 << 20)

    async def speak() -> None:
        async with ahead(store.say) as tell:
            await tell(TextEvent(delta=whole))
            await tell(TextEvent(delta=whole))

    async with asyncio.timeout(A_WHILE), asyncio.TaskGroup() as group:
        group.create_task(speak())
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(store.taken) == 1
        store.let.set()
    assert len(store.stored) == 2
