"""Connections that say nothing, or never to the end, cost little, and not for long."""

import asyncio
import contextlib
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from supervisor.api import connections
from supervisor.variables import api_socket
from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.forked import ROOT
from tests.worlds.server import START_SECONDS, environment
from tests.worlds.waiting import A_WHILE, until

SOON = 0.3
HEAD = f"GET /api/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n"


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ApiWorld]:
    monkeypatch.setattr(connections, "HEAD_SECONDS", SOON)
    async with api_world(tmp_path, heartbeat_seconds=SOON / 3) as made:
        yield made


@pytest.mark.parametrize("said", ["", "G", HEAD])
async def test_who_does_not_come_to_the_end_of_a_request_is_hung_up_on(
    world: ApiWorld, said: str
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", world.at.port)
    writer.write(said.encode())
    with contextlib.suppress(ConnectionResetError):
        async with asyncio.timeout(A_WHILE):
            assert await reader.read() == b""
    writer.close()


async def test_who_says_a_little_now_and_then_is_hung_up_on_too(world: ApiWorld) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", world.at.port)
    async with asyncio.timeout(A_WHILE):
        with contextlib.suppress(ConnectionError):
            while not reader.at_eof():
                writer.write(b"G")
                await writer.drain()
                await asyncio.sleep(SOON / 10)
    writer.close()


async def test_a_stream_and_a_connection_that_is_used_again_stay(world: ApiWorld) -> None:
    async with world.client() as client:
        ports = set()
        for _ in range(4):
            answer = await client.get("/api/me")
            assert answer.status_code == httpx.codes.OK
            ports.add(answer.extensions["network_stream"].get_extra_info("client_addr")[1])
            await asyncio.sleep(SOON / 2)
        assert len(ports) == 1
        async with client.stream("GET", "/api/events/stream") as stream:
            heard = b""
            async for piece in stream.aiter_raw():
                heard += piece
                if heard.count(b": still here") > 5:
                    break


@contextlib.contextmanager
def many_that_say_nothing(port: int, count: int) -> Iterator[int]:
    """Connections that are held; gives how many of them were taken."""
    with contextlib.ExitStack() as stack:
        taken = 0
        for _ in range(count):
            one = stack.enter_context(contextlib.closing(socket.socket()))
            one.settimeout(0.2)
            try:
                one.connect(("127.0.0.1", port))
            except OSError:
                break
            taken += 1
        yield taken


def descriptors_of(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - numbers


async def test_no_number_of_connections_keeps_the_owner_from_the_supervisor(
    tmp_path: Path,
) -> None:
    (tmp_path / "vault").mkdir()
    short = tempfile.mkdtemp(prefix="tf-", dir="/tmp")
    script = tmp_path / "scenario.yaml"
    script.write_text("version: 1\nscripts: [{name: x, when: {always: true}, steps: [{text: Hi}]}]")
    settings = {
        "TRUSTFLOOR_PORT": "0",
        "TRUSTFLOOR_MODEL": f"scripted:{script}",
        "TRUSTFLOOR_RUNTIME_DIR": short,
        "PYTHONPATH": str(ROOT),
    }
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", 'ulimit -n 400; exec "$@"', "bash"),
        *(sys.executable, "-m", "supervisor", "serve"),
        env=environment(tmp_path, settings),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(START_SECONDS):
            while not (line := (await process.stdout.readline()).decode()).startswith("listening"):
                assert line
        port = int(line.rpartition(":")[2])
        token = (tmp_path / "data" / "token").read_text().strip()
        with many_that_say_nothing(port, 700) as taken:
            assert taken > 100
            await until(lambda: 100 < descriptors_of(process.pid) < 300)
            over = httpx.AsyncHTTPTransport(uds=str(api_socket(tmp_path / "data")))
            headers = {"Authorization": f"Bearer {token}"}
            async with httpx.AsyncClient(
                base_url="http://localhost", transport=over, headers=headers, timeout=A_WHILE
            ) as owner:
                begun = await owner.post("/api/chat", json={"message": "hi", "trustLevel": "full"})
        assert begun.json().get("response") == "Hi", begun.text
    finally:
        process.terminate()
        await process.wait()
        shutil.rmtree(short)
