"""A message is in its session's log whatever became of its turn, also if no cage was there for it.

Broken for real: images whose entry program fails or measures nothing, no image, no CLI.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from supervisor import machinery
from supervisor.trust.levels import TrustLevel
from tests.worlds.hostile_image import broken_image
from tests.worlds.house import House, Turn, a_house, prompt, step
from tests.worlds.process_house import a_process_house

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

FAILS = "raise SystemExit(3)\n"
MEASURES_NOTHING = 'print(\'{"trustfloor": "receipt"}\', flush=True)\ninput()\n'


@pytest_asyncio.fixture(name="house", scope="module", loop_scope="module")
async def house_fixture() -> AsyncIterator[House]:
    async with a_house() as house:
        yield house


def message_of(turn: Turn) -> str:
    """The message as it is told, once and before the end."""
    (told,) = turn.of("user_message")
    assert turn.events.index(told) == len(turn.events) - 2
    return str(told["content"])


@pytest.mark.parametrize(
    ("entry", "types"),
    [
        (FAILS, ["session", "user_message", "error"]),
        # The receipt is the first thing after `session` in any case.
        (MEASURES_NOTHING, ["session", "isolation", "user_message", "error"]),
    ],
    ids=["fails", "measures nothing"],
)
async def test_the_message_is_told_though_the_sandbox_failed(entry: str, types: list[str]) -> None:
    async with a_house(runner_image=broken_image(entry)) as house:
        turn = await house.send("Where is the milk?")
        assert turn.types == types, turn.events
        assert message_of(turn) == "Where is the milk?"


@pytest.mark.parametrize("level", [TrustLevel.FULL, TrustLevel.VAULT])
async def test_the_message_is_told_though_no_process_could_be_started(
    level: TrustLevel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(machinery, "bundled_cli", lambda: tmp_path / "no such program")
    async with a_house() as house:
        turn = await house.send("Where is the milk?", level)
        # A cage that is measured first may find the program missing before it is started.
        assert [each for each in turn.types if each != "isolation"] == [
            "session",
            "user_message",
            "error",
        ], turn.events
        assert message_of(turn) == "Where is the milk?"


@pytest.mark.parametrize("level", TrustLevel)
async def test_the_message_is_told_once_though_its_turn_was_aborted_at_once(
    house: House, level: TrustLevel
) -> None:
    started = await house.begin("Never mind.", trust_level=level)
    assert await house.parts.conversations.abort(started.session_id, "enough")
    turn = await Turn(house, started, []).go_on()
    assert turn.end["type"] == "aborted"
    assert message_of(turn) == "Never mind."


@pytest.mark.parametrize("level", TrustLevel)
async def test_control_a_turn_that_ran_tells_its_message_once_and_first(
    house: House, level: TrustLevel
) -> None:
    turn = await house.send(prompt(step("Done.")), level)
    assert turn.types[:3] == ["session", "isolation", "user_message"]
    assert turn.types.count("user_message") == 1


async def test_one_who_joins_later_reads_what_was_asked_and_why_it_failed() -> None:
    async with a_process_house() as house:
        await house.start(runner_image=broken_image(FAILS))
        lived = await house.turn("Where is the milk?")
        async with house.joined(lived[0]["session_id"]) as stream:
            told = await stream.rest()
    assert told == lived
    assert [event["type"] for event in told] == ["session", "user_message", "error"]
    assert told[1]["content"] == "Where is the milk?"
