"""Invariant 2: where the runtime for the effective trust is missing, nothing looser runs instead.

Each obstacle: the turn ends with an error that says what to do, nothing ran and nobody was asked;
the obstacle mended, the same session goes on without a restart.
"""

import asyncio
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from supervisor.errors import RuntimeMissing
from supervisor.runtimes.container import engine_line
from supervisor.runtimes.container.image import RUNNER_IMAGE
from supervisor.runtimes.local.leftovers import count_marked
from supervisor.storage.identity import instance_of
from supervisor.trust.levels import TrustLevel
from supervisor.variables import ENGINE_SOCKET
from tests.worlds import hostile_image as images
from tests.worlds.engine import Relay
from tests.worlds.house import House, Turn, a_house, bash, prompt, step
from tests.worlds.waiting import A_WHILE

pytestmark = pytest.mark.engine

BOUND = 10.0
"""Seconds in which a person is told; the engine's own answers are bounded below it."""

TAG = f"trustfloor-test/missing:{os.getpid()}"


@contextmanager
def socket_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tf-", dir="/tmp") as folder:
        yield Path(folder) / "engine.sock"


@contextmanager
def nobody(_path: Path) -> Iterator[None]:
    """There is no socket at all."""
    yield


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """A socket that nobody listens on."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
        yield
    path.unlink()


@contextmanager
def mute(path: Path) -> Iterator[None]:
    """A socket that accepts and never answers."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(64)  # the kernel accepts for it
        yield
    path.unlink()


@contextmanager
def hanging_up(path: Path) -> Iterator[None]:
    """A file in the socket's place."""
    path.write_text("not a socket")
    yield
    path.unlink()


async def asked(house: House) -> int:
    """How many requests the scripted model has had."""
    (instance,) = house.parts.settings.runtime_dir.iterdir()
    transport = httpx.AsyncHTTPTransport(uds=str(instance / "scripted.sock"))
    async with httpx.AsyncClient(transport=transport, base_url="http://model") as client:
        seen = (await client.get("/_scripted/failures")).json()
    return int(seen["requests"])


async def attack(house: House, marker: Path, session_id: str | None = None) -> Turn:
    """A sandboxed message whose script would leave a mark on the host if it ran there."""
    message = prompt(bash(f"touch {marker}; echo ran"), step("ok"))
    started = await house.begin(message, trust_level=TrustLevel.SANDBOXED, session_id=session_id)
    turn = Turn(house, started, [])
    async with asyncio.timeout(BOUND):
        await turn.go_on()
    return turn


async def refused(house: House, marker: Path, code: str) -> Turn:
    before = await asked(house)
    turn = await attack(house, marker)
    assert turn.end["type"] == "error"
    assert turn.end["code"] == code
    assert turn.end["remedy"]
    assert turn.events[0]["trustLevel"] == "sandboxed"  # it was not talked down
    assert not {"text", "tool_use", "init"} & set(turn.types)
    assert await asked(house) == before
    assert not marker.exists()
    assert count_marked(instance_of(house.parts.settings.data_dir)) == 0
    return turn


async def mended(house: House, turn: Turn, marker: Path) -> None:
    async with asyncio.timeout(A_WHILE):
        again = Turn(
            house,
            await house.begin(prompt(bash("echo ran"), step("ok")), session_id=turn.session_id),
            [],
        )
        await again.go_on()
    assert again.end["type"] == "done", again.end
    assert again.results() == ["ran"]
    assert again.events[0]["trustLevel"] == "sandboxed"
    assert not marker.exists()


@asynccontextmanager
async def a_house_behind(path: Path) -> AsyncIterator[House]:
    async with a_house(engine_socket=path) as house:
        yield house


@pytest.mark.parametrize("obstacle", [nobody, refusing, mute, hanging_up])
async def test_without_an_engine_the_turn_is_refused_and_once_it_is_back_it_runs(
    obstacle: Callable[[Path], AbstractContextManager[None]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if obstacle == mute:  # the start looks at the engine as well, and would wait as long
        monkeypatch.setattr(engine_line, "ANSWER_SECONDS", 2.0)
        monkeypatch.setattr(engine_line, "CALL_SECONDS", 3.0)
    with socket_folder() as path, obstacle(path):
        async with a_house_behind(path) as house:
            turn = await refused(house, tmp_path / "marker", "engine_unreachable")
            path.unlink(missing_ok=True)
            relay = Relay(path, ENGINE_SOCKET)
            relay.open()
            try:
                await mended(house, turn, tmp_path / "marker")
            finally:
                relay.cut()
            path.touch()  # for the obstacle to remove


async def test_without_the_image_the_turn_is_refused_and_once_it_is_built_it_runs(
    tmp_path: Path,
) -> None:
    async with a_house(runner_image=TAG) as house:
        turn = await refused(house, tmp_path / "marker", "image_missing")
        assert "scripts/images" in turn.end["remedy"]
        images.tag(RUNNER_IMAGE, TAG)
        try:
            await mended(house, turn, tmp_path / "marker")
        finally:
            images.untag(TAG)


async def test_an_engine_that_goes_away_during_the_turn_ends_it_with_an_error(
    tmp_path: Path,
) -> None:
    with socket_folder() as path:
        relay = Relay(path, ENGINE_SOCKET)
        relay.open()
        try:
            async with a_house_behind(path) as house:
                slow = prompt(step("word " * 20, chunks=20, chunk_delay_s=2.0))
                turn = await house.send(slow, until=lambda event: event["type"] == "text")
                relay.cut()
                await turn.go_on()
                assert turn.end["type"] == "error"
                assert turn.end["code"] == "engine_lost"
                assert turn.end["remedy"]
                relay.open()
                await mended(house, turn, tmp_path / "marker")
        finally:
            relay.cut()


async def test_a_level_that_nothing_is_set_up_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_house() as house:
        conversations: Any = house.parts.conversations
        runtimes = conversations._house.runtimes
        assert isinstance(runtimes, dict)
        container = runtimes.pop(TrustLevel.SANDBOXED)
        before = await asked(house)
        with pytest.raises(RuntimeMissing) as refusal:
            await attack(house, tmp_path / "marker")
        assert refusal.value.where == "sandboxed"
        assert refusal.value.remedy
        assert await asked(house) == before
        assert not (tmp_path / "marker").exists()
        runtimes[TrustLevel.SANDBOXED] = container
        turn = await attack(house, tmp_path / "marker")
        assert turn.end["type"] == "done"
        assert not (tmp_path / "marker").exists()


async def test_control_at_full_the_same_script_does_leave_its_mark(tmp_path: Path) -> None:
    async with a_house(engine_socket=tmp_path / "no.sock") as house:
        marker = tmp_path / "marker"
        turn = await house.send(
            prompt(bash(f"touch {marker}; echo ran"), step("ok")), TrustLevel.FULL
        )
        assert turn.end["type"] == "done"
        assert marker.exists()
        assert await asked(house) >= 2
