"""Readers that are slow, stand still, or are there when the supervisor stops."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path

import orjson
import pytest

from supervisor.api.sse import PIECE_BYTES
from supervisor.events.hub import TAIL_BYTES
from supervisor.events.log import BATCH_BYTES
from supervisor.ids import SessionId, TurnId
from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.played_turns import done, text
from tests.worlds.strict_sse import Message, StrictParser
from tests.worlds.waiting import A_WHILE, until

HIGH_WATER = 64 << 10  # uvicorn's
MIB = 1 << 20
TURN = TurnId("turn_1")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    """The API on a port. Nobody is let go."""
    async with api_world(tmp_path, heartbeat_seconds=600) as made:
        yield made


@contextlib.asynccontextmanager
async def asked(world: ApiWorld, path: str) -> AsyncIterator[socket.socket]:
    """A connection that has asked for a stream and reads only what the test takes from it."""
    raw = socket.socket()
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    raw.setblocking(False)
    with contextlib.closing(raw):
        loop = asyncio.get_running_loop()
        await loop.sock_connect(raw, ("127.0.0.1", world.at.port))
        head = f"GET {path} HTTP/1.0\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        await loop.sock_sendall(raw, head.encode())
        seen = b""
        async with asyncio.timeout(A_WHILE):
            while b"retry: 1000\n" not in seen:
                seen += await loop.sock_recv(raw, 1)
        yield raw


async def read_on(raw: socket.socket) -> list[Message]:
    """All that comes up to the end; an abrupt one is none."""
    parser, loop = StrictParser(), asyncio.get_running_loop()
    messages: list[Message] = []
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    async with asyncio.timeout(120):
        while piece := await loop.sock_recv(raw, 1 << 20):
            messages += parser.feed(piece)
    return messages


async def until_read(world: ApiWorld, readers: int) -> None:
    await until(lambda: world.log.hub.all_readers() == readers)


def buffered(world: ApiWorld) -> list[int]:
    """What the server holds for each connection, in bytes."""
    held = [each.transport for each in world.at.server.server_state.connections]
    return [each.get_write_buffer_size() for each in held]


async def say(world: ApiWorld, session: SessionId, size: int, times: int) -> None:
    for _ in range(times):
        await world.log.append(session, TURN, text("x" * size))


async def test_what_is_held_for_readers_that_stand_still_is_bounded(world: ApiWorld) -> None:
    session = await world.session()
    await say(world, session, 50_000, 20)
    path = f"/api/chat/session/{session}/stream"
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(10):
            await stack.enter_async_context(asked(world, path))
        await until_read(world, 10)
        for size, times in ((50_000, 200), (200, 2_000), (MIB, 10)):
            await say(world, session, size, times)
            piece = max(PIECE_BYTES, size + 1000)
            assert max(buffered(world)) <= HIGH_WATER + piece
            assert world.log.hub.bytes <= max(TAIL_BYTES, size + 1000)
        assert len(buffered(world)) == 10
    assert BATCH_BYTES <= 256 << 10


async def test_a_slow_reader_gets_everything_in_order_and_the_others_dont_wait(
    world: ApiWorld,
) -> None:
    session = await world.session()
    path = f"/api/chat/session/{session}/stream?until=done"
    async with asked(world, path) as slow, asked(world, path) as quick:
        reading = asyncio.create_task(read_on(quick))
        await say(world, session, 20_000, 300)
        await world.log.append(session, TURN, done(session))
        heard = await reading
        assert world.log.hub.all_readers() == 1  # the slow one's is still there
        assert [int(each.id) for each in heard] == list(range(1, 302))
        assert [each.data for each in await read_on(slow)] == [each.data for each in heard]


async def test_who_takes_nothing_for_ever_is_let_go(tmp_path: Path) -> None:
    async with api_world(tmp_path, heartbeat_seconds=600, stalled_seconds=0.5) as world:
        session = await world.session()
        async with asked(world, f"/api/chat/session/{session}/stream"):
            await until_read(world, 1)
            await say(world, session, MIB, 12)
            await until_read(world, 0)
            await until(lambda: not world.at.server.server_state.connections)


async def test_control_unguarded_one_who_takes_nothing_stays(world: ApiWorld) -> None:
    session = await world.session()
    async with asked(world, f"/api/chat/session/{session}/stream"):
        await until_read(world, 1)
        await say(world, session, MIB, 12)
        await asyncio.sleep(2)  # not waited for: there is nothing that would come
        assert world.log.hub.all_readers() == 1


@pytest.mark.parametrize("seconds", [0.5])
async def test_who_is_slow_but_reads_stays(tmp_path: Path, seconds: float) -> None:
    async with api_world(tmp_path, heartbeat_seconds=600, stalled_seconds=seconds) as world:
        session = await world.session()
        parser, loop = StrictParser(), asyncio.get_running_loop()
        messages: list[Message] = []
        async with asked(world, f"/api/chat/session/{session}/stream?until=done") as raw:
            await until_read(world, 1)
            await say(world, session, MIB, 8)
            await world.log.append(session, TURN, done(session))
            for sip in count():
                piece = await loop.sock_recv(raw, 1 << 20)
                if not piece:
                    break
                messages += parser.feed(piece)
                if sip < 10:
                    await asyncio.sleep(seconds / 2)
                else:  # it has shown that it stays: now quickly
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        assert [int(each.id) for each in messages] == list(range(1, 10))


class TestAStop:
    async def test_is_told_to_those_who_follow_a_session_and_all_sessions(
        self, world: ApiWorld
    ) -> None:
        session = await world.session()
        await say(world, session, 10, 2)
        paths = (f"/api/chat/session/{session}/stream?after=1", "/api/events/stream")
        for path in paths:
            async with asked(world, path) as raw:
                if path == paths[0]:
                    await until_read(world, 1)
                world.inner.state.closing.announce(5)
                loop, parser = asyncio.get_running_loop(), StrictParser()
                told: list[Message] = []
                async with asyncio.timeout(A_WHILE):
                    while not any(each.event == "warning" for each in told):
                        told += parser.feed(await loop.sock_recv(raw, 1 << 16))
            warning = next(each for each in told if each.event == "warning")
            body = orjson.loads(warning.data)
            assert body["code"] == "shutting_down"
            assert body["at"] > 1_700_000_000
            assert "5 s" in body["message"]
            # It has no number of its own: who comes back does so behind the last event.
            assert warning.id == (told[-2].id if len(told) > 1 else "")

    async def test_is_not_told_twice_where_a_turn_that_runs_tells_it(self, world: ApiWorld) -> None:
        session = await world.session()
        world.turns.running[session] = TURN
        async with asked(world, f"/api/chat/session/{session}/stream") as raw:
            await until_read(world, 1)
            world.inner.state.closing.announce(5)
            await world.turns.say(session, done(session))
            world.close_streams()
            assert [each.event for each in await read_on(raw)] == ["done"]

    async def test_loses_nothing_of_what_a_slow_reader_is_owed(self, world: ApiWorld) -> None:
        session = await world.session()
        async with asked(world, f"/api/chat/session/{session}/stream") as raw:
            await until_read(world, 1)
            await say(world, session, 30_000, 300)
            world.close_streams()
            assert [int(each.id) for each in await read_on(raw)] == list(range(1, 301))
