"""`trustfloor serve` as a process: what it prints, what it refuses, how it stops."""

import asyncio
import contextlib
import signal
import socket
import sys
from pathlib import Path

import httpx
import pytest

from tests.worlds.server import Running, environment, supervisor_process

SCENARIO = """\
version: 1
scripts:
  - name: greet
    when: { contains: hello }
    steps:
      - text: Hello to you.
"""


async def refused(folder: Path, *arguments: str, **settings: str) -> tuple[int, str]:
    """Run `trustfloor serve` with what must not start; its status and what it says."""
    (folder / "vault").mkdir(exist_ok=True)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "supervisor", "serve", *arguments),
        env=environment(folder, settings),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(60):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert out == b""
    assert process.returncode is not None
    return process.returncode, err.decode()


async def test_without_a_key_it_says_so_and_offers_the_scripted_model(tmp_path: Path) -> None:
    status, said = await refused(tmp_path)
    assert status == 2
    assert "ANTHROPIC_API_KEY" in said
    assert "trustfloor demo" in said
    assert "--model scripted:FILE" in said


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "box.example"])  # noqa: S104
async def test_an_address_that_others_reach_needs_a_word_of_its_own(
    tmp_path: Path, host: str
) -> None:
    status, said = await refused(tmp_path, "--host", host, "--model", "scripted:x")
    assert status == 2
    assert "--allow-remote" in said


async def test_a_setting_that_makes_no_sense_is_named(tmp_path: Path) -> None:
    status, said = await refused(tmp_path, TRUSTFLOOR_ALLOWED_HOSTS="*")
    assert status == 2
    assert "wildcard" in said


async def test_a_port_that_is_taken_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with contextlib.closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        status, said = await refused(tmp_path, "--port", port, "--model", "scripted:x")
    assert status == 1
    assert f"127.0.0.1:{port}" in said
    assert "--port" in said


async def test_a_key_that_is_set_is_not_repeated_when_it_can_not_start(tmp_path: Path) -> None:
    key = "sk-ant-canary-of-this-test"
    status, said = await refused(tmp_path, "--vault", str(tmp_path / "none"), ANTHROPIC_API_KEY=key)
    assert status == 1
    assert key not in said


class TestAFirstStart:
    async def test_prints_the_token_once_and_keeps_it_private(self, tmp_path: Path) -> None:
        async with supervisor_process(tmp_path, SCENARIO) as first:
            token_file = first.data_dir / "token"
            assert token_file.stat().st_mode & 0o777 == 0o600
            assert sum(first.token in line for line in first.lines) == 1
            assert await first.stop() == 0
        async with supervisor_process(tmp_path, SCENARIO) as second:
            assert second.token == first.token
            assert not any(second.token in line for line in second.lines)
            assert any(str(token_file) in line for line in second.lines)

    async def test_answers_as_soon_as_it_says_that_it_listens(self, tmp_path: Path) -> None:
        async with supervisor_process(tmp_path, SCENARIO) as running, running.client() as client:
            assert (await client.get("/api/health")).status_code == 200
            assert (await client.get("/api/chat/sessions")).json()["sessions"] == []
            async with httpx.AsyncClient(trust_env=False) as stranger:
                answer = await stranger.get(f"{running.url}/api/ready")
            assert answer.status_code == 401
            assert "server" not in answer.headers


class TestAStop:
    @pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
    async def test_is_orderly_and_ends_streams_without_end(
        self, tmp_path: Path, by: signal.Signals
    ) -> None:
        async with supervisor_process(tmp_path, SCENARIO) as running, running.client() as client:
            session = await a_session(running)
            path = f"/api/chat/session/{session}/stream"
            async with client.stream("GET", path) as response:
                assert response.status_code == 200
                pieces = response.aiter_raw()
                await anext(pieces)
                running.process.send_signal(by)
                async for _ in pieces:
                    pass
            assert await running.process.wait() == 0


async def a_session(running: Running) -> str:
    """A session that has failed or worked, but exists."""
    async with running.client() as client:
        body = {"message": "hello", "trustLevel": "full"}
        async with client.stream("POST", "/api/chat/stream", json=body) as response:
            assert response.status_code == 200, await response.aread()
            async for _ in response.aiter_raw():
                pass
            return response.headers["trustfloor-session"]
