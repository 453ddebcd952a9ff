"""Calls: nothing is told of one before the call itself, and nothing waits for what never comes."""

import asyncio
import contextlib

import pytest

from supervisor.events.schema import Event, TextEvent, ToolUse, ToolUseEvent
from supervisor.runtimes.said_queue import SaidQueue
from supervisor.runtimes.told_calls import ToldCalls
from supervisor.sessions.ahead import ahead
from tests.worlds.waiting import A_WHILE

SAID_IN_TIME = 0.3
"""Seconds: well within what a call is waited for."""


def call(name: str) -> ToolUseEvent:
    return ToolUseEvent(tool=ToolUse(id=name, name="Bash", input={}))


async def _say(said: SaidQueue, calls: ToldCalls, *names: str) -> None:
    for name in names:
        calls.note(name, await said.put(call(name)))


@pytest.mark.parametrize("steps", [0, 1, 7, 100])
@pytest.mark.parametrize("is_asked_first", [True, False])
async def test_who_is_asked_about_a_call_hears_of_it_after_the_turn_has_told_of_it(
    steps: int,
    is_asked_first: bool,
) -> None:
    """However slow the turn is, and whichever the process says first."""
    said = SaidQueue()
    calls = ToldCalls(said)
    order: list[str] = []

    async def tell() -> None:
        while True:
            each = await said.get()
            for _ in range(steps):
                await asyncio.sleep(0)
            order.append(each.tool.id if isinstance(each, ToolUseEvent) else "text")

    async def ask(name: str) -> None:
        await calls.told(name)
        order.append(f"asked about {name}")

    async with asyncio.timeout(A_WHILE), asyncio.TaskGroup() as group:
        telling = group.create_task(tell())
        if not is_asked_first:
            await _say(said, calls, "a", "b")
        asking = [group.create_task(ask(name)) for name in ("b", "a")]
        if is_asked_first:
            await asyncio.sleep(0)
            await _say(said, calls, "a", "b")
        await asyncio.wait(asking)
        telling.cancel()
    assert sorted(order) == ["a", "asked about a", "asked about b", "b"]
    assert order.index("asked about a") > order.index("a")
    assert order.index("asked about b") > order.index("b")


async def test_what_a_turn_says_ahead_is_under_way_before_the_asker_goes_on() -> None:
    """The turn says each event in a task of its own, and comes back before that has begun."""
    said = SaidQueue()
    calls = ToldCalls(said)
    order: list[str] = []

    async def say(event: Event) -> None:
        order.append(type(event).__name__)

    async def tell() -> None:
        async with ahead(say) as told:
            while True:
                each = await said.get()
                assert isinstance(each, Event)
                await told(each)

    async def ask(name: str) -> None:
        await calls.told(name)
        order.append("asked")

    telling = asyncio.create_task(tell())
    for number in range(50):
        asking = asyncio.create_task(ask(str(number)))
        for _ in range(number % 5):
            await asyncio.sleep(0)
        await _say(said, calls, str(number))
        async with asyncio.timeout(A_WHILE):
            await asking
    telling.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await telling
    assert order == ["ToolUseEvent", "asked"] * 50


async def test_other_words_that_keep_coming_hold_nobody_up() -> None:
    said = SaidQueue()
    calls = ToldCalls(said)
    asking = asyncio.create_task(calls.told("a"))
    await _say(said, calls, "a")
    async with asyncio.timeout(A_WHILE):
        while not asking.done():
            await said.put(TextEvent(delta="on and on"))
            await said.put(TextEvent(delta="on and on"))
            await said.get()
            await asyncio.sleep(0)


@pytest.mark.parametrize("name", ["never said", "", "x" * 10_000])
async def test_a_call_that_is_never_said_is_waited_for_no_longer_than_a_moment(name: str) -> None:
    said = SaidQueue()
    calls = ToldCalls(said)
    await _say(said, calls, "another", "x" * 10_000)
    async with asyncio.timeout(5):
        await calls.told(name)


async def test_what_was_said_by_the_thousand_is_not_kept_and_the_newest_is() -> None:
    said = SaidQueue()
    calls = ToldCalls(said)
    first = asyncio.create_task(calls.told("first"))
    await asyncio.sleep(0)
    for number in range(10_000):
        calls.note(f"call {number}", 0)
    async with asyncio.timeout(SAID_IN_TIME):
        await calls.told("call 9999")  # what nobody took is dealt with from the start
    assert not first.done()
    async with asyncio.timeout(5):
        await first


async def test_one_that_gives_up_takes_nobody_else_along() -> None:
    said = SaidQueue()
    calls = ToldCalls(said)
    one, other = (asyncio.create_task(calls.told("a")) for _ in range(2))
    await asyncio.sleep(0)
    one.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await one
    await _say(said, calls, "a")
    await said.get()
    assert not other.done()  # taken, but not told yet
    coming_back = asyncio.create_task(said.get())
    async with asyncio.timeout(A_WHILE):
        await other
    coming_back.cancel()
