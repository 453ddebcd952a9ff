"""One turn at a time in a session, and words from outside that reach only a living turn."""

import asyncio

import pytest

from supervisor.errors import SessionBusy
from supervisor.events.schema import Event, WarningEvent
from supervisor.ids import SessionId, TurnId
from supervisor.sessions.lane import Lanes
from tests.worlds.waiting import A_WHILE

ONE, OTHER = SessionId("one"), SessionId("other")
FIRST, SECOND = TurnId("turn_1"), TurnId("turn_2")


async def test_a_second_turn_of_a_session_is_refused_and_of_another_is_not() -> None:
    lanes = Lanes()
    await lanes.enter(ONE, FIRST)
    with pytest.raises(SessionBusy) as busy:
        await lanes.enter(ONE, SECOND)
    assert busy.value.where == ONE
    await lanes.enter(OTHER, SECOND)
    assert lanes.living_turns() == {FIRST, SECOND}


async def test_a_lane_that_was_left_can_be_taken_again() -> None:
    lanes = Lanes()
    lanes.leave(await lanes.enter(ONE, FIRST))
    assert lanes.living_turns() == set()
    assert (await lanes.enter(ONE, SECOND)).turn_id == SECOND


async def test_who_comes_while_the_ending_is_written_waits_and_then_enters() -> None:
    lanes = Lanes()
    lane = await lanes.enter(ONE, FIRST)
    lane.is_ending = True
    waiting = [asyncio.create_task(lanes.enter(ONE, TurnId(f"turn_{n}"))) for n in (2, 3)]
    await asyncio.sleep(0)
    assert not any(each.done() for each in waiting)
    lanes.leave(lane)
    async with asyncio.timeout(A_WHILE):
        ended = await asyncio.gather(*waiting, return_exceptions=True)
    assert sorted(type(each).__name__ for each in ended) == ["Lane", "SessionBusy"]


async def test_leaving_twice_takes_nobody_elses_lane() -> None:
    lanes = Lanes()
    first = await lanes.enter(ONE, FIRST)
    lanes.leave(first)
    second = await lanes.enter(ONE, SECOND)
    lanes.leave(first)
    assert lanes.find(ONE) is second


async def test_a_turn_whose_ending_is_written_is_found_by_nobody_but_still_lives() -> None:
    lanes = Lanes()
    lane = await lanes.enter(ONE, FIRST)
    lane.is_ending = True
    assert lanes.find(ONE) is None
    assert lanes.all() == []
    assert lanes.living_turns() == {FIRST}  # what it owns is not swept away under it


async def test_the_first_word_to_stop_is_the_one_that_counts() -> None:
    lane = await Lanes().enter(ONE, FIRST)
    lane.stop.tell("enough")
    lane.stop.tell("something else")
    async with asyncio.timeout(A_WHILE):
        await lane.stop.heard()
    assert lane.stop.reason == "enough"


async def test_what_is_said_for_a_turn_reaches_it_only_while_it_plays() -> None:
    lanes, said = Lanes(), list[Event]()
    lane = await lanes.enter(ONE, FIRST)
    word = WarningEvent(code="c", message="m")

    async def say(event: Event) -> None:
        said.append(event)

    await lanes.say(ONE, FIRST, word)  # it isn't playing yet
    lane.say = say
    await lanes.say(ONE, SECOND, word)
    await lanes.say(OTHER, FIRST, word)
    assert said == []
    await lanes.say(ONE, FIRST, word)
    lane.is_ending = True
    await lanes.say(ONE, FIRST, word)
    assert said == [word]


async def test_empty_waits_for_every_lane() -> None:
    lanes = Lanes()
    held = [await lanes.enter(ONE, FIRST), await lanes.enter(OTHER, SECOND)]
    waiting = asyncio.create_task(lanes.empty())
    for lane in held:
        await asyncio.sleep(0)
        assert not waiting.done()
        lanes.leave(lane)
    async with asyncio.timeout(A_WHILE):
        await waiting
