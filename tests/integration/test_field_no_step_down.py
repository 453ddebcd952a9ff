"""Where no sandbox can be made, the turn is refused with what mends it; nothing looser runs (S08).

After the mend the next message works, without a restart.
"""

import asyncio
import os
import secrets
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import docker
import pytest

from supervisor.runtimes.container.image import RUNNER_IMAGE
from tests.worlds.engine_faults import FaultyEngine, faulty_engine
from tests.worlds.house import House, Told, a_house, bash, prompt, step
from tests.worlds.process_house import a_process_house

pytestmark = pytest.mark.engine

Mend = Callable[[], Awaitable[None]]


@asynccontextmanager
async def faulty_house() -> AsyncIterator[tuple[House, FaultyEngine]]:
    with tempfile.TemporaryDirectory(prefix="tf-", dir="/tmp") as folder:
        async with (
            faulty_engine(Path(folder) / "engine.sock") as engine,
            a_house(engine_socket=engine.path) as house,
        ):
            yield house, engine


async def refused(house: House, mend: Mend) -> Told:
    """Send a message that would escape: refused, nothing ran; mended, the next one works."""
    escaped = house.root / "escaped"
    turn = await house.send(prompt(bash(f"touch {escaped}"), step("x")))
    assert turn.events[0]["trustLevel"] == "sandboxed"
    assert turn.types == ["session", "user_message", "error"]
    assert not escaped.exists()
    assert turn.end["remedy"]
    assert turn.end["canRetry"] is True
    await mend()
    again = await house.send(prompt(step("Works.")), session_id=turn.session_id)
    assert again.end["type"] == "done", again.end
    await house.nothing_left()
    return turn.end


@pytest.mark.parametrize("leave_socket", [True, False], ids=["nobody listens", "no socket"])
async def test_an_engine_that_is_stopped(leave_socket: bool) -> None:
    async with faulty_house() as (house, engine):
        await engine.stop(leave_socket=leave_socket)

        async def start() -> None:
            engine.path.unlink(missing_ok=True)
            await engine.mend()

        told = await refused(house, start)
    assert told["code"] == "engine_unreachable"
    assert "scripts/engine" in told["remedy"]
    assert told["where"] == str(engine.path)


async def test_an_engine_that_accepts_and_never_answers() -> None:
    async with faulty_house() as (house, engine):
        engine.silent = True

        async def restart() -> None:
            await engine.stop()
            await engine.mend()

        told = await refused(house, restart)
    assert told["code"] == "engine_unreachable"
    assert "accepts and doesn't answer" in told["error"]
    assert "restart the engine" in told["remedy"]


async def test_an_engine_whose_disk_is_full() -> None:
    async with faulty_house() as (house, engine):
        engine.no_space = True
        told = await refused(house, engine.mend)
    assert told["code"] == "engine_refused"
    assert "no space left" in told["error"]
    assert "docker system prune" in told["remedy"]


async def test_an_image_that_is_not_there() -> None:
    tag = f"trustfloor-test/absent:{secrets.token_hex(4)}"
    with closing(docker.APIClient()) as client:

        async def make() -> None:
            await asyncio.to_thread(client.tag, RUNNER_IMAGE, *tag.split(":"))

        try:
            async with a_house(runner_image=tag) as house:
                told = await refused(house, make)
        finally:
            client.remove_image(tag, noprune=True)
    assert told["code"] == "image_missing"
    assert tag in told["error"]
    assert "scripts/images" in told["remedy"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up root's powers")
async def test_an_engine_whose_socket_is_not_for_our_user() -> None:
    """The supervisor runs without any capability, so file modes count for it as for anybody."""
    async with a_process_house() as house, faulty_engine(house.root / "e.sock") as engine:
        os.chown(engine.path, 65534, 65534)
        engine.path.chmod(0o600)
        await house.start(
            before=("setpriv", "--bounding-set", "-all"), engine_socket=str(engine.path)
        )
        escaped = house.root / "escaped"
        *before, told = await house.turn(prompt(bash(f"touch {escaped}"), step("x")))
        assert [event["type"] for event in before] == ["session", "user_message"]
        assert not escaped.exists()
        assert told["code"] == "engine_unreachable", told
        assert "is not for this user" in told["error"]
        assert "group docker" in told["remedy"]
        os.chown(engine.path, os.geteuid(), -1)
        again = await house.turn(prompt(step("Works.")), sessionId=told["session_id"])
        assert again[-1]["type"] == "done", again[-1]


async def test_a_socket_of_something_else_than_an_engine() -> None:
    async with faulty_house() as (house, engine):
        await engine.stop()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(engine.path))
            other.listen()
            hanging_up = asyncio.create_task(hang_up(other))

            async def replace() -> None:
                hanging_up.cancel()
                engine.path.unlink()
                await engine.mend()

            told = await refused(house, replace)
    assert told["code"] == "engine_unreachable"


async def hang_up(listener: socket.socket) -> None:
    """Accept and close, for ever."""
    listener.setblocking(False)
    while True:
        accepted, _ = await asyncio.get_running_loop().sock_accept(listener)
        accepted.close()
