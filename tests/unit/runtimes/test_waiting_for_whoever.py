"""What is kept for the turn of whichever session comes first."""

import asyncio

import pytest

from supervisor.errors import EngineRefused
from supervisor.runtimes.waiting import WaitingRoom
from tests.worlds.kept_ready import ADA, BOB, EVE, TURN, Made, a_maker, gone
from tests.worlds.waiting import A_WHILE, until


@pytest.fixture
def made() -> Made:
    return a_maker()


async def all_ready(room: WaitingRoom[str], number: int) -> None:
    """Wait until so many are ready."""
    await until(lambda: len(room.waiting) >= number)


async def test_as_many_are_made_as_may_be_kept_and_each_is_taken_once(made: Made) -> None:
    async with WaitingRoom[str](2, A_WHILE) as room:
        room.fill(made.open)
        await all_ready(room, 2)
        taken = [await room.take_any(each, TURN) for each in (ADA, BOB, EVE)]
        assert [each and each.value for each in taken] == [
            *(f"made under {mark}" for mark in made.opened),
            None,
        ]


async def test_with_no_time_limit_it_stays_until_somebody_comes(made: Made) -> None:
    async with WaitingRoom[str](1, 0.01) as short, WaitingRoom[str](1, None) as endless:
        for room in (endless, short):
            room.fill(made.open)
            await all_ready(room, 1)
        await gone(short)
        assert await short.take_any(ADA, TURN) is None
        assert await endless.take_any(ADA, TURN) is not None


async def test_it_belongs_to_nobody_until_it_is_taken(made: Made) -> None:
    async with WaitingRoom[str](1, A_WHILE) as room:
        room.fill(made.open)
        await all_ready(room, 1)
        assert room.owners == {}
        held = await room.take_any(ADA, TURN)
        assert held is not None
        assert room.owners == {made.opened[0]: ADA}
        await held.end()
        assert room.owners == {}


async def test_only_what_is_missing_is_made_again(made: Made) -> None:
    async with WaitingRoom[str](2, A_WHILE) as room:
        room.fill(made.open)
        room.fill(made.open)
        await all_ready(room, 2)
        assert await room.take_any(ADA, TURN) is not None
        room.fill(made.open)
        await all_ready(room, 2)
        assert len(made.opened) == 3


async def test_nobody_waits_for_what_is_still_being_made_and_it_is_made_on(made: Made) -> None:
    made.may_open.clear()
    async with WaitingRoom[str](1, A_WHILE) as room:
        room.fill(made.open)
        await asyncio.sleep(0)
        assert await room.take_any(ADA, TURN) is None
        made.may_open.set()
        await all_ready(room, 1)
        assert await room.take_any(ADA, TURN) is not None


async def test_what_is_kept_for_a_session_is_not_for_whoever_comes_nor_the_other_way_round(
    made: Made,
) -> None:
    async with WaitingRoom[str](2, A_WHILE) as room:
        room.expect(ADA, "fit", made.open)
        await all_ready(room, 1)
        assert await room.take_any(BOB, TURN) is None
        room.fill(made.open)
        await all_ready(room, 3)
        room.forget(BOB, "gone")
        assert await room.take(BOB, "fit", TURN) is None
        assert await room.take(ADA, "fit", TURN) is not None


async def test_it_gives_way_goes_in_time_and_goes_with_the_room(made: Made) -> None:
    async with WaitingRoom[str](1, A_WHILE) as room:
        room.fill(made.open)
        await all_ready(room, 1)
        assert await room.give_way()
        assert not room.ids
        room.fill(made.open)
        await all_ready(room, 1)
    assert made.closed == made.opened
    async with WaitingRoom[str](1, 0.01) as room:
        room.fill(made.open)
        await gone(room)
        assert await room.take_any(ADA, TURN) is None
    room.fill(made.open)
    assert not room.ids


async def test_what_cant_be_made_isnt_there_and_is_tried_again_when_it_is_asked_for(
    made: Made,
) -> None:
    made.breaks = EngineRefused("no room")
    async with WaitingRoom[str](1, A_WHILE) as room:
        room.fill(made.open)
        await gone(room)
        made.breaks = None
        room.fill(made.open)
        await all_ready(room, 1)


async def test_nothing_is_begun_in_a_room_that_is_closed_for_a_while(made: Made) -> None:
    async with WaitingRoom[str](1, A_WHILE) as room:
        room.fill(made.open)
        await all_ready(room, 1)
        with room.closed():
            assert await room.give_way()
            room.fill(made.open)
            room.expect(ADA, "fit", made.open)
            assert not room.ids
        room.fill(made.open)
        await all_ready(room, 1)


async def test_nothing_is_made_where_none_may_be_kept(made: Made) -> None:
    async with WaitingRoom[str](0, A_WHILE) as room:
        room.fill(made.open)
        assert not room.ids
