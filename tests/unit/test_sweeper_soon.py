"""A sweep that is asked for soon comes, and what it couldn't remove it comes for again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from supervisor import sweeper as module
from supervisor.errors import EngineRefused, EngineUnreachable
from supervisor.ids import InstanceId, TurnId
from supervisor.runtimes.container.engine import ContainerId, Engine, Listed
from supervisor.runtimes.container.spec import LABEL_INSTANCE, LABEL_TURN
from supervisor.runtimes.container.vault_view import VaultViews
from supervisor.sweeper import Sweeper
from tests.worlds.waiting import until

OURS, TURN = InstanceId("0" * 32), TurnId("the-turn")


@dataclass
class OneContainer:
    """An engine with one container of ours, which it lets go after so many failures."""

    failures: list[Exception] = field(default_factory=list)
    unreachable: int = 0
    removed: bool = False
    looks: int = 0
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    async def list_ours(self, _instance: InstanceId) -> tuple[Listed, ...]:
        self.looks += 1
        if self.looks <= self.unreachable:
            raise EngineUnreachable("nobody listens")
        labels = {LABEL_INSTANCE: OURS, LABEL_TURN: TURN}
        found = () if self.removed else (Listed(ContainerId("c"), labels, "exited"),)
        await self.may_answer.wait()
        return found

    async def remove(self, _container: ContainerId) -> bool:
        if self.failures:
            raise self.failures.pop()
        self.removed = True
        return True


@asynccontextmanager
async def a_sweeper(
    engine: OneContainer, folder: Path, living: set[TurnId]
) -> AsyncIterator[Sweeper]:
    views = VaultViews(folder / "views")
    asked: Any = engine
    async with Sweeper(
        cast("Engine", asked), views, lambda: living, OURS, folder / "turns"
    ) as sweeper:
        yield sweeper


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SOONEST_SECONDS", 0.01)
    monkeypatch.setattr(module, "_LATEST_SECONDS", 0.01)


@pytest.mark.parametrize(
    ("refusals", "unreachable"),
    [(0, 0), (2, 0), (0, 2)],
    ids=["that removes it", "that refuses twice", "that is away twice"],
)
async def test_what_no_turn_uses_is_removed_soon_by_an_engine(
    refusals: int, unreachable: int, tmp_path: Path
) -> None:
    engine = OneContainer([EngineRefused("busy")] * refusals, unreachable)
    engine.may_answer.set()
    async with a_sweeper(engine, tmp_path, set()) as sweeper:
        assert engine.looks == 0
        sweeper.sweep_soon()
        await until(lambda: engine.removed)


async def test_what_is_given_up_while_it_is_looked_at_is_looked_at_again(tmp_path: Path) -> None:
    engine, living = OneContainer(), {TURN}
    async with a_sweeper(engine, tmp_path, living) as sweeper:
        sweeper.sweep_soon()
        await until(lambda: engine.looks)
        sweeper.sweep_soon()  # as by who gives it up just then
        engine.may_answer.set()
        await until(lambda: engine.looks > 1)
        assert not engine.removed
        living.clear()
        sweeper.sweep_soon()
        await until(lambda: engine.removed)
