"""What health says of the model's API: a connection and the last request, never one of its own."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from pydantic import SecretStr

from supervisor.gateway import condition
from supervisor.gateway.condition import Spoken, said_of
from supervisor.gateway.door import Gateway
from supervisor.gateway.proxy import Upstream
from supervisor.ids import new_session_id, new_turn_id
from tests.worlds.model import KEY_CANARY, access, client, recorder, request_body


@dataclass
class Listener:
    """Counts connections, and what is sent over them."""

    port: int = 0
    connections: int = 0
    heard: bytes = b""
    serving: set[asyncio.Task[Any] | None] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.serving.add(asyncio.current_task())
        with suppress(OSError):  # the other side hangs up as it likes
            self.heard += await reader.read()
            writer.close()
            await writer.wait_closed()


@asynccontextmanager
async def listener() -> AsyncIterator[Listener]:
    made = Listener()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    async with server:
        made.port = server.sockets[0].getsockname()[1]
        yield made
        await asyncio.gather(*filter(None, made.serving))


async def test_a_look_is_a_connection_over_which_nothing_is_sent_however_often_one_asks() -> None:
    async with listener() as api:
        upstream = Upstream(f"http://user:hidden@127.0.0.1:{api.port}/v1", SecretStr(KEY_CANARY))
        async with Gateway(upstream) as gateway:
            said = await asyncio.gather(*(gateway.check() for _ in range(20)))
    assert {each.ok for each in said} == {True}
    assert said[0].detail == f"127.0.0.1:{api.port} can be reached"
    assert (api.connections, api.heard) == (1, b"")


async def test_an_api_that_is_not_there_is_a_problem_until_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(condition, "LOOK_SECONDS", 0.0)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        async with Gateway(Upstream(f"http://127.0.0.1:{port}")) as gateway:
            lacking = await gateway.check()
            held.listen()
            assert (await gateway.check()).ok is True
    assert (lacking.ok, lacking.needed) == (False, False)
    assert lacking.detail == f"127.0.0.1:{port} can't be reached: Connection refused"
    assert "TRUSTFLOOR_API_URL" in str(lacking.remedy)


async def test_tls_that_nobody_speaks_is_said() -> None:
    async with listener() as api, Gateway(Upstream(f"https://localhost:{api.port}")) as gateway:
        said = await gateway.check()
    assert said.ok is False
    assert said.detail.startswith(f"localhost:{api.port} can't be reached: ")


@pytest.mark.parametrize(
    ("status", "ok", "words"),
    [
        (200, True, "answered the last request, at 20"),
        (529, None, "can be reached; at the last request, at 20"),
        (401, False, "it answered with status 401"),
    ],
)
async def test_the_last_request_is_told_of_and_a_refused_key_is_a_problem(
    tmp_path: Path, status: int, ok: bool | None, words: str
) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.json_response({"type": "message"}, status=status)

    async with (
        recorder(tmp_path, answer) as api,
        Gateway(Upstream("http://api", SecretStr(KEY_CANARY), api.socket_path)) as gateway,
        gateway.open_door(
            session_id=new_session_id(),
            turn_id=new_turn_id(),
            access=access(),
            socket_path=tmp_path / "door.sock",
        ),
        client(tmp_path / "door.sock") as http,
    ):
        assert (await gateway.check()).detail == "the scripted model can be reached"
        async with http.post("/v1/messages", json=request_body()) as answered:
            await answered.read()
        said = await gateway.check()
        assert len(api.bodies) == 1, "a look is no request"
    assert said.ok is ok
    assert words in said.detail
    assert KEY_CANARY not in said.detail
    assert ("ANTHROPIC_API_KEY" in str(said.remedy)) == (status == 401)


def test_what_can_not_be_reached_now_comes_before_what_was() -> None:
    said = said_of("api:443", "Connection refused", Spoken("2026-01-01T00:00:00", None))
    assert (said.ok, said.detail) == (False, "api:443 can't be reached: Connection refused")
