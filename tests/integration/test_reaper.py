"""The reaper removes what is provably ours and unused, and touches nothing else."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from supervisor.ids import new_instance_id
from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.container.reaper import Reaped, reap_containers
from tests.worlds import engine as world

pytestmark = pytest.mark.engine


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with world.real_engine() as engine:
        yield engine


async def test_containers_of_dead_turns_are_removed_in_any_state(engine: Engine) -> None:
    async with world.box(engine) as created:
        assert await reap_containers(engine, created.instance, list) == Reaped(removed=1)
        assert await engine.inspect(created.id) is None
    async with world.box(engine) as running, running.started():
        assert await reap_containers(engine, running.instance, list) == Reaped(removed=1)
        assert await engine.inspect(running.id) is None
    async with world.box(engine) as ended, ended.started() as channel:
        await channel.close_input()
        await world.ended(channel)
        assert await reap_containers(engine, ended.instance, list) == Reaped(removed=1)
        assert await engine.inspect(ended.id) is None


async def test_a_living_turns_container_is_left_alone(engine: Engine) -> None:
    async with world.box(engine) as box:
        living = [box.turn]
        assert await reap_containers(engine, box.instance, lambda: living) == Reaped(in_use=1)
        living.clear()
        assert await reap_containers(engine, box.instance, lambda: living) == Reaped(removed=1)


async def test_another_instances_container_and_a_look_alike_stay_untouched(engine: Engine) -> None:
    def look_alike(api: dict[str, Any]) -> None:
        api["Labels"] = {"trustfloor": "instance", "trustfloor.turn": "turn_x"}

    async with world.box(engine) as other, world.box(engine, weaken=look_alike) as stranger:
        assert await reap_containers(engine, new_instance_id(), list) == Reaped()
        assert await engine.inspect(other.id) is not None
        assert await engine.inspect(stranger.id) is not None
        assert await reap_containers(engine, stranger.instance, list) == Reaped()
        assert await engine.inspect(stranger.id) is not None


async def test_one_whose_turn_is_unknown_is_removed_since_it_carries_our_instance(
    engine: Engine,
) -> None:
    async with world.box(engine, weaken=lambda api: api["Labels"].pop("trustfloor.turn")) as box:
        assert await reap_containers(engine, box.instance, list) == Reaped(removed=1)


async def test_many_are_removed_in_one_go_and_a_second_go_finds_nothing(engine: Engine) -> None:
    async with world.box(engine) as first:

        def ours(api: dict[str, Any]) -> None:
            api["Labels"] = dict(first.spec.labels)

        async with world.box(engine, weaken=ours), world.box(engine, weaken=ours):
            assert await reap_containers(engine, first.instance, list) == Reaped(removed=3)
            assert await reap_containers(engine, first.instance, list) == Reaped()
