"""What the README lets a newcomer type without a key does what is said there."""

import asyncio
import re
import shlex
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, a_house, is_a
from tests.worlds.waiting import A_WHILE

pytestmark = pytest.mark.engine

ROOT = Path(__file__).parents[2]
SCRIPT = "examples/first-steps.yaml"
README = (ROOT / "README.md").read_text(encoding="utf-8")
SAID = {
    shlex.split(message)[0]: TrustLevel(trust.split()[1]) if trust else TrustLevel.SANDBOXED
    for trust, message in re.findall(
        r"^\.venv/bin/trustfloor chat (--trust \w+ )?('[^']+')", README, re.MULTILINE
    )
}


@pytest.fixture(name="house")
async def house_fixture() -> AsyncIterator[House]:
    with tempfile.TemporaryDirectory(prefix="tf-", dir="/tmp") as folder:
        shutil.copytree(ROOT / "sample-vault", Path(folder) / "vault")
        async with a_house(Path(folder), model=f"scripted:{ROOT / SCRIPT}") as house:
            yield house


def test_the_readme_serves_this_script() -> None:
    assert f"--model scripted:{SCRIPT}" in README
    assert len(SAID) == 3


async def test_the_notes_are_read(house: House) -> None:
    turn = await house.send("Read my notes", SAID["Read my notes"])
    assert "14 kg of tomatoes" in turn.end["response"]


async def test_what_the_script_would_have_cost_is_nowhere_money_spent(house: House) -> None:
    turn = await house.send("Read my notes", SAID["Read my notes"])
    assert turn.end["spending"]["costUsd"] > 0
    async with asyncio.timeout(A_WHILE):
        while (figures := await house.parts.figures(1)).days[-1].tokens == 0:
            await asyncio.sleep(0.005)  # a turn's sums come after its last event
    assert figures.days[-1].cost_usd == 0
    assert [each.cost_usd for each in figures.spent_by_model.values()] == [0]
    session = await house.parts.sessions.get_session(turn.end["sessionId"])
    assert (session.cost_usd > 0, session.paid_usd) == (True, 0)


async def test_the_secrets_are_refused_and_the_answer_holds_none(house: House) -> None:
    turn = await house.send("Show me the secrets", SAID["Show me the secrets"])
    assert [each["rule"] for each in turn.of("permission_denied")] == ["env-files", "env-files"]
    assert turn.end["type"] == "done"
    assert "not-a-real-secret" not in repr(turn.events)


async def test_what_would_write_elsewhere_asks(house: House) -> None:
    turn = await house.send("Back them up", SAID["Back them up"], until=is_a("permission_request"))
    assert "/tmp/notes.tgz" in turn.events[-1]["display"]
    await house.parts.approvals.answer(turn.events[-1]["id"], "denied")
    await turn.go_on()
    assert turn.end["type"] == "done"


async def test_anything_else_is_told_what_there_is(house: House) -> None:
    turn = await house.send("hello")
    for each in SAID:
        assert each.lower() in turn.end["response"]
