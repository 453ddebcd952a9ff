"""Invariant 3, by a turn that digs: folders in folders, deeper than a recursive removal goes.

The turn's own temporary folder is the agent's to fill. An error while it is removed would end the
supervisor, with all its other turns, and each start after that.
"""

import shutil
import subprocess
from collections.abc import Sized
from pathlib import Path

import pytest

from supervisor.runtimes import turn_folder
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, Turn, a_house
from tests.worlds.vault_cage import run
from tests.worlds.waiting import until

DIG = (
    "import os\nos.chdir(os.environ['TMPDIR'])\n"
    "for _ in range(3000):\n    os.mkdir('d'); os.chdir('d')\nprint('dug')\n"
)


def fill(vault: Path) -> None:
    (vault / "dig.py").write_text(DIG)


async def digs(house: House, level: TrustLevel) -> Turn:
    turn = await run(house, "true; python3 dig.py", level=level)
    assert turn.results() == ["dug"]
    return turn


@pytest.mark.parametrize("level", [TrustLevel.VAULT, TrustLevel.FULL])
async def test_what_was_dug_is_gone_after_the_turn_and_the_next_message_runs(
    level: TrustLevel,
) -> None:
    async with a_house(fill=fill) as house:
        turn = await digs(house, level)
        assert turn.end["type"] == "done", turn.end
        again = await run(house, "true; echo ok", level=level)
        assert again.end["type"] == "done", again.end
        assert [each for each in house.turns.iterdir() if each.name == turn.started.turn_id] == []


async def broken(tried: Sized) -> None:
    async with a_house(fill=fill) as house:
        turn = await digs(house, TrustLevel.FULL)
        assert "something broke in the supervisor" in turn.end["error"]
        left = [*house.turns.iterdir()]
        try:
            await until(lambda: len(tried) > 1)  # by the turn, then among what turns have left
            await house.begin("the next message", trust_level=TrustLevel.FULL)
        finally:
            subprocess.run(["rm", "-rf", "--", *left], check=True)


async def test_control_removed_by_recursion_the_supervisor_breaks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[Path] = []

    def recursive(folder: Path) -> None:
        try:
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            tried.append(folder)

    monkeypatch.setattr(turn_folder, "clear_away", recursive)
    with pytest.raises(BaseExceptionGroup):
        await broken(tried)
