"""Invariant 3, at the level of the whole supervisor: however a turn ends, nothing of it is left."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from supervisor.observability.health import Leftovers
from supervisor.runtimes.container.engine import ContainerId, Engine
from supervisor.runtimes.container.spec import LABEL_INSTANCE, LABEL_SESSION, LABEL_TURN
from supervisor.runtimes.local.leftovers import count_marked
from supervisor.storage.identity import instance_of
from supervisor.trust.levels import TrustLevel
from tests.worlds import hostile_image as images
from tests.worlds.hostile_image import docker, hostile
from tests.worlds.house import House, Turn, a_house, bash, is_a, prompt, step
from tests.worlds.waiting import A_WHILE

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

SLOW = prompt(step("word " * 20, chunks=20, chunk_delay_s=2.0))
FAILING = prompt(step(error={"status": 400, "type": "invalid_request_error", "message": "no"}))
LEAVE = "echo CANARY-left > /tmp/left; (setsid sleep 600 >/dev/null 2>&1 &); ls /tmp; echo has-left"


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="house")
async def house_fixture() -> AsyncIterator[House]:
    async with a_house() as house:
        yield house


def containers_of(turn: Turn) -> list[str]:
    """The ids of the containers that are there for this turn, in any state."""
    label = f"label={LABEL_TURN}={turn.started.turn_id}"
    return docker("ps", "--all", "--no-trunc", "--quiet", "--filter", label).split()


def views(house: House) -> list[str]:
    return [each.name for each in (house.parts.settings.data_dir / "vault-view/views").iterdir()]


async def nothing_is_left(house: House) -> None:
    """Wait till the sweep after the turn is over too; then look at all that could be left."""
    instance = instance_of(house.parts.settings.data_dir)
    async with asyncio.timeout(A_WHILE), Engine() as engine:
        while house.parts.conversations.active() or await engine.list_ours(instance):
            await asyncio.sleep(0.01)
        while views(house) or any(house.turns.iterdir()) or count_marked(instance):
            await asyncio.sleep(0.01)
    assert (await house.parts.readiness()).counts == Leftovers()
    assert list(house.parts.settings.runtime_dir.rglob("model.sock")) == []
    assert [each.name for each in Path("/tmp").glob(f"*{instance[:12]}*")] == []


async def something_is_there(house: House, turn: Turn) -> str:
    """The control of what `nothing_is_left` looks at: during the turn it is all there."""
    (container,) = containers_of(turn)
    assert [each.name for each in house.turns.iterdir()] == [turn.started.turn_id]
    assert views(house) == [turn.started.turn_id]
    counts = (await house.parts.readiness()).counts
    assert (counts.containers_live, counts.turn_folders, counts.sockets) == (1, 1, 1)
    return container


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_after_done_nothing_is_left(house: House, level: TrustLevel) -> None:
    turn = await house.send(prompt(step("hello")), level)
    assert turn.end["type"] == "done"
    await nothing_is_left(house)


async def test_after_an_abort_nothing_is_left(house: House) -> None:
    turn = await house.send(SLOW, until=is_a("text"))
    await something_is_there(house, turn)
    await house.parts.conversations.abort(turn.session_id, "enough")
    await turn.go_on()
    assert turn.end["type"] == "aborted"
    await nothing_is_left(house)


async def test_after_an_abort_at_once_nothing_is_left(house: House) -> None:
    for yields in (0, 1, 10, 100, 1000):
        started = await house.begin(SLOW, trust_level=TrustLevel.SANDBOXED)
        for _ in range(yields):
            await asyncio.sleep(0)
        await house.parts.conversations.abort(started.session_id, "never mind")
        turn = await Turn(house, started, []).go_on()
        assert turn.end["type"] == "aborted"
        assert turn.end["message"] == "never mind"
        await nothing_is_left(house)


async def test_after_an_error_nothing_is_left(house: House) -> None:
    turn = await house.send(FAILING)
    assert turn.end["type"] == "error"
    await nothing_is_left(house)


async def test_after_a_kill_from_outside_nothing_is_left_and_it_is_told(house: House) -> None:
    turn = await house.send(SLOW, until=is_a("text"))
    await asyncio.to_thread(docker, "kill", await something_is_there(house, turn))
    await turn.go_on()
    assert turn.end["type"] == "error"
    assert turn.end["code"] == "sandbox_killed"
    await nothing_is_left(house)
    again = await house.send(prompt(step("fine")), session_id=turn.session_id)
    assert again.end["type"] == "done"


async def test_after_a_removal_from_outside_nothing_is_left_and_it_is_told(house: House) -> None:
    turn = await house.send(SLOW, until=is_a("text"))
    await asyncio.to_thread(docker, "rm", "--force", await something_is_there(house, turn))
    await turn.go_on()
    assert turn.end["code"] == "sandbox_killed"
    await nothing_is_left(house)


async def test_what_a_local_turns_tool_left_running_outside_its_group_is_ended(
    house: House,
) -> None:
    instance = instance_of(house.parts.settings.data_dir)
    seen = []
    leave = bash("(setsid sleep 600 >/dev/null 2>&1 &); sleep 0; echo has-left")
    started = await house.begin(prompt(leave, SLOW_STEP), trust_level=TrustLevel.FULL)
    turn = await Turn(house, started, []).go_on(is_a("text"))
    seen.append(count_marked(instance))
    assert "has-left" in turn.results()[0]
    assert seen[0] >= 2  # the control: the CLI, and what the tool left
    await house.parts.conversations.abort(turn.session_id, "enough")
    await turn.go_on()
    await nothing_is_left(house)


SLOW_STEP = step("word " * 20, chunks=20, chunk_delay_s=2.0)


async def test_after_the_time_limit_nothing_is_left_and_it_is_told() -> None:
    async with a_house(turn_seconds=2.0) as house:
        turn = await house.send(prompt(bash(LEAVE), SLOW_STEP))
        assert turn.end["type"] == "error"
        assert turn.end["code"] == "turn_timed_out"
        assert turn.end["remedy"]
        await nothing_is_left(house)


async def test_after_the_agent_itself_runs_out_of_memory_nothing_is_left_and_it_is_told() -> None:
    async with a_house(runner_image=images.hostile_image(), sandbox_memory_mb=256) as house:
        turn = await house.send("go", system_prompt=hostile("main_out_of_memory"))
        assert turn.end["type"] == "error"
        assert turn.end["code"] == "sandbox_out_of_memory"
        await nothing_is_left(house)


async def test_after_the_supervisor_stops_nothing_is_left_of_a_running_turn() -> None:
    async with a_house() as house:
        turn = await house.send(SLOW, until=is_a("text"))
        (container,) = containers_of(turn)
    assert containers_of(turn) == []
    async with Engine() as engine:
        assert await engine.inspect(ContainerId(container)) is None


async def test_each_message_of_a_session_has_a_container_that_no_other_had(house: House) -> None:
    session_id = None
    used = []
    for _ in range(3):
        look = prompt(bash(LEAVE), SLOW_STEP)
        started = await house.begin(look, trust_level=TrustLevel.SANDBOXED, session_id=session_id)
        session_id = started.session_id
        turn = await Turn(house, started, []).go_on(is_a("text"))
        container = await something_is_there(house, turn)
        used.append(container)
        labels = docker("inspect", "--format", "{{json .Config.Labels}}", container)
        instance = instance_of(house.parts.settings.data_dir)
        for name, value in (
            (LABEL_INSTANCE, instance),
            (LABEL_SESSION, session_id),
            (LABEL_TURN, started.turn_id),
        ):
            assert f'"{name}":"{value}"' in labels
        # Each one leaves a file; had the container been used before, it would find it there.
        assert turn.results()[0].count("left") == 2
        await house.parts.conversations.abort(session_id, "enough")
        await turn.go_on()
    assert len(set(used)) == 3
    await nothing_is_left(house)


async def test_containers_of_other_instances_are_left_alone(house: House) -> None:
    async with a_house() as other:
        theirs = await other.send(SLOW, until=is_a("text"))
        (container,) = containers_of(theirs)
        ours = await house.send(prompt(step("hello")))
        assert ours.end["type"] == "done"
        await nothing_is_left(house)
        assert containers_of(theirs) == [container]
