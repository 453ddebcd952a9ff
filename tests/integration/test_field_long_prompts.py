"""Long system prompts and messages reach the model whole, at every level (S12)."""

import pytest

from supervisor.trust.levels import TrustLevel
from tests.worlds.house import prompt, step
from tests.worlds.noting_model import a_noted_house, a_noting_model

pytestmark = pytest.mark.engine

SYSTEM = {
    "140 KiB of ASCII": "You are brief. " + "a" * 140 * 1024 + " The end.",
    "70,000 letters of two bytes": "You are brief. " + "é" * 70_000 + " The end.",
}
MESSAGE = "m" * 1024 * 1024 + " the end of the message"


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_what_is_long_arrives_whole(level: TrustLevel) -> None:
    async with a_noting_model() as noted, a_noted_house(noted) as house:
        for name, system in SYSTEM.items():
            noted.bodies.clear()
            message = prompt(step("Read it."), words=MESSAGE)
            turn = await house.send(message, level, system_prompt=system)
            assert turn.end["type"] == "done", (name, turn.end)
            assert turn.end["response"] == "Read it."
            (asked,) = noted.conversations()
            assert system in asked, name
            assert MESSAGE in asked, name


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_an_agent_with_a_long_body_has_all_of_it(level: TrustLevel) -> None:
    async with a_noting_model() as noted, a_noted_house(noted) as house:
        (house.vault / "agents").mkdir()
        for name, body in SYSTEM.items():
            noted.bodies.clear()
            (house.vault / "agents" / "long.md").write_text(f"---\nname: Long\n---\n{body}\n")
            turn = await house.send(prompt(step("Read it.")), level, agent="Long")
            assert turn.end["type"] == "done", (name, turn.end)
            (asked,) = noted.conversations()
            assert body in asked, name
