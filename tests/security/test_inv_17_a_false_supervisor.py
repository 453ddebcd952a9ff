"""Invariant 17: who listens where the supervisor would is no supervisor, and gets no token."""

import asyncio
import contextlib
import json
import signal
import socket
import stat
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from supervisor.variables import api_socket
from tests.worlds.forked import STDOUT, end_of, trustfloor
from tests.worlds.server import Running, environment, supervisor_process
from trustfloor.aio.connection import AsyncConnection
from trustfloor.errors import Unreachable
from trustfloor.private_socket import PrivateSocket, socket_at, why_not_ours

TOKEN = "tf_canary-of-the-owner"
SCENARIO = "version: 1\nscripts:\n  - {name: a, when: {always: true}, steps: [{text: Hi.}]}\n"
BY_DEFAULT = 3333


@dataclass
class Impostor:
    """Listens, keeps what it is told and answers each request as a supervisor might."""

    heard: bytes = b""
    callers: int = 0
    ports: list[int] = field(default_factory=list)
    serving: set[asyncio.Task[Any] | None] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.callers += 1
        self.serving.add(asyncio.current_task())
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            self.heard += await reader.readuntil(b"\r\n\r\n")
            said = b'{"grants": []}'
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
            writer.write(b"Content-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(said), said))
            await writer.drain()
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def false_supervisor(path: Path | None = None) -> AsyncIterator[Impostor]:
    """On a port of this machine, and on the usual one if nobody has it; or on a socket."""
    other = Impostor()
    async with contextlib.AsyncExitStack() as stack:
        if path is not None:
            await stack.enter_async_context(await asyncio.start_unix_server(other.serve, path))
        for port in () if path is not None else (0, BY_DEFAULT):
            with contextlib.suppress(OSError):
                server = await asyncio.start_server(other.serve, "127.0.0.1", port)
                await stack.enter_async_context(server)
                other.ports.append(server.sockets[0].getsockname()[1])
        yield other
        await asyncio.gather(*filter(None, other.serving))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data folder of a supervisor that doesn't run: it was killed, and left its socket."""
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    (folder / "token").write_text(TOKEN + "\n")
    (folder / "token").chmod(0o600)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(api_socket(folder)))
    return folder


async def command(folder: Path, *words: str, **settings: str) -> tuple[int, str]:
    """The command's exit status and all it says."""
    process = await trustfloor(*words, env=environment(folder, settings), stderr=STDOUT)
    status, said, _ = await end_of(process)
    return status, said


async def test_who_listens_on_the_port_of_a_supervisor_that_is_down_never_sees_the_token(
    data: Path,
) -> None:
    async with false_supervisor() as other:
        told = {"TRUSTFLOOR_PORT": str(other.ports[0])}
        none = {**told, "TRUSTFLOOR_ENGINE_SOCKET": str(data / "no engine")}
        listed, said, (_, looked) = await asyncio.gather(
            command(data.parent, "grants", **told),
            command(data.parent, "chat", "hello", **told),
            command(data.parent, "doctor", **none),
        )
        assert (other.callers, other.heard) == (0, b"")
    assert listed[0] == said[0] == 1
    assert "no supervisor answers" in listed[1]
    assert "trustfloor serve" in listed[1]
    assert f"none answers at {socket_at(api_socket(data))}" in looked
    assert TOKEN not in listed[1] + said[1] + looked


async def test_control_one_that_is_named_as_the_supervisor_is_sent_it(data: Path) -> None:
    async with false_supervisor() as other:
        url = f"http://127.0.0.1:{other.ports[0]}"
        status, said = await command(data.parent, "grants", TRUSTFLOOR_URL=url)
        assert status == 0, said
        assert TOKEN.encode() in other.heard


async def test_a_socket_where_others_could_have_put_it_is_sent_nothing(tmp_path: Path) -> None:
    place = tmp_path / "api.sock"
    async with false_supervisor(place) as other:
        for mode in (0o777, 0o1777, 0o750, 0o701):
            tmp_path.chmod(mode)
            with pytest.raises(Unreachable, match="open to others") as refused:
                AsyncConnection(socket_at(place), TOKEN)
            assert str(refused.value.remedy).endswith(f"chmod 700 {tmp_path}")
        assert other.callers == 0
        tmp_path.chmod(0o700)
        async with AsyncConnection(socket_at(place), TOKEN) as connection:
            await connection.answer("GET", "/api/me")
        assert TOKEN.encode() in other.heard, "the control: in a folder of ours it is"


