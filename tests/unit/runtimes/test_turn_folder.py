"""A turn's folder is gone with the turn, also of one that is broken off while it is being made."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.ids import TurnId
from supervisor.runtimes import turn_folder as module
from supervisor.runtimes.turn_folder import TurnFolder, furnished, turn_folder
from tests.worlds.plans import planned
from tests.worlds.waiting import A_WHILE, until

TURN = TurnId("the-turn")
PLAN = replace(planned().run, servers='{"secret": "CANARY"}', resume=False)


class Slow:
    """Stands before one of the steps that a thread does, until it is let on."""

    def __init__(self, patch: pytest.MonkeyPatch, name: str) -> None:
        self.has_begun, self.may_go_on = threading.Event(), threading.Event()
        step: Callable[..., TurnFolder] = getattr(module, name)

        def slow(*given: object) -> TurnFolder:
            self.has_begun.set()
            assert self.may_go_on.wait(A_WHILE)
            return step(*given)

        patch.setattr(module, name, slow)

    async def breaks_off(self, making: "asyncio.Task[None]") -> None:
        await until(self.has_begun.is_set)
        making.cancel()
        await asyncio.sleep(0.01)
        is_done = making.done()
        self.may_go_on.set()
        assert not is_done
        await asyncio.wait({making})
        assert making.cancelled()


async def test_of_a_turn_that_is_broken_off_meanwhile_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch, "_make")

    async def make() -> None:
        async with turn_folder(tmp_path, TURN, PLAN):
            raise AssertionError("it was broken off")

    await slow.breaks_off(asyncio.ensure_future(make()))
    assert list(tmp_path.iterdir()) == []


async def test_nor_of_one_that_is_broken_off_while_a_spare_one_is_furnished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch, "_furnish")

    async def make() -> None:
        async with turn_folder(tmp_path, TURN, None) as folder:
            await furnished(folder, PLAN)

    await slow.breaks_off(asyncio.ensure_future(make()))
    assert list(tmp_path.iterdir()) == []


async def test_nor_where_what_belongs_in_it_can_not_be_written(tmp_path: Path) -> None:
    odd = replace(PLAN, servers="\udc80")  # no text: not an error of the disk's
    with pytest.raises(UnicodeEncodeError):
        async with turn_folder(tmp_path, TURN, odd):
            raise AssertionError("it was refused")
    assert list(tmp_path.iterdir()) == []
