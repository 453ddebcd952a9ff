"""`trustfloor serve` as a process: what it prints, what it refuses, how it stops."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.worlds.forked import PIPE, STDOUT, end_of, trustfloor
from tests.worlds.server import Running, environment, supervisor_process
from tests.worlds.waiting import A_WHILE

SCENARIO = """\
version: 1
scripts:
  - name: greet
    when: { contains: hello }
    steps:
      - text: Hello to you.
  - name: endless
    when: { contains: go on }
    steps:
      - { text: "I go on and on.", chunk_delay_s: 600 }
  - name: brief
    when: { contains: be quick }
    steps:
      - { text: "It took a moment.", chunk_delay_s: 0.3 }
"""

FIRST_STEPS = f"scripted:{Path(__file__).parents[2] / 'examples' / 'first-steps.yaml'}"


async def refused(folder: Path, *arguments: str, **settings: str) -> tuple[int, str]:
    """Run `trustfloor serve` with what must not start; its status and what it says."""
    (folder / "vault").mkdir(exist_ok=True)
    process = await trustfloor("serve", *arguments, env=environment(folder, settings), stderr=PIPE)
    status, out, err = await end_of(process)
    assert out == ""
    return status, err


async def test_without_a_key_it_says_so_and_offers_the_scripted_model(tmp_path: Path) -> None:
    status, said = await refused(tmp_path)
    assert status == 2
    assert "ANTHROPIC_API_KEY" in said
    assert "trustfloor demo" in said
    assert "--model scripted:FILE" in said


async def test_a_script_that_isnt_named_as_such_is_known_for_one(tmp_path: Path) -> None:
    script = tmp_path / "model.yaml"
    script.write_text("version: 1\n")
    for typed in (str(script), f"script:{script}", f"Scripted:{script}"):
        status, said = await refused(tmp_path, "--model", typed)
        assert status == 2
        assert f"name it so: scripted:{script}" in said


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
    assert "Value error" not in said


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("TRUSTFLOOR_FLOOR", "bogus", "use one of: full, vault, sandboxed"),
        ("TRUSTFLOOR_PORT", "x", "a whole number is expected"),
        ("TRUSTFLOOR_PORT", "99999", "at most 65535"),
        ("TRUSTFLOOR_TURN_SECONDS", "0", "more than 0"),
    ],
)
async def test_a_setting_of_the_wrong_kind_is_named_with_what_is_right(
    tmp_path: Path, name: str, value: str, words: str
) -> None:
    status, said = await refused(tmp_path, **{name: value})
    assert status == 2
    assert words in said
    assert name in said
    assert "Input should" not in said


@pytest.mark.parametrize("command", ["serve", "chat", "doctor"])
async def test_a_setting_that_there_is_not_is_refused_with_the_nearest(
    tmp_path: Path, command: str
) -> None:
    process = await trustfloor(
        command, env=environment(tmp_path, {"TRUSTFLOOR_FLOR": "sandboxed"}), stderr=STDOUT
    )
    status, out, _ = await end_of(process)
    assert status == 2
    assert "there is no setting TRUSTFLOOR_FLOR\n" in out
    assert "did you mean TRUSTFLOOR_FLOOR?" in out


async def test_the_version_is_told_and_nothing_else() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "supervisor", "--version"), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await asyncio.wait_for(process.communicate(), A_WHILE)
    assert process.returncode == 0
    assert out.startswith(b"trustfloor ")
    assert len(out.split()) == 2


async def test_a_port_that_is_taken_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with contextlib.closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        status, said = await refused(tmp_path, "--port", port, "--model", FIRST_STEPS)
    assert status == 1
    assert f"127.0.0.1:{port}" in said
    assert "--port 3334, or 0 for a free one" in said


async def test_a_key_that_is_set_is_not_repeated_when_it_can_not_start(tmp_path: Path) -> None:
    key = "sk-ant-canary-of-this-test"
    status, said = await refused(tmp_path, "--vault", str(tmp_path / "none"), ANTHROPIC_API_KEY=key)
    assert status == 1
    assert key not in said


async def test_a_second_one_on_the_same_vault_is_told_that_the_vault_is_the_conflict(
    tmp_path: Path,
) -> None:
    async with supervisor_process(tmp_path, SCENARIO) as first:
        status, said = await refused(
            tmp_path,
            *("--port", "0", "--model", f"scripted:{tmp_path / 'scenario.yaml'}"),
            TRUSTFLOOR_DATA_DIR=str(tmp_path / "another"),
        )
        assert f"process {first.process.pid}" in said
    assert status == 1
    assert "another supervisor works on this vault" in said
    assert "another vault with --vault" in said


async def test_a_vault_in_another_vault_is_warned_of(tmp_path: Path) -> None:
    async with supervisor_process(tmp_path, SCENARIO) as running:
        assert "lies in another" not in running.log
    (tmp_path / "Chat").mkdir()
    (tmp_path / "Chat" / "sessions.db").touch()
    async with supervisor_process(tmp_path, SCENARIO) as running:
        assert f"this vault lies in another one, {tmp_path}: " in running.log


async def test_a_broken_policy_file_is_named_once(tmp_path: Path) -> None:
    policies = tmp_path / "policies"
    policies.mkdir()
    (policies / "default.yaml").write_text("version: 1\ndney: []\n")
    status, said = await refused(
        tmp_path, "--port", "0", "--model", FIRST_STEPS, TRUSTFLOOR_POLICIES=str(policies)
    )
    assert status == 1
    assert said.count("default.yaml:2:1") == 1


@contextlib.contextmanager
def _both_ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """What systemd gives a service for its output, and where the journal reads it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def _read_to(journal: socket.socket, mark: bytes) -> str:
    said = b""
    journal.settimeout(A_WHILE)
    while mark not in said and (more := journal.recv(65_536)):
        said += more
    return said.decode()


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

    async def test_prints_no_token_where_it_is_told_not_to(self, tmp_path: Path) -> None:
        async with supervisor_process(tmp_path, SCENARIO, show_token="false") as running:
            assert not any(running.token in line for line in running.lines)
            assert any("token in" in line for line in running.lines)

    async def test_writes_no_token_into_the_journal(self, tmp_path: Path) -> None:
        (tmp_path / "vault").mkdir()
        with (
            tempfile.TemporaryDirectory(prefix="tf-") as runtime,  # short, for sockets' paths
            _both_ends() as (journal, stream),
        ):
            stands = os.fstat(stream.fileno())
            settings = {
                "TRUSTFLOOR_RUNTIME_DIR": runtime,
                "JOURNAL_STREAM": f"{stands.st_dev}:{stands.st_ino}",
            }
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "supervisor", "serve", "--port", "0"),
                *("--model", FIRST_STEPS),
                env=environment(tmp_path, settings),
                stdout=stream.fileno(),
                stderr=asyncio.subprocess.DEVNULL,
            )
            stream.close()
            said = await asyncio.to_thread(_read_to, journal, b"token in")
            process.terminate()
            assert await process.wait() == 0
        token = (tmp_path / "data" / "token").read_text().strip()
        assert "listening" in said
        assert token not in said
        async with supervisor_process(tmp_path, SCENARIO) as next_one:  # it was not used up
            assert sum(token in line for line in next_one.lines) == 1

    async def test_that_fails_does_not_use_up_the_showing_of_the_token(
        self, tmp_path: Path
    ) -> None:
        no_key = {"TRUSTFLOOR_AUDIT_KEY_FILE": str(tmp_path)}
        status, said = await refused(tmp_path, "--port", "0", "--model", FIRST_STEPS, **no_key)
        assert status == 1
        assert "the audit log's key can't be read" in said
        assert (tmp_path / "data" / "token").exists()
        async with supervisor_process(tmp_path, SCENARIO) as first:
            assert sum(first.token in line for line in first.lines) == 1
        async with supervisor_process(tmp_path, SCENARIO) as second:
            assert not any(second.token in line for line in second.lines)

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
                async with client.stream("GET", "/api/events/stream") as over_all:
                    also = over_all.aiter_raw()
                    await anext(also)
                    running.process.send_signal(by)
                    for each in (pieces, also):
                        assert b"shutting_down" in b"".join([piece async for piece in each])
            assert await running.process.wait() == 0

    async def test_gives_turns_their_grace_and_tells_their_clients_how_they_ended(
        self, tmp_path: Path
    ) -> None:
        async with (
            supervisor_process(tmp_path, SCENARIO, shutdown_seconds="1") as running,
            a_turn(running, "go on") as said,
            running.client() as watching,
        ):
            await until(said, b"I go")
            session = said.response.headers["trustfloor-session"]
            path = f"/api/chat/session/{session}/stream"
            async with watching.stream("GET", path) as joined:
                running.process.send_signal(signal.SIGTERM)
                await until(said, b"event: aborted")
                also = b"".join([piece async for piece in joined.aiter_raw()])
                assert [piece async for piece in said.pieces] in ([], [b""])
            assert await running.process.wait() == 0
        assert said.seen.index(b"shutting_down") < said.seen.index(b"event: aborted")
        assert b"the supervisor was stopped" in said.seen
        assert b"event: aborted" in also
        assert "Traceback" not in running.log
        assert "stopping turns=1" in running.log
        assert "stopped" in running.log.splitlines()[-1]

    async def test_lets_a_turn_end_well_that_needs_no_longer(self, tmp_path: Path) -> None:
        async with (
            supervisor_process(tmp_path, SCENARIO, shutdown_seconds="60") as running,
            a_turn(running, "be quick") as said,
        ):
            await until(said, b"It")
            running.process.send_signal(signal.SIGTERM)
            await until(said, b"event: done")
            assert await running.process.wait() == 0
        assert b"shutting_down" in said.seen

    async def test_takes_no_new_message_meanwhile(self, tmp_path: Path) -> None:
        async with (
            supervisor_process(tmp_path, SCENARIO, shutdown_seconds="60") as running,
            a_turn(running, "go on") as said,
            running.client() as client,
        ):
            await until(said, b"I go")
            running.process.send_signal(signal.SIGTERM)
            await until(said, b"shutting_down")
            answer = await client.post("/api/chat", json={"message": "hello"})
            assert answer.status_code == 503
            assert answer.json()["code"] == "shutting_down"
            assert answer.json()["retryable"] is True
            running.process.send_signal(signal.SIGTERM)  # told twice, it waits no longer
            await until(said, b"event: aborted")
            assert await running.process.wait() == 0
        assert "Traceback" not in running.log

    async def test_is_not_held_up_by_a_client_that_does_not_read(self, tmp_path: Path) -> None:
        async with supervisor_process(tmp_path, SCENARIO, shutdown_seconds="0") as running:
            session = await a_session(running)
            for _ in range(3):
                async with running.client() as client:
                    body = {"message": "hello " + "x" * 3_000_000, "sessionId": session}
                    await client.post("/api/chat", json=body)
            url = httpx.URL(running.url)
            reader, writer = await asyncio.open_connection(url.host, url.port, limit=1)
            head = (
                f"GET /api/chat/session/{session}/stream HTTP/1.1",
                f"Host: {url.netloc.decode()}",
                f"Authorization: Bearer {running.token}",
            )
            writer.write("\r\n".join((*head, "", "")).encode())
            await reader.read(1)
            running.process.send_signal(signal.SIGTERM)
            async with asyncio.timeout(A_WHILE):
                assert await running.process.wait() == 0
            writer.close()
        assert "a connection was cut at the stop" in running.log
        assert "Traceback" not in running.log


