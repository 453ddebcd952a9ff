"""Invariant 3, at the level of the cage: no container is used twice, and none is left."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.container.reaper import reap_containers
from supervisor.runtimes.container.start_line import StartLine, encode
from tests.worlds import engine as world
from tests.worlds.waiting import A_WHILE

pytestmark = pytest.mark.engine

LEAVE_SOMETHING = (
    "echo secret > /tmp/left; echo secret > /home/agent/left; "
    "(setsid sleep 600 >/dev/null 2>&1 &) ; ls /tmp /home/agent"
)


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with world.real_engine() as engine:
        yield engine


async def test_what_one_message_wrote_the_next_does_not_find(engine: Engine) -> None:
    first = await world.run(engine, "/bin/bash", "-c", LEAVE_SOMETHING)
    assert first.output.count(b"left") == 2  # the attack works where it may
    second = await world.run(engine, "/bin/ls", "-A", "/tmp", "/home/agent")
    assert b"left" not in second.output


async def test_processes_that_left_their_parent_die_with_the_sandbox(engine: Engine) -> None:
    async with world.box(engine) as box, box.started() as channel:
        await box.measured(channel)
        script = LEAVE_SOMETHING + "; echo ready; cat"
        await channel.write(
            encode(StartLine(("/bin/bash", "-c", script), "/", world.PLAIN_ENVIRONMENT))
        )
        async with asyncio.timeout(A_WHILE):
            async for chunk in channel.chunks():
                if b"ready" in chunk:
                    break
        inside = await asyncio.to_thread(_processes_of, box.id)
        assert len(inside) >= 3  # pid 1, the shell and what it left behind
        await engine.remove(box.id)
        assert await asyncio.to_thread(_processes_of, box.id) == []


def _processes_of(container: str) -> list[str]:
    """Host processes in the container's control group."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if container in (process / "cgroup").read_text():
                found.append(process.name)
    return found


async def test_a_container_made_for_a_caller_that_gave_up_is_found_by_the_reaper(
    engine: Engine,
) -> None:
    async with world.box(engine) as box:
        await engine.remove(box.id)
        giving_up = asyncio.create_task(engine.create(box.spec))
        while not await engine.list_ours(box.instance):
            await asyncio.sleep(0)
        giving_up.cancel()
        await asyncio.wait([giving_up])
        # The engine may be half-way through making it: listed already, and not yet to be removed.
        async with asyncio.timeout(A_WHILE):
            while (await reap_containers(engine, box.instance, list)).removed == 0:
                await asyncio.sleep(0)
        assert await engine.list_ours(box.instance) == ()


async def test_control_without_the_reaper_it_stays(engine: Engine) -> None:
    async with world.box(engine) as box:
        assert [each.state for each in await engine.list_ours(box.instance)] == ["created"]
