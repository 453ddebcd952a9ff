"""Invariant 3 of sandboxes made ahead of a message, while something befalls the engine or the turn.

Whatever it is: nothing of them is left, and no message is lost that one made for it would have
served.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import PurePosixPath
from typing import Any

import pytest

from supervisor.runtimes.container.sandbox import Sandbox, SandboxMaker
from supervisor.runtimes.contract import Receipt, RunPlan
from supervisor.runtimes.waiting import WaitingRoom
from tests.worlds.engine_faults import FaultyEngine, faulty_engine
from tests.worlds.engine_image import docker
from tests.worlds.house import House, Turn, a_house, prompt, step
from tests.worlds.leftovers import left_of
from tests.worlds.ready_sandboxes import (
    HELLO,
    a_house_behind_the_filter,
    the_waiting_one,
    waited,
)
from tests.worlds.second_engine import short_folder
from tests.worlds.waiting import A_WHILE, patient_rooms, until

pytestmark = pytest.mark.engine

SPARE: dict[str, Any] = {"spare_sandboxes": 1}
OWN: dict[str, Any] = {"waiting_sandboxes": 1}
KINDS = {"a spare one": SPARE, "one for its session": OWN}


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    with patient_rooms():
        yield


@asynccontextmanager
async def a_house_that_waits(kind: dict[str, Any]) -> AsyncIterator[tuple[House, FaultyEngine]]:
    """One sandbox waits in it, behind an engine that can be made to fail."""
    with short_folder() as folder:
        async with (
            faulty_engine(folder / "engine.sock") as engine,
            a_house(engine_socket=engine.path, **kind) as house,
        ):
            if kind is OWN:
                await house.send(HELLO)
            await the_waiting_one(house)
            yield house, engine


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("fault", ["stands still", "goes away"])
async def test_of_one_that_an_engine_took_along_nothing_is_left_once_that_is_back(
    kind: dict[str, Any], fault: str
) -> None:
    """No turn ends meanwhile, after which leftovers are looked for."""
    async with a_house_that_waits(kind) as (house, engine):
        if fault == "stands still":
            engine.silent = True
        else:
            await engine.stop()
        views = house.parts.settings.data_dir / "vault-view" / "views"
        await until(lambda: not list(views.iterdir()))  # given up, but not removed
        assert (await house.left()).containers
        await engine.stop()
        await engine.mend()
        await house.nothing_left()


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
async def test_a_message_whose_sandbox_is_killed_while_it_is_made_ready_gets_another(
    kind: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    renewed = SandboxMaker._renewed

    async def killing(
        maker: SandboxMaker, sandbox: Sandbox, plan: RunPlan, kept: PurePosixPath
    ) -> Receipt:
        receipt = await renewed(maker, sandbox, plan, kept)
        await asyncio.to_thread(docker, "kill", sandbox.container)
        await sandbox.channel.stirred()
        return receipt

    async with a_house(**kind) as house:
        session = None
        if kind is OWN:
            session = (await house.send(HELLO)).session_id
        container = await the_waiting_one(house)
        monkeypatch.setattr(SandboxMaker, "_renewed", killing)
        assert not waited(await house.send(HELLO, session_id=session))
        assert container not in (await house.left()).containers


async def test_what_gave_way_to_a_turn_is_not_followed_by_another_before_that_has_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As where another session's turn ends just then."""
    asked: list[Any] = []
    expect, give_way = WaitingRoom.expect, WaitingRoom.give_way

    def noting(room: WaitingRoom[Any], *what: Any) -> None:
        asked[:] = what
        expect(room, *what)

    async def followed(room: WaitingRoom[Any]) -> bool:
        gave = await give_way(room)
        expect(room, *asked)
        if room.ids:
            await until(lambda: room.waiting)
        return gave

    monkeypatch.setattr(WaitingRoom, "expect", noting)
    async with a_house_behind_the_filter(1, waiting_sandboxes=1) as house:
        await house.send(HELLO)
        await the_waiting_one(house)
        monkeypatch.setattr(WaitingRoom, "give_way", followed)
        another = await house.send(HELLO)
        assert another.end["type"] == "done", another.end


@pytest.mark.parametrize("after", [0.0, 0.05, 0.2])
async def test_a_message_that_is_stopped_at_any_moment_leaves_nothing_but_the_next(
    after: float,
) -> None:
    slow = prompt(step("word " * 20, chunks=20, chunk_delay_s=2.0))
    async with a_house(spare_sandboxes=1) as house:
        container = await the_waiting_one(house)
        started = await house.begin(slow)
        await asyncio.sleep(after)
        await house.parts.conversations.abort(started.session_id, "enough")
        turn = await Turn(house, started, []).go_on()
        assert turn.end["type"] == "aborted"
        async with asyncio.timeout(A_WHILE):
            while len((left := await house.left()).containers) != 1 or len(left.folders) != 1:
                await asyncio.sleep(0.02)
        assert len(left.views) == 1
        await house.send(HELLO)
        assert container not in (await house.left()).containers


@pytest.mark.parametrize("after", [0.0, 0.1])
async def test_a_supervisor_that_stops_while_some_are_made_leaves_none(after: float) -> None:
    with short_folder() as folder:
        async with a_house(folder, spare_sandboxes=4):
            await asyncio.sleep(after)
        left = await left_of(folder / "data", folder / "run")
        assert (left.containers, left.folders, left.views) == ((), (), ())
        assert list((folder / "run").iterdir()) == []