class TestTheLog:
    async def test_tells_starts_turns_refusals_and_stops(self, tmp_path: Path) -> None:
        async with supervisor_process(tmp_path, SCENARIO, log_format="json") as running:
            session = await a_session(running)
            async with httpx.AsyncClient(trust_env=False) as stranger:
                await stranger.get(f"{running.url}/api/ready?token={running.token}")
            assert await running.stop() == 0
        lines = [json.loads(line) for line in running.log.splitlines()]
        told = {line["message"]: line for line in lines}
        assert told["listening"]["url"] == running.url
        assert told["turn began"]["session_id"] == session
        assert told["turn began"]["trust"] == "full"
        ended = told["turn ended"]
        assert ended["turn_id"] == told["turn began"]["turn_id"]
        assert (ended["outcome"], ended["level"]) == ("done", "info")
        assert ended["duration_ms"] > 0
        refused = told["request refused"]
        assert (refused["status"], refused["level"]) == (401, "warning")
        assert refused["path"] == "/api/ready"
        assert lines[-1]["message"] == "stopped"
        assert running.token not in running.log

    async def test_warns_of_more_processors_than_there_are(self, tmp_path: Path) -> None:
        async with supervisor_process(tmp_path, SCENARIO, sandbox_cpus="4096") as running:
            pass
        assert "TRUSTFLOOR_SANDBOX_CPUS is 4096, but this machine has" in running.log
        async with supervisor_process(tmp_path, SCENARIO) as running:
            pass
        assert running.log.count("SANDBOX_CPUS") == 1  # the default asks for nothing


@dataclass
class Said:
    """A turn's stream and what was read of it."""

    response: httpx.Response
    pieces: AsyncIterator[bytes]
    seen: bytes = b""


@contextlib.asynccontextmanager
async def a_turn(running: Running, message: str) -> AsyncIterator[Said]:
    """A turn at full that streams."""
    body = {"message": message, "trustLevel": "full"}
    async with (
        running.client() as client,
        client.stream("POST", "/api/chat/stream", json=body) as response,
    ):
        assert response.status_code == 200, await response.aread()
        yield Said(response, response.aiter_raw())


async def until(said: Said, words: bytes) -> None:
    """Read on until these bytes have come."""
    async with asyncio.timeout(A_WHILE):
        while words not in said.seen:
            piece = await anext(said.pieces, None)
            assert piece is not None, said.seen
            said.seen += piece


async def a_session(running: Running) -> str:
    """A session that has failed or worked, but exists."""
    async with running.client() as client:
        body = {"message": "hello", "trustLevel": "full"}
        async with client.stream("POST", "/api/chat/stream", json=body) as response:
            assert response.status_code == 200, await response.aread()
            async for _ in response.aiter_raw():
                pass
            return response.headers["trustfloor-session"]
