"""Nothing that an in-process CLI starts outlives its turn, whatever it does to be forgotten."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

import pytest

from supervisor.errors import AgentProcessFailed, TurnFailed
from supervisor.runtimes.local.process import KEEPER, local_process
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import a_house, bash, is_a, prompt, step
from tests.worlds.leftovers import is_alive
from tests.worlds.waiting import A_WHILE, until

FORGOTTEN = """
import os, sys, time
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.environ.clear()
        os.write(write, str(os.getpid()).encode())
        os.closerange(0, 64)
        os.execve('/bin/sleep', ['sleep', '600'], {})
    os._exit(0)
os.wait()
print(os.read(read, 20).decode(), flush=True)
"""
"""A process that has lost its parent, its session, its group, its environment and its files."""


def python(program: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", program)


def same_as(pid: int) -> list[int]:
    """The processes with the command line of this one, itself included."""
    sought = Path(f"/proc/{pid}/cmdline").read_bytes()
    found = []
    for each in Path("/proc").iterdir():
        with suppress(OSError):
            if each.name.isdigit() and (each / "cmdline").read_bytes() == sought:
                found.append(int(each.name))
    return found


async def ended(command: Sequence[str]) -> tuple[int, TurnFailed | None]:
    """The forgotten process of a command that ends by itself, and how that ended."""
    async with local_process(command, {}, PurePosixPath("/"), keep=True) as channel:
        pid = int(await channel.first_line())
        async for _ in channel.chunks():
            pass
        return pid, await channel.cause_of_death()


@pytest.mark.parametrize("then", ["", "time.sleep(600)"], ids=["ends", "is ended"])
async def test_what_has_let_go_of_everything_ends_with_its_cli(then: str) -> None:
    command = python(FORGOTTEN + then)
    async with local_process(command, {}, PurePosixPath("/"), keep=True) as channel:
        pid = int(await channel.first_line())
        assert is_alive(pid) or not then
    assert not is_alive(pid)


async def test_without_a_keeper_it_would_stay() -> None:
    """The control: the attack works."""
    command = python(FORGOTTEN)
    async with local_process(command, {}, PurePosixPath("/")) as channel:
        pid = int(await channel.first_line())
    try:
        assert is_alive(pid)
    finally:
        os.kill(pid, signal.SIGKILL)


async def test_a_whole_tree_that_forks_on_is_ended() -> None:
    program = FORGOTTEN.replace(
        "os.execve('/bin/sleep', ['sleep', '600'], {})",
        "[os.fork() for _ in range(5)]; time.sleep(600)",
    )
    program += "time.sleep(600)"
    async with local_process(python(program), {}, PurePosixPath("/"), keep=True) as channel:
        pid = int(await channel.first_line())
        await asyncio.sleep(0.2)
        family = same_as(pid)
        assert len(family) > 32
    assert not list(filter(is_alive, family))


async def test_how_the_cli_ended_is_told_as_without_a_keeper() -> None:
    _, well = await ended(python(FORGOTTEN))
    assert well is None
    _, code = await ended(python(FORGOTTEN + "os.write(2, b'a complaint'); os._exit(7)"))
    assert code is not None
    assert code.message == "the agent process ended with status 7: a complaint"
    _, killed = await ended(python(FORGOTTEN + "os.kill(os.getpid(), 9)"))
    assert killed is not None
    assert killed.message == "the agent process was ended from outside by SIGKILL"


async def test_a_program_that_is_not_there_is_told_as_without_a_keeper() -> None:
    with pytest.raises(AgentProcessFailed, match="can't be started: No such file") as told:
        async with local_process(("/no/such/cli",), {}, PurePosixPath("/"), keep=True):
            raise AssertionError("it can't be started")
    assert told.value.where == "/no/such/cli"


def test_nothing_stays_when_the_supervisor_is_killed() -> None:
    starts = (
        "import os, subprocess, sys, time\n"
        f"p = subprocess.Popen([sys.executable, '-I', '-S', {KEEPER!r}, str(os.getpid()), "
        f"sys.executable, '-I', '-S', '-c', {FORGOTTEN + 'time.sleep(600)'!r}])\n"
        "time.sleep(600)"
    )
    with subprocess.Popen(python(starts), stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        pid = int(supervisor.stdout.readline())
        assert is_alive(pid)
        supervisor.kill()
        until = time.monotonic() + A_WHILE
        while is_alive(pid) and time.monotonic() < until:
            time.sleep(0.01)
        assert not is_alive(pid)


@pytest.mark.engine
async def test_an_aborted_turn_at_full_leaves_no_process_that_wanted_to_be_forgotten() -> None:
    async with a_house() as house:
        script = house.root / "forgotten.py"
        script.write_text(FORGOTTEN)
        noted = house.root / "pid"
        command = f"{sys.executable} -I -S {script} > {noted}; sleep 600"
        turn = await house.send(
            prompt(bash(command), step("x")), TrustLevel.FULL, until=is_a("tool_use")
        )
        await until(lambda: noted.exists() and noted.read_text().strip())
        pid = int(noted.read_text())
        assert is_alive(pid)
        assert await house.parts.conversations.abort(turn.session_id, "enough")
        await turn.go_on()
        assert turn.end["type"] == "aborted", turn.end
        assert not is_alive(pid)
