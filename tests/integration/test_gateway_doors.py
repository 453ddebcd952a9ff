"""A turn's door to the gateway: a socket of its own, which goes with it and takes only so much."""

import asyncio
import stat
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from pydantic import SecretStr

from supervisor.errors import TurnFailed
from supervisor.gateway.door import MAX_CONNECTIONS, Gateway
from supervisor.gateway.proxy import Upstream
from supervisor.gateway.unix_socket import short_path
from supervisor.ids import new_session_id, new_turn_id
from tests.worlds.model import (
    BOUNDED,
    access,
    ask,
    client,
    door_to,
    recorder,
    request_body,
    scripted,
)


async def test_two_doors_at_once_do_not_mix(tmp_path: Path) -> None:
    both = asyncio.Barrier(2)

    async def together(request: web.Request) -> web.StreamResponse:
        await asyncio.wait_for(both.wait(), BOUNDED)
        tokens = len(await request.read())
        return web.json_response({"usage": {"input_tokens": tokens, "output_tokens": 1}})

    async with (
        recorder(tmp_path, together) as upstream,
        Gateway(Upstream("http://x", SecretStr("k"), upstream.socket_path)) as gateway,
        AsyncExitStack() as stack,
    ):
        doors, clients = [], []
        for name, glob in (("a", "claude-*"), ("b", "other-*")):
            path = tmp_path / f"{name}.sock"
            door = gateway.open_door(
                session_id=new_session_id(),
                turn_id=new_turn_id(),
                access=access(glob),
                socket_path=path,
            )
            doors.append(await stack.enter_async_context(door))
            clients.append(await stack.enter_async_context(client(path)))
        first, second = await asyncio.gather(
            ask(clients[0], model="claude-x"), ask(clients[1], model="other-x", prompt="x" * 500)
        )
        assert (first[0], second[0]) == (200, 200)
        assert (await ask(clients[1], model="claude-x"))[0] == 404
    assert doors[0].refusals == []
    assert len(doors[1].refusals) == 1
    assert doors[0].spending.input_tokens + 400 < doors[1].spending.input_tokens


async def test_a_door_that_was_given_up_while_it_opened_takes_nothing_from_the_next(
    tmp_path: Path,
) -> None:
    async with (
        scripted(tmp_path),
        Gateway(Upstream("http://x", SecretStr("k"), tmp_path / "model.sock")) as gateway,
    ):

        @asynccontextmanager
        async def opened(name: str) -> AsyncIterator[Path]:
            path = tmp_path / f"{name}.sock"
            async with gateway.open_door(
                session_id=new_session_id(),
                turn_id=new_turn_id(),
                access=access(),
                socket_path=path,
            ):
                yield path

        async def held() -> None:
            async with opened("first"):
                await asyncio.Event().wait()

        for steps_taken in range(12):  # from before the first to where it is open
            first = asyncio.create_task(held())
            for _ in range(steps_taken):
                await asyncio.sleep(0)
            first.cancel()
            await asyncio.wait({first})
            assert first.cancelled()
            async with opened("second") as path, client(path) as http:
                assert (await ask(http))[0] == 200


async def test_a_closed_door_ends_open_requests_and_leaves_nothing(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def endless(_request: web.Request) -> web.StreamResponse:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    folder = tmp_path / "run"
    folder.mkdir()
    async with recorder(tmp_path, endless) as upstream, AsyncExitStack() as stack:
        async with asyncio.timeout(BOUNDED):
            async with door_to(upstream.socket_path, folder / "door.sock"):
                mode = (folder / "door.sock").stat().st_mode
                assert stat.S_ISSOCK(mode)
                assert stat.S_IMODE(mode) == 0o666
                http = await stack.enter_async_context(client(folder / "door.sock"))
                task = asyncio.create_task(http.post("/v1/messages", json=request_body()))
                await begun.wait()
            with pytest.raises(aiohttp.ClientError):
                await task
            await upstream.left.wait()
        assert list(folder.iterdir()) == []
        with pytest.raises(aiohttp.ClientError):
            await ask(http)


async def test_a_path_longer_than_the_kernel_takes_works(tmp_path: Path) -> None:
    folder = tmp_path / ("long-" * 20) / ("ü " * 40) / ("deeper-" * 20)
    folder.mkdir(parents=True)
    assert len(str(folder)) > 300
    async with (
        recorder(folder) as upstream,
        door_to(upstream.socket_path, folder / "door.sock"),
        client(folder / "door.sock") as http,
    ):
        assert (await ask(http))[0] == 200
    assert list(folder.iterdir()) == []


async def test_a_socket_that_can_not_be_made_fails_the_turn(tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    for path in (tmp_path / "missing" / "door.sock", tmp_path / "taken"):
        with pytest.raises(TurnFailed) as caught:
            async with door_to(tmp_path / "nobody.sock", path):
                pass
        assert caught.value.where == str(path)
    assert (tmp_path / "taken").exists()


async def raw_connections(path: Path, count: int) -> AsyncIterator[bytes]:
    with short_path(path) as short:
        opened = [await asyncio.open_unix_connection(short) for _ in range(count)]
    last_reader, _ = opened[-1]
    yield await asyncio.wait_for(last_reader.read(), BOUNDED)
    for _, writer in opened:
        writer.close()


async def test_one_turn_can_not_take_all_descriptors(tmp_path: Path) -> None:
    async with (
        recorder(tmp_path) as upstream,
        door_to(upstream.socket_path, tmp_path / "door.sock"),
    ):
        async for said in raw_connections(tmp_path / "door.sock", MAX_CONNECTIONS + 1):
            assert said == b""


async def test_garbage_is_answered_and_not_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        recorder(tmp_path) as upstream,
        door_to(upstream.socket_path, tmp_path / "door.sock"),
        client(tmp_path / "door.sock") as http,
    ):
        with short_path(tmp_path / "door.sock") as short:
            reader, writer = await asyncio.open_unix_connection(short)
        writer.write(b"\x16\x03\x01 not-http-bytes\r\n\r\n")
        assert b"400" in await asyncio.wait_for(reader.read(), BOUNDED)
        writer.close()
        assert (await ask(http))[0] == 200
    assert "not-http-bytes" not in caplog.text
