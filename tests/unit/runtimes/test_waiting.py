"""What is kept for a session's next turn: taken once, by who it fits, or let go."""

import asyncio

import pytest

from supervisor.errors import EngineRefused
from supervisor.runtimes.waiting import WaitingRoom
from tests.worlds.kept_ready import ADA, BOB, EVE, TURN, Made, a_maker, gone
from tests.worlds.waiting import A_WHILE, until


@pytest.fixture
def made() -> Made:
    return a_maker()


async def test_what_was_made_is_taken_once(made: Made) -> None:
    async with WaitingRoom[str](1, A_WHILE) as room:
        room.expect(ADA, "fit", made.open)
        held = await room.take(ADA, "fit", TURN)
        assert held is not None
        assert held.value == f"made under {made.opened[0]}"
        assert await room.take(ADA, "fit", TURN) is None
        assert made.closed == []
        await held.end()
        await held.end()
        assert made.closed == made.opened


async def test_it_is_entered_and_left_in_one_task_whoever_takes_it(made: Made) -> None:
    async with WaitingRoom[str](1, A_WHILE) as room:
        room.expect(ADA, "fit", made.open)
        held = await room.take(ADA, "fit", TURN)
        assert held is not None
        await asyncio.create_task(held.end())
        (tasks,) = made.tasks.values()
        assert len(tasks) == 1


async def test_its_mark_counts_as_in_use_from_before_its_making_to_after_its_end(
    made: Made,
) -> None:
    made.may_open.clear()
    async with WaitingRoom[str](1, A_WHILE) as room:
        room.expect(ADA, "fit", made.open)
        assert len(room.ids) == 1
        assert room.waiting == set()
        made.may_open.set()
        await until(lambda: room.waiting == room.ids)
        held = await room.take(ADA, "fit", TURN)
        assert held is not None
        assert room.ids == set(made.opened)
        assert room.waiting == set()
        await held.end()
        assert room.ids == set()


async def test_who_it_does_not_fit_gets_nothing_and_it_is_let_go(made: Made) -> None:
    async with WaitingRoom[str](1, A_WHILE) as room:
        room.expect(ADA, "fit", made.open)
        assert await room.take(ADA, "another", TURN) is None
        assert await room.take(ADA, "fit", TURN) is None
        await gone(room)
    assert made.opened == []  # its making was broken off


async def test_no_session_takes_what_was_made_for_another(made: Made) -> None:
    async with WaitingRoom[str](2, A_WHILE) as room:
        room.expect(ADA, "fit", made.open)
        assert await room.take(BOB, "fit", TURN) is None
        assert await room.take(ADA, "fit", TURN) is not None


async def test_who_comes_while_it_is_made_waits_for_it(made: Made) -> None:
    made.may_open.clear()
    async with WaitingRoom[str](1, A_WHILE) as room:
        room.expect(ADA, "fit", made.open)
        taking = asyncio.create_task(room.take(ADA, "fit", TURN))
        await asyncio.sleep(0)
        assert not taking.done()
        made.may_open.set()
        assert await taking is not None


async def test_nobody_waits_long_for_what_is_still_being_made(made: Made) -> None:
    made.may_open.clear()
    async with WaitingRoom[str](1, A_WHILE, patience=0.01) as room:
        room.expect(ADA, "fit", made.open)
        assert await room.take(ADA, "fit", TURN) is None
        await gone(room)


async def test_a_taker_that_gives_up_lets_it_go(made: Made) -> None:
    made.may_open.clear()
    async with WaitingRoom[str](1, A_WHILE) as room:
        room.expect(ADA, "fit", made.open)
        taking = asyncio.create_task(room.take(ADA, "fit", TURN))
        await asyncio.sleep(0)
        taking.cancel()
        await asyncio.wait({taking})
        await gone(room)


@pytest.mark.parametrize("broken", [EngineRefused("no"), ValueError("a fault of ours")])
async def test_what_can_not_be_made_is_not_there_and_the_others_are(
    made: Made, broken: Exception
) -> None:
    other = Made(breaks=broken)
    other.may_open.set()
    async with WaitingRoom[str](2, A_WHILE) as room:
        room.expect(ADA, "fit", made.open)
        room.expect(BOB, "fit", other.open)
        assert await room.take(BOB, "fit", TURN) is None
        assert await room.take(ADA, "fit", TURN) is not None


async def test_the_longest_there_gives_way_to_one_too_many(made: Made) -> None:
    async with WaitingRoom[str](2, A_WHILE) as room:
        for session in (ADA, BOB, EVE):
            room.expect(session, "fit", made.open)
        assert await room.take(ADA, "fit", TURN) is None
        assert await room.take(BOB, "fit", TURN) is not None
        assert await room.take(EVE, "fit", TURN) is not None


async def test_taken_ones_take_nobodys_place(made: Made) -> None:
    async with WaitingRoom[str](1, A_WHILE) as room:
        room.expect(ADA, "fit", made.open)
        held = await room.take(ADA, "fit", TURN)
        room.expect(BOB, "fit", made.open)
        assert held is not None
        assert await room.take(BOB, "fit", TURN) is not None
        assert made.closed == []


async def test_a_new_one_takes_the_old_ones_place(made: Made) -> None:
    async with WaitingRoom[str](2, A_WHILE) as room:
        room.expect(ADA, "old", made.open)
        room.expect(ADA, "new", made.open)
        assert await room.take(ADA, "new", TURN) is not None
        assert len(made.opened) == 1


async def test_what_nobody_takes_in_time_is_let_go(made: Made) -> None:
    async with WaitingRoom[str](1, 0.01) as room:
        room.expect(ADA, "fit", made.open)
        await gone(room)
        assert made.closed == made.opened
        assert await room.take(ADA, "fit", TURN) is None


async def test_what_was_taken_in_time_stays_as_long_as_it_is_used(made: Made) -> None:
    async with WaitingRoom[str](1, 0.05) as room:
        room.expect(ADA, "fit", made.open)
        held = await room.take(ADA, "fit", TURN)
        await asyncio.sleep(0.1)
        assert held is not None
        assert made.closed == []


async def test_leaving_the_room_lets_all_of_it_go(made: Made) -> None:
    async with WaitingRoom[str](3, A_WHILE) as room:
        room.expect(ADA, "fit", made.open)
        held = await room.take(ADA, "fit", TURN)
        room.expect(BOB, "fit", made.open)
        assert held is not None
    assert set(made.closed) >= set(made.opened)
    assert room.ids == set()
    room.expect(EVE, "fit", made.open)
    assert room.ids == set()


async def test_a_room_for_none_makes_nothing(made: Made) -> None:
    async with WaitingRoom[str](0, A_WHILE) as room:
        room.expect(ADA, "fit", made.open)
        assert room.ids == set()
        assert await room.take(ADA, "fit", TURN) is None


async def test_all_that_waits_gives_way_and_is_gone_by_then_but_not_what_was_taken(
    made: Made,
) -> None:
    async with WaitingRoom[str](2, A_WHILE) as room:
        room.expect(ADA, "fit", made.open)
        held = await room.take(ADA, "fit", TURN)
        assert held is not None
        assert not await room.give_way()
        for session in (BOB, EVE):
            room.expect(session, "fit", made.open)
        assert await room.give_way()
        assert room.ids == set(made.opened[:1])
        assert not room.waiting
        await held.end()
