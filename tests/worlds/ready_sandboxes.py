"""Sandboxes that are made ready before their message comes, in whole houses."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from supervisor.engine_filter.opened import open_filter
from supervisor.ids import SessionId
from supervisor.settings import Settings
from supervisor.variables import ENGINE_SOCKET
from tests.worlds.engine_image import docker
from tests.worlds.house import House, Turn, a_house, prompt, step
from tests.worlds.waiting import A_WHILE, until

HELLO = prompt(step("Hello."))

WEAKENED = {
    "its limits were raised": ("update", "--pids-limit", "2000"),
    "it was stopped": ("kill",),
    "it was halted": ("pause",),
    "it is gone": ("rm", "--force"),
}
"""What makes one that waits of no use: words for `docker`, before its id."""


def waited(turn: Turn) -> bool:
    """Whether the turn ran in a sandbox that was made before its message came."""
    assert turn.end["type"] == "done", turn.end
    (isolation,) = turn.of("isolation")
    assert isolation["accepted"]
    return "waitedSeconds" in isolation["receipt"]


async def the_waiting_one(house: House) -> str:
    """The one container that waits, once it is ready for a message."""
    async with asyncio.timeout(A_WHILE):
        while not (found := [each for each in await house.parts.containers() if each.waiting]):
            await asyncio.sleep(0.02)
    (one,) = found
    return one.id


async def it_went(house: House, why: str, session: SessionId | None = None) -> None:
    """Wait until what waited is gone, and the audit log says why: which it does after that."""
    await house.nothing_left()
    await until(
        lambda: any(why in each.get("why", "") for each in house.audited("waiting", session))
    )


@asynccontextmanager
async def somebodys_program(container: str) -> AsyncIterator[None]:
    """A program that was put into it from outside; the container has to end within the block."""
    inside = await asyncio.create_subprocess_exec("docker", "exec", container, "sleep", "600")
    try:
        async with asyncio.timeout(A_WHILE):
            while b"sleep" not in (await asyncio.to_thread(docker, "top", container)).stdout:
                await asyncio.sleep(0.05)
        yield
    finally:
        async with asyncio.timeout(A_WHILE):
            await inside.wait()


@asynccontextmanager
async def a_house_behind_the_filter(count: int, **ready: Any) -> AsyncIterator[House]:
    """A house with so many sandboxes made `ready`, two by default, of `count` that may be there."""
    root = Path(tempfile.mkdtemp(prefix="tf-", dir="/tmp")).resolve()
    try:
        for each in ("data/vault-view/views", "run", "vault"):
            (root / each).mkdir(parents=True)
        (root / "vault" / "notes").mkdir()
        settings = Settings(
            data_dir=root / "data",
            runtime_dir=root / "run",
            vault=root / "vault",
            sandbox_count=count,
        )
        socket = root / "filter.sock"
        async with (
            open_filter(settings, listen=socket, engine=Path(ENGINE_SOCKET), mode=0o600),
            a_house(root, engine_socket=socket, **(ready or {"waiting_sandboxes": 2})) as house,
        ):
            yield house
    finally:
        shutil.rmtree(root, ignore_errors=True)
