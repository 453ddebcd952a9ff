"""Each way a sandbox dies reaches the person under its own name, with what to do (S06)."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from supervisor.runtimes.container.engine import ContainerId, Engine
from supervisor.variables import ENGINE_SOCKET
from tests.worlds.engine import Relay, relay
from tests.worlds.engine_faults import faulty_engine
from tests.worlds.house import House, Turn, a_house, bash, is_a, prompt, step

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

GREEDY = "python3 -c 'block = bytearray(1 << 30)'; echo status $?"
FULL_MEMORY = "head -c 230M /dev/zero >/tmp/a; head -c 230M /dev/zero >/tmp/b; sleep 600"
"""Files in memory count towards the limit, and the agent is the largest process by far."""


@pytest_asyncio.fixture(name="house", scope="module", loop_scope="module")
async def house_fixture() -> AsyncIterator[House]:
    async with a_house(sandbox_memory_mb=448, sandbox_tmp_mb=512) as house:
        yield house


async def goes_on(house: House, turn: Turn) -> None:
    """The session takes its next message, and nothing is left of the turn that died."""
    again = await house.send(prompt(step("Fine.")), session_id=turn.session_id)
    assert again.end["type"] == "done"
    assert again.events[0]["sessionId"] == turn.session_id
    await house.nothing_left()


async def its_container(house: House) -> ContainerId:
    """The one container that the house has now."""
    (container,) = (await house.left()).containers
    return container


async def test_an_agent_out_of_memory_is_told_which_limit_and_what_to_do(house: House) -> None:
    turn = await house.send(prompt(bash(FULL_MEMORY), step("x")))
    assert turn.end["code"] == "sandbox_out_of_memory", turn.end
    assert "448 MiB" in turn.end["error"]
    assert turn.end["where"] == "TRUSTFLOOR_SANDBOX_MEMORY_MB"
    assert "raise the limit" in turn.end["remedy"]
    await goes_on(house, turn)


async def test_a_tool_out_of_memory_fails_alone_and_the_turn_is_done(house: House) -> None:
    turn = await house.send(prompt(bash(GREEDY), step("It did not fit.")))
    assert "status 137" in turn.results()[0]
    assert turn.end["type"] == "done", turn.end
    assert turn.end["response"] == "It did not fit."
    await goes_on(house, turn)


async def test_a_sandbox_killed_from_outside_is_not_called_memory(house: House) -> None:
    turn = await house.send(prompt(bash("sleep 600"), step("x")), until=is_a("tool_use"))
    async with Engine() as engine:
        await engine.kill(await its_container(house))
    await turn.go_on()
    assert turn.end["code"] == "sandbox_killed", turn.end
    assert "killed from outside" in turn.end["error"]
    assert "memory" not in turn.end["error"]
    assert turn.end["remedy"] == "send the message again"
    await goes_on(house, turn)


async def test_a_kill_from_outside_is_not_memory_though_a_tool_ran_out_of_it_before(
    house: House,
) -> None:
    message = prompt(bash(GREEDY), bash("sleep 600"), step("x"))
    turn = await house.send(message, until=is_a("tool_result"))
    assert "status 137" in turn.end["content"]
    await turn.go_on(is_a("tool_use"))
    async with Engine() as engine:
        await engine.kill(await its_container(house))
    await turn.go_on()
    assert turn.end["code"] == "sandbox_killed", turn.end
    await goes_on(house, turn)


async def test_a_sandbox_paused_from_outside_ends_its_turn_under_its_own_name(house: House) -> None:
    turn = await house.send(prompt(bash("sleep 600"), step("x")), until=is_a("tool_use"))
    container = await its_container(house)
    paused = await asyncio.create_subprocess_exec(
        "docker", "pause", container, stdout=asyncio.subprocess.DEVNULL
    )
    assert await paused.wait() == 0
    begun = time.monotonic()
    await asyncio.wait_for(turn.go_on(), 60)
    assert time.monotonic() - begun < 30  # 15, and what other work on the machine adds
    assert turn.end["code"] == "sandbox_paused", turn.end
    assert turn.end["where"] == container[:12]
    assert "who pauses" in turn.end["remedy"]
    await goes_on(house, turn)


async def test_a_sandbox_that_is_long_silent_is_not_taken_for_a_paused_one(house: House) -> None:
    turn = await house.send(prompt(bash("sleep 12"), step("Awake.")))
    assert turn.end["type"] == "done", turn.end
    await goes_on(house, turn)


async def test_an_agent_that_its_own_tool_killed_was_not_killed_from_outside(house: House) -> None:
    kill = "kill -9 $(pgrep -o -f /opt/trustfloor/claude || echo $PPID); sleep 600"
    turn = await house.send(prompt(bash(kill), step("x")))
    assert turn.end["code"] == "agent_process_failed", turn.end
    assert "inside the sandbox by SIGKILL" in turn.end["error"]
    await goes_on(house, turn)


@asynccontextmanager
async def a_turn_that_lost_its_engine() -> AsyncIterator[tuple[House, Turn, Relay]]:
    """It has ended; its engine is away until the relay is opened."""
    with relay(ENGINE_SOCKET) as engine:
        async with a_house(engine_socket=engine.path) as house:
            turn = await house.send(prompt(bash("sleep 600"), step("x")), until=is_a("tool_use"))
            engine.cut()
            await turn.go_on()
            assert turn.end["code"] == "engine_lost", turn.end
            yield house, turn, engine


async def test_an_engine_lost_in_the_turn_is_told_and_the_next_message_finds_it_again() -> None:
    async with a_turn_that_lost_its_engine() as (house, turn, engine):
        assert "scripts/engine" in turn.end["remedy"]
        away = await house.send(prompt(step("x")), session_id=turn.session_id)
        assert away.end["code"] == "engine_unreachable", away.end
        assert str(engine.path) in away.end["error"]
        assert "scripts/engine" in away.end["remedy"]
        engine.open()
        await goes_on(house, turn)


@pytest.mark.parametrize("aborted", [False, True], ids=["left alone", "aborted"])
async def test_an_engine_that_stands_still_in_the_turn_ends_it_and_is_named(
    aborted: bool, tmp_path: Path
) -> None:
    """Its sockets stay open and say nothing, as those of a process that was stopped do."""
    async with (
        faulty_engine(tmp_path / "e.sock") as engine,
        a_house(engine_socket=engine.path) as house,
    ):
        turn = await house.send(prompt(bash("sleep 600"), step("x")), until=is_a("tool_use"))
        engine.silent = True
        begun = time.monotonic()
        if aborted:
            assert await house.parts.conversations.abort(turn.session_id, "enough")
        await asyncio.wait_for(turn.go_on(), 60)
        assert time.monotonic() - begun < 30  # 10, and what other work on the machine adds
        if aborted:
            assert turn.end["type"] == "aborted", turn.end
        else:
            assert turn.end["code"] == "engine_lost", turn.end
            assert "stopped answering" in turn.end["error"]
            assert "restart the engine" in turn.end["remedy"]
        await engine.stop()
        await engine.mend()
        await goes_on(house, turn)


async def test_what_a_lost_engine_kept_of_ours_goes_once_it_is_back() -> None:
    """Nobody sends a message, and nobody starts the supervisor anew."""
    async with a_turn_that_lost_its_engine() as (house, _turn, engine):
        assert (await house.left()).containers
        engine.open()
        await house.nothing_left()
