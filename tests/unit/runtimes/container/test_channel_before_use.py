"""A channel that nobody reads yet: whether it was silent, and what stirs it, is told unread."""

import asyncio
import socket
from collections.abc import Iterator
from typing import Any, cast

import pytest

from supervisor.runtimes.container.channel import ContainerChannel
from tests.worlds.waiting import A_WHILE

LINE = b"hello\n"
FRAME = b"\x01\0\0\0" + len(LINE).to_bytes(4, "big") + LINE


class Line:
    """A channel, and the engine's end of its socket."""

    def __init__(self) -> None:
        ours, self.engines = socket.socketpair()
        ours.setblocking(False)
        self.channel = ContainerChannel(ours, *cast("tuple[Any, Any, Any]", (None, None, None)))


@pytest.fixture(name="line")
def line_fixture() -> Iterator[Line]:
    line = Line()
    yield line
    line.channel.close()
    line.engines.close()


async def test_one_that_has_said_nothing_is_silent(line: Line) -> None:
    assert line.channel.is_silent


async def test_whatever_it_says_ends_its_silence_and_is_still_there_to_be_read(line: Line) -> None:
    stirred = asyncio.ensure_future(line.channel.stirred())
    await asyncio.sleep(0)
    assert not stirred.done()
    line.engines.send(FRAME)
    async with asyncio.timeout(A_WHILE):
        assert await stirred is False
    assert not line.channel.is_silent
    assert await line.channel.first_line(100) == LINE.strip()


async def test_what_came_behind_its_first_line_ends_its_silence(line: Line) -> None:
    more = LINE + b"and more"
    line.engines.send(b"\x01\0\0\0" + len(more).to_bytes(4, "big") + more)
    assert await line.channel.first_line(100) == LINE.strip()
    assert not line.channel.is_silent


async def test_one_that_closed_is_not_silent_and_is_told_as_closed(line: Line) -> None:
    line.engines.close()
    async with asyncio.timeout(A_WHILE):
        assert await line.channel.stirred() is True
    assert not line.channel.is_silent


async def test_whoever_gives_up_waiting_leaves_it_readable(line: Line) -> None:
    stirred = asyncio.ensure_future(line.channel.stirred())
    await asyncio.sleep(0)
    stirred.cancel()
    await asyncio.wait({stirred})
    line.engines.send(FRAME)
    assert await line.channel.first_line(100) == LINE.strip()
    assert line.channel.is_silent


async def test_descriptors_beyond_what_select_takes_are_looked_at_as_well() -> None:
    many = [socket.socket() for _ in range(1100)]
    line = Line()
    try:
        assert line.channel.is_silent
        line.engines.send(FRAME)
        assert not line.channel.is_silent
    finally:
        line.channel.close()
        for each in (line.engines, *many):
            each.close()
