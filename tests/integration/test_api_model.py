"""A model that can't be had is said so at once, or with its cause: real CLI, real gateway."""

import socket
from collections.abc import AsyncIterator

import pytest

from supervisor.errors import InvalidRequest
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, a_house


@pytest.fixture
async def house() -> AsyncIterator[House]:
    """A supervisor with a scripted model."""
    async with a_house() as made:
        yield made


@pytest.mark.parametrize("model", ["gpt-5", "claude opus", "-x", "x" * 201, "claude-\n"])
async def test_a_model_that_is_not_allowed_is_refused_and_no_session_is_made(
    house: House, model: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await house.begin("hello", model=model)
    assert refused.value.where == "model"
    assert await house.parts.sessions.list_sessions(10) == []


async def test_one_that_is_allowed_answers(house: House) -> None:
    turn = await house.send("hello", TrustLevel.FULL, model="claude-sonnet-4-5")
    assert turn.end["type"] == "done"


async def test_an_api_that_can_not_be_reached_ends_the_turn_with_the_cause() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        async with a_house(model=None, api_url=f"http://127.0.0.1:{port}") as house:
            turn = await house.send("hello", TrustLevel.FULL)
    cause = f"it can't be reached: 127.0.0.1:{port}: Connection refused"
    warnings = [each["message"] for each in turn.of("warning")]
    assert 1 <= len(warnings) <= 4
    assert all(cause in each for each in warnings)
    assert turn.end["code"] == "model_failed"
    assert cause in turn.end["error"]
