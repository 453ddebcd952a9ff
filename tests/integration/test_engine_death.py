"""Each way in which a sandbox dies is told apart, on the real engine (field report S06)."""

from collections.abc import AsyncIterator

import pytest

from supervisor.errors import AgentProcessFailed, SandboxKilled, SandboxOutOfMemory
from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.container.start_line import StartLine, encode
from tests.worlds import engine as world

pytestmark = pytest.mark.engine

GREEDY = "block = bytearray(1 << 30)"


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with world.real_engine() as engine:
        yield engine


async def test_an_agent_that_runs_out_of_memory_is_told_which_limit(engine: Engine) -> None:
    ended = await world.run(engine, "/usr/bin/python3", "-I", "-S", "-c", GREEDY)
    assert isinstance(ended.cause, SandboxOutOfMemory)
    assert "128 MiB" in ended.cause.message


async def test_a_tool_that_runs_out_of_memory_does_not_end_the_agent(engine: Engine) -> None:
    script = f"/usr/bin/python3 -I -S -c '{GREEDY}'; echo status $?; echo went on"
    ended = await world.run(engine, "/bin/bash", "-c", script)
    assert ended.output == b"status 137\nwent on\n"
    assert ended.cause is None


async def test_a_sandbox_killed_from_outside_is_not_called_out_of_memory(engine: Engine) -> None:
    async with world.box(engine) as box, box.started() as channel:
        await box.measured(channel)
        await channel.write(encode(StartLine(("/bin/cat",), "/", {})))
        await engine.kill(box.id)
        ended = await world.ended(channel)
    assert isinstance(ended.cause, SandboxKilled)


async def test_a_sandbox_removed_from_outside_is_killed_too(engine: Engine) -> None:
    async with world.box(engine) as box, box.started() as channel:
        await box.measured(channel)
        await channel.write(encode(StartLine(("/bin/cat",), "/", {})))
        await engine.remove(box.id)
        ended = await world.ended(channel)
    assert isinstance(ended.cause, SandboxKilled)


async def test_an_agent_that_kills_itself_was_not_killed_from_outside(engine: Engine) -> None:
    ended = await world.run(engine, "/bin/bash", "-c", "kill -9 $$")
    assert isinstance(ended.cause, AgentProcessFailed)
    assert "inside the sandbox by SIGKILL" in ended.cause.message


async def test_an_agent_that_fails_is_quoted(engine: Engine) -> None:
    ended = await world.run(engine, "/bin/bash", "-c", "echo no such luck >&2; exit 3")
    assert isinstance(ended.cause, AgentProcessFailed)
    assert "status 3: no such luck" in ended.cause.message


async def test_an_agent_that_ends_well_has_no_cause_of_death(engine: Engine) -> None:
    assert await world.run(engine, "/bin/echo", "well") == world.Ended(b"well\n", None)


async def test_a_program_that_is_not_there_is_named(engine: Engine) -> None:
    ended = await world.run(engine, "/opt/trustfloor/no-such-cli")
    assert isinstance(ended.cause, AgentProcessFailed)
    assert "no-such-cli" in ended.cause.message


async def test_pid_1_can_not_be_killed_from_inside(engine: Engine) -> None:
    script = "for s in INT TERM HUP KILL STOP QUIT; do kill -s $s 1; done; echo alive"
    ended = await world.run(engine, "/bin/bash", "-c", script)
    assert ended == world.Ended(b"alive\n", None)


MANY_PROCESSES = """
import os, time
made = refused = 0
for _ in range(200):
    try:
        child = os.fork()
    except BlockingIOError:
        refused += 1
        continue
    if child == 0:
        time.sleep(600)
    made += 1
print(made, refused)
"""
"""In Python: a shell that is refused a process tries again for a quarter of a minute."""


async def test_too_many_processes_fail_inside_and_nowhere_else(engine: Engine) -> None:
    ended = await world.run(engine, "/usr/bin/python3", "-I", "-S", "-c", MANY_PROCESSES)
    made, refused = map(int, ended.output.split())
    assert 0 < made < world.SMALL.pids
    assert made + refused == 200
