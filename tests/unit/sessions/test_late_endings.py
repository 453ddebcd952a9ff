"""What of an ending can't be written now is written later, once, and in its order."""

import asyncio
from collections.abc import Callable, Coroutine

import pytest

from supervisor.errors import ConfigurationError, SessionNotFound
from supervisor.ids import SessionId
from supervisor.sessions.late_endings import LateEndings
from tests.worlds.waiting import A_WHILE, until

ADA, BOB = SessionId("ada"), SessionId("bob")


class Disk:
    """Takes what is written as long as it has room."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.is_full = True

    def write(self, what: str) -> Callable[[], Coroutine[None, None, None]]:
        async def written() -> None:
            await asyncio.sleep(0)
            if self.is_full:
                raise ConfigurationError("the disk is full")
            self.written.append(what)

        return written


async def test_they_are_written_in_their_order_once_there_is_room() -> None:
    disk = Disk()
    async with LateEndings(seconds=0.01) as late:
        late.keep(ADA, [disk.write("event"), disk.write("row")])
        await asyncio.sleep(0.05)
        assert disk.written == []
        disk.is_full = False
        await until(lambda: len(disk.written) == 2)
        late.keep(BOB, [disk.write("another's")])
        await until(lambda: len(disk.written) == 3)
    assert disk.written == ["event", "row", "another's"]


async def test_what_a_session_waits_for_is_written_before_it_goes_on_or_it_is_told_why() -> None:
    disk = Disk()
    async with LateEndings(seconds=A_WHILE) as late:
        late.keep(ADA, [disk.write("event"), disk.write("row")])
        with pytest.raises(ConfigurationError):
            await late.settle(ADA)
        await late.settle(BOB)
        disk.is_full = False
        await asyncio.gather(late.settle(ADA), late.settle(ADA))
    assert disk.written == ["event", "row"]


async def test_what_is_of_a_session_that_is_gone_is_given_up() -> None:
    disk = Disk()
    disk.is_full = False

    async def of_no_session() -> None:
        raise SessionNotFound("no session has this id")

    async with LateEndings(seconds=A_WHILE) as late:
        late.keep(ADA, [of_no_session, disk.write("row")])
        await late.settle(ADA)
    assert disk.written == ["row"]


async def test_one_that_breaks_keeps_no_other_from_being_written() -> None:
    disk = Disk()
    disk.is_full = False

    async def broken() -> None:
        raise ValueError("a fault of ours")

    async with LateEndings(seconds=0.01) as late:
        late.keep(ADA, [broken])
        late.keep(BOB, [disk.write("row")])
        await until(lambda: disk.written)


async def test_leaving_gives_up_what_can_not_be_written() -> None:
    disk = Disk()
    async with asyncio.timeout(A_WHILE), LateEndings(seconds=0.01) as late:
        late.keep(ADA, [disk.write("row")])
    disk.is_full = False
    await asyncio.sleep(0.05)
    assert disk.written == []