@pytest.mark.parametrize(
    ("user", "owner", "mode", "ours"),
    [(7, 7, 0o700, True), (7, 8, 0o700, False), (7, 0, 0o700, False), (0, 7, 0o700, True)],
)
def test_a_folder_of_another_user_is_not_ours(
    user: int, owner: int, mode: int, ours: bool, tmp_path: Path
) -> None:
    seen = list(tmp_path.stat())
    seen[stat.ST_UID], seen[stat.ST_MODE] = owner, mode
    assert (why_not_ours(type(tmp_path.stat())(seen), user) is None) == ours


async def test_a_folder_that_is_exchanged_once_it_was_looked_at_is_not_followed(
    tmp_path: Path,
) -> None:
    ours, theirs = tmp_path / "data", tmp_path / "theirs"
    for each in (ours, theirs):
        each.mkdir(mode=0o700)
    async with false_supervisor(theirs / "api.sock") as other:
        async with AsyncConnection(socket_at(ours / "api.sock"), TOKEN) as connection:
            ours.rename(tmp_path / "away")
            theirs.rename(ours)
            with pytest.raises(Unreachable):
                await connection.answer("GET", "/api/me")
        assert other.callers == 0
        async with AsyncConnection(socket_at(ours / "api.sock"), TOKEN) as connection:
            await connection.answer("GET", "/api/me")
        assert other.callers == 1, "the control: by its name it is the other's"


def test_the_folder_is_let_go_of(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    held = PrivateSocket(tmp_path / "api.sock")
    (tmp_path / "here").touch()
    assert Path(held.path).with_name("here").exists()
    held.close()
    assert not Path(held.path).with_name("here").exists()


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """A folder whose sockets' paths are longer than the kernel takes."""
    folder = tmp_path / ("d" * 60) / ("e" * 60)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def https(tmp_path: Path) -> dict[str, str]:
    """The settings of a supervisor with a certificate that nobody signed."""
    cert, key = tmp_path / "box.pem", tmp_path / "box.key"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
    )
    return {"tls_cert": str(cert), "tls_key": str(key)}


async def test_without_an_address_commands_find_the_supervisor_by_its_socket(
    deep: Path, https: dict[str, str]
) -> None:
    async with supervisor_process(deep, SCENARIO, trusted_proxies="127.0.0.1", **https) as running:
        path = api_socket(running.data_dir)
        assert len(str(path)) > 107
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        chat, (_, opened), by_port = await asyncio.gather(
            command(deep, "chat", "--trust", "full", "hello"),
            command(deep, "login"),
            command(deep, "tokens", TRUSTFLOOR_URL=running.url),
        )
        assert chat[0] == 0, chat[1]
        assert f"open   {running.url}/" in opened
        assert running.url.startswith("https://")
        assert (by_port[0], "certificate" in by_port[1].lower()) == (1, True), "the control"
        await over_the_socket_the_door_is_the_same(running)
        await running.stop(signal.SIGKILL)
        assert path.is_socket(), "what is killed leaves it"
    async with supervisor_process(deep, SCENARIO) as again:
        status, said = await command(deep, "sessions", "list")
        assert (status, "hello" in said) == (0, True), said
        assert await again.stop() == 0
        assert not path.exists()


async def over_the_socket_the_door_is_the_same(running: Running) -> None:
    held = PrivateSocket(api_socket(running.data_dir))
    good = {"Authorization": f"Bearer {running.token}"}
    forwarded = {"X-Forwarded-For": "203.0.113.7", "X-Forwarded-Proto": "https"}
    async with httpx.AsyncClient(
        transport=httpx.AsyncHTTPTransport(uds=held.path), base_url="http://localhost"
    ) as http:
        assert (await http.get("/api/me", headers=good)).status_code == 200
        assert (await http.get("/api/me")).status_code == 401
        wrong = {"Authorization": "Bearer wrong", **forwarded}
        assert (await http.get("/api/me", headers=wrong)).status_code == 401
        foreign = await http.get("/api/me", headers={**good, "Host": "evil.example"})
        assert foreign.json()["code"] == "foreign_host"
        page = await http.get("/api/me", headers={**good, "Origin": "http://evil.example"})
        assert page.json()["code"] == "foreign_origin"
    held.close()
    lines = (running.data_dir / "audit.jsonl").read_text().splitlines()
    (tried,) = [json.loads(each) for each in lines if '"refused"' in each]
    assert "socket" in json.dumps(tried)
    assert "203.0.113.7" not in running.log, "nobody's word for an address counts there"
