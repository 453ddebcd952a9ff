"""Questions: only what was offered is an answer, and silence is told as silence."""

import asyncio
from typing import Any

import pytest

from supervisor.approvals.questions import Questions, Replies
from supervisor.errors import AlreadyAnswered, InvalidRequest, NotFound, RequestVoid
from supervisor.events.schema import PermissionResolvedEvent, UserQuestionEvent
from tests.worlds.policy_world import TURN, Recorder, SetClock
from tests.worlds.waiting import until

COLOUR = {"question": "Which colour?", "options": [{"label": "Red"}, {"label": "Blue"}]}
SIZES = {
    "question": "Which sizes?",
    "options": [{"label": "S"}, {"label": "M"}, {"label": "L"}],
    "multiSelect": True,
}
BOTH = {"questions": [COLOUR, SIZES]}


class World:
    def __init__(self, **limits: Any) -> None:
        self.sink = Recorder()
        self.questions = Questions(lambda _turn: self.sink, SetClock(), **limits)

    def ask(self, input: dict[str, Any]) -> asyncio.Task[Replies]:
        return asyncio.create_task(self.questions.ask(TURN, "toolu_1", input))

    async def asked(self) -> UserQuestionEvent:
        await until(lambda: self.sink.of(UserQuestionEvent))
        (event,) = self.sink.of(UserQuestionEvent)
        assert isinstance(event, UserQuestionEvent)
        return event


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"Which colour?": "Red", "Which sizes?": ["S", "L"]}, ("Red", "S, L")),
        ({"Which colour?": ["Red"], "Which sizes?": "M"}, ("Red", "M")),
        ({"Which colour?": {"other": "Green"}, "Which sizes?": ["S"]}, ("Green", "S")),
        ({"Which colour?": "Red", "Which sizes?": ["S", {"other": "XXL"}]}, ("Red", "S, XXL")),
    ],
)
async def test_the_persons_answers_come_back_exactly(
    given: dict[str, Any], expected: tuple[str, str]
) -> None:
    world = World()
    task = world.ask(BOTH)
    event = await world.asked()
    assert event.questions == (COLOUR, SIZES)
    assert event.expires_at == 1300.0
    await world.questions.answer(event.request_id, given)
    replies = await task
    assert replies.answers == dict(zip(("Which colour?", "Which sizes?"), expected, strict=True))
    assert world.sink.of(PermissionResolvedEvent)[0].decision == "granted"


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"Which colour?": "Red"},
        {"Which colour?": "Green", "Which sizes?": "S"},
        {"Which colour?": ["Red", "Blue"], "Which sizes?": "S"},
        {"Which colour?": "Red", "Which sizes?": []},
        {"Which colour?": "Red", "Which sizes?": "S, M"},
        {"Which colour?": "Red", "Which sizes?": "S", "Which?": "x"},
        {"Which colour?": {"other": " "}, "Which sizes?": "S"},
        {"Which colour?": {"other": "x", "more": "y"}, "Which sizes?": "S"},
        {"Which colour?": {"other": "x" * 10_001}, "Which sizes?": "S"},
        {"Which colour?": {"other": 5}, "Which sizes?": "S"},
        {"Which colour?": 1, "Which sizes?": "S"},
    ],
)
async def test_what_was_not_offered_is_refused_and_the_question_stays_open(
    given: dict[str, Any],
) -> None:
    world = World()
    task = world.ask(BOTH)
    event = await world.asked()
    with pytest.raises(InvalidRequest) as refusal:
        await world.questions.answer(event.request_id, given)
    assert refusal.value.status == 422
    assert str(refusal.value.where).startswith("answers.")
    await world.questions.answer(event.request_id, {"Which colour?": "Red", "Which sizes?": "S"})
    assert (await task).answers is not None


async def test_silence_is_told_as_silence_with_its_limit() -> None:
    world = World(timeout_s=0.02)
    replies = await world.ask(BOTH)
    assert replies.answers is None
    assert "did not answer within 0.02 s" in replies.reason
    event = await world.asked()
    with pytest.raises(RequestVoid):
        await world.questions.answer(event.request_id, {"Which colour?": "Red"})


async def test_the_first_of_two_answers_wins() -> None:
    world = World()
    task = world.ask({"questions": [COLOUR]})
    event = await world.asked()
    await world.questions.answer(event.request_id, {"Which colour?": "Red"})
    with pytest.raises(AlreadyAnswered):
        await world.questions.answer(event.request_id, {"Which colour?": "Blue"})
    assert (await task).answers == {"Which colour?": "Red"}
    with pytest.raises(NotFound):
        await world.questions.answer("req_invented", {})


async def test_a_cancelled_question_is_void() -> None:
    world = World()
    task = world.ask(BOTH)
    event = await world.asked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert world.questions.pending() == ()
    with pytest.raises(RequestVoid):
        await world.questions.answer(event.request_id, {})


@pytest.mark.parametrize(
    "input",
    [
        {},
        {"questions": []},
        {"questions": "x"},
        {"questions": [{"options": []}]},
        {"questions": [COLOUR, COLOUR]},
        {"questions": [{"question": "q", "options": [{"text": "x"}]}]},
        {"questions": [{"question": "q", "options": "ab"}]},
        {"questions": [{"question": str(i)} for i in range(17)]},
    ],
)
async def test_questions_that_nobody_could_answer_are_not_asked(input: dict[str, Any]) -> None:
    world = World()
    replies = await world.ask(input)
    assert replies.answers is None
    assert world.sink.events == []


@pytest.mark.parametrize(
    ("message", "reason"),
    [(None, "the person declined to answer"), ("nobody is here", "not answered: nobody is here")],
)
async def test_a_declined_question_is_told_at_once_and_blames_nobody_who_was_not_there(
    message: str | None, reason: str
) -> None:
    world = World()
    task = world.ask(BOTH)
    event = await world.asked()
    await world.questions.decline(event.request_id, message)
    replies = await task
    assert (replies.answers, replies.reason) == (None, reason)
    resolved = world.sink.of(PermissionResolvedEvent)[0]
    assert (resolved.decision, resolved.message) == ("denied", message)
    with pytest.raises(AlreadyAnswered):
        await world.questions.answer(event.request_id, {})
    with pytest.raises(NotFound):
        await world.questions.decline("req_none")


async def test_what_would_deceive_in_a_question_is_shown_and_answers_go_by_the_real_text() -> None:
    world = World()
    asked = {
        "question": "Delete\u200b it?",
        "header": "Dele\u0442e",
        "options": [{"label": "n\u043e", "description": "\u202eon"}, {"label": "no"}],
    }
    task = world.ask({"questions": [asked]})
    event = await world.asked()
    assert event.has_hidden_characters
    (shown,) = event.shown
    assert (shown.question, shown.header) == ("Delete⟨U+200B⟩ it?", "Dele⟨U+0442⟩e")
    assert [(each.label, each.description) for each in shown.options] == [
        ("n⟨U+043E⟩", "⟨U+202E⟩on"),
        ("no", None),
    ]
    await world.questions.answer(event.request_id, {"Delete\u200b it?": "no"}, by="ada")
    assert (await task).answers == {"Delete\u200b it?": "no"}
    assert world.sink.of(PermissionResolvedEvent)[0].by == "ada"


async def test_the_same_option_twice_is_no_answer() -> None:
    world = World()
    task = world.ask({"questions": [SIZES]})
    event = await world.asked()
    with pytest.raises(InvalidRequest, match="twice"):
        await world.questions.answer(event.request_id, {"Which sizes?": ["S", "S"]})
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
