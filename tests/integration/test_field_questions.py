"""A question is answered by a person, or told as not answered; never by anybody else (S11)."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from supervisor.errors import AlreadyAnswered, InvalidRequest, RequestVoid
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, Turn, a_house, calls, is_a, prompt, step

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]


def question(text: str, *labels: str, several: bool = False) -> dict[str, Any]:
    options = [{"label": label, "description": f"it is {label}"} for label in labels]
    return {"question": text, "header": text[:10], "options": options, "multiSelect": several}


QUESTIONS = [
    question("Which colour?", "Red", "Blue"),
    question("Which sizes?", "Small", "Medium", "Large", several=True),
]
ASK = prompt(calls(("AskUserQuestion", {"questions": QUESTIONS})), step("Thank you."))
ANSWERS: dict[str, Any] = {"Which colour?": "Blue", "Which sizes?": ["Small", "Large"]}


@pytest_asyncio.fixture(name="house", scope="module", loop_scope="module")
async def house_fixture() -> AsyncIterator[House]:
    async with a_house() as house:
        yield house


async def asked(house: House, level: TrustLevel) -> tuple[Turn, str]:
    turn = await house.send(ASK, level, until=is_a("user_question"))
    assert list(turn.end["questions"]) == QUESTIONS
    return turn, turn.end["requestId"]


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_exactly_the_persons_answers_reach_the_agent(house: House, level: TrustLevel) -> None:
    turn, request_id = await asked(house, level)
    answer = house.parts.questions.answer

    wrong_ones: tuple[dict[str, Any], ...] = (
        {**ANSWERS, "Which colour?": "Green"},
        {**ANSWERS, "Which colour?": ["Red", "Blue"]},
        {**ANSWERS, "Never asked?": "Red"},
        {"Which colour?": "Blue"},
    )
    for unknown in wrong_ones:
        with pytest.raises(InvalidRequest) as wrong:
            await answer(request_id, unknown)
        assert wrong.value.status == 422
        assert [each.request_id for each in house.parts.questions.pending(turn.session_id)] == [
            request_id
        ]

    other: dict[str, Any] = {"Which colour?": "Red", "Which sizes?": ["Medium"]}
    first, second = await asyncio.gather(
        answer(request_id, ANSWERS), answer(request_id, other), return_exceptions=True
    )
    assert first is None
    assert isinstance(second, AlreadyAnswered)
    assert second.status == 409
    await turn.go_on()
    (result,) = turn.results()
    assert '"Which colour?"="Blue"' in result
    assert '"Which sizes?"="Small, Large"' in result
    assert "Red" not in result
    assert "Medium" not in result
    assert turn.end["response"] == "Thank you."
    with pytest.raises(AlreadyAnswered):
        await answer(request_id, ANSWERS)


@pytest.mark.parametrize("level", list(TrustLevel))
async def test_a_question_that_is_waiting_when_the_turn_is_aborted_is_void(
    house: House, level: TrustLevel
) -> None:
    turn, request_id = await asked(house, level)
    await house.parts.conversations.abort(turn.session_id, "enough")
    await turn.go_on()
    assert turn.end["type"] == "aborted"
    assert [event["decision"] for event in turn.of("permission_resolved")] == ["void"]
    with pytest.raises(RequestVoid) as gone:
        await house.parts.questions.answer(request_id, ANSWERS)
    assert gone.value.status == 410


async def test_nobodys_answer_is_told_as_no_answer_at_the_limit() -> None:
    async with a_house(question_seconds=2.0) as house:
        turns = await asyncio.gather(*(house.send(ASK, level) for level in TrustLevel))
        for turn in turns:
            (question_event,) = turn.of("user_question")
            assert question_event["expiresAt"] > 0
            assert [event["decision"] for event in turn.of("permission_resolved")] == ["timed_out"]
            (denied,) = turn.of("permission_denied")
            assert denied["rule"] == "not-answered"
            (result,) = turn.of("tool_result")
            assert result["isError"]
            assert "the person did not answer within 2 s" in result["content"]
            assert not [label for label in ("Red", "Small") if label in result["content"]]
            assert turn.end["type"] == "done"
            with pytest.raises(RequestVoid):
                await house.parts.questions.answer(question_event["requestId"], ANSWERS)
