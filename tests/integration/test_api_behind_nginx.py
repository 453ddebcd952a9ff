"""A stream behind an ordinary nginx: stock `proxy_pass`, no setting made for us."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import orjson
import pytest

from supervisor.api.sse import HEARTBEAT_SECONDS
from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.nginx import nginx
from tests.worlds.played_turns import done, text
from tests.worlds.strict_sse import Message, StrictParser
from tests.worlds.waiting import A_WHILE


@contextlib.asynccontextmanager
async def sent_through(port: int, world: ApiWorld) -> AsyncIterator[AsyncIterator[bytes]]:
    """A message sent through nginx; gives the stream's pieces once its turn runs."""
    async with (
        httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": f"Bearer {TOKEN}"},
            timeout=A_WHILE,
            trust_env=False,
        ) as client,
        client.stream("POST", "/api/chat/stream", json={"message": "go"}) as response,
    ):
        assert response.status_code == 200
        assert world.turns.running
        yield response.aiter_raw()


async def test_each_delta_arrives_before_the_next_one_is_made(tmp_path: Path) -> None:
    async with (
        api_world(tmp_path) as world,
        nginx(tmp_path, world.at.port) as port,
        sent_through(port, world) as pieces,
        asyncio.timeout(A_WHILE),
    ):
        (session,) = world.turns.running
        parser = StrictParser()
        for number in range(5):
            await world.turns.say(session, text(str(number)))
            messages: list[Message] = []
            while not messages:  # the next delta is made only when this one is here
                messages = parser.feed(await anext(pieces))
            assert [orjson.loads(m.data)["delta"] for m in messages] == [str(number)]
        await world.turns.say(session, done(session))
        rest = [m.event async for piece in pieces for m in parser.feed(piece)]
        assert rest == ["done"]


async def test_a_quiet_turn_outlives_the_proxys_patience(tmp_path: Path) -> None:
    """The proxy's 60 s and our 15 s, both scaled down to 1 s and 0.25 s."""
    async with (
        api_world(tmp_path, heartbeat_seconds=0.25) as world,
        nginx(tmp_path, world.at.port, "proxy_read_timeout 1s;") as port,
        sent_through(port, world) as pieces,
        asyncio.timeout(A_WHILE),
    ):
        (session,) = world.turns.running
        parser = StrictParser()
        while parser.comments < 12:  # three times what the proxy would wait
            assert parser.feed(await anext(pieces)) == []
        await world.turns.say(session, done(session))
        assert [m.event async for piece in pieces for m in parser.feed(piece)] == ["done"]


async def test_control_without_comments_the_proxy_cuts_the_stream(tmp_path: Path) -> None:
    async with (
        api_world(tmp_path, heartbeat_seconds=600) as world,
        nginx(tmp_path, world.at.port, "proxy_read_timeout 1s;") as port,
        sent_through(port, world) as pieces,
        asyncio.timeout(A_WHILE),
    ):
        with pytest.raises(httpx.RemoteProtocolError):
            [piece async for piece in pieces]
        assert world.turns.running


def test_the_heartbeat_is_well_within_the_usual_patience_of_a_proxy() -> None:
    assert HEARTBEAT_SECONDS * 3 < 60
