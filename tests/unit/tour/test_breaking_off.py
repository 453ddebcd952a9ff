"""A tour whose ground is gone stops there: what comes after would hold because nothing ran."""

import io
from pathlib import Path

import pytest

from supervisor.cli import demo
from supervisor.cli.client import Client
from supervisor.cli.tour.claims import Claim
from supervisor.cli.tour.stage import Stage, TurnBroke
from supervisor.cli.tour.teller import Teller
from supervisor.cli.tour.world import World


def a_stage(file: io.StringIO, root: Path) -> Stage:
    async def restart() -> int:
        raise AssertionError("nothing is started anew here")

    client = Client("http://127.0.0.1:9", "none")
    return Stage(client, World(root, {}, "key"), Teller(file), 1, restart)


async def holds(_stage: Stage) -> list[Claim]:
    return [Claim("it holds", held=True, evidence="as seen")]


async def breaks(_stage: Stage) -> list[Claim]:
    raise TurnBroke("the turn did not end well: no image", remedy="run scripts/images")


@pytest.mark.parametrize("broken", [0, 1])
async def test_after_a_turn_that_broke_off_no_further_step_is_played(
    broken: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [("one", holds), ("two", holds), ("three", holds)]
    steps[broken] = ("broken", breaks)
    monkeypatch.setattr(demo, "STEPS", tuple(steps))
    file, claims = io.StringIO(), list[Claim]()
    await demo._play_steps(a_stage(file, tmp_path), claims, wait=False)
    assert [claim.held for claim in claims] == [True] * broken + [False]
    told = file.getvalue()
    assert told.count("NOT HELD") == 1
    assert "run scripts/images" in told
    assert "three" not in told
