"""AskUserQuestion: the agent's questions go to a person, and only a person's answers come back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from supervisor.approvals.board import Board, Posted
from supervisor.approvals.display import make_visible
from supervisor.approvals.given import Given
from supervisor.approvals.offer import BETRAYS, Betrays, nothing_betrayed
from supervisor.approvals.open_requests import (
    MOST_OPEN,
    End,
    OpenRequests,
    Record,
    Sinks,
    TurnContext,
    WasAsked,
    nothing_recorded,
)
from supervisor.clock import Clock
from supervisor.errors import InvalidRequest
from supervisor.events.schema import ShownOption, ShownQuestion, UserQuestionEvent
from supervisor.ids import RequestId, SessionId, TurnId, new_request_id

LONGEST_FREE_TEXT = 10_000
"""Characters."""
MOST_QUESTIONS = 16
OTHER = "other"


@dataclass(frozen=True, slots=True)
class Question:
    """One question as the tool gives it: its text is its name."""

    text: str
    options: tuple[str, ...]
    several: bool


@dataclass(frozen=True, slots=True)
class Replies:
    """Answers by question text, as the tool takes them; None where there are none, and why."""

    answers: Mapping[str, str] | None
    request_id: RequestId | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Said:
    """What was said to a request: answers, or None and perhaps why there are none."""

    answers: Mapping[str, str] | None
    message: str | None = None
    by: str | None = None

    @property
    def decision(self) -> Literal["granted", "denied"]:
        return "denied" if self.answers is None else "granted"

    @property
    def beyond(self) -> None:
        return None


@dataclass(frozen=True, slots=True)
class _Asked:
    event: UserQuestionEvent
    questions: tuple[Question, ...]
    betrays: Betrays


def read_questions(input: Mapping[str, Any]) -> tuple[Question, ...]:
    """The questions of a tool input. Raises InvalidRequest where they can't be put to a person."""
    raw = input.get("questions")
    if not isinstance(raw, list) or not 0 < len(raw) <= MOST_QUESTIONS:
        raise InvalidRequest(f"ask between 1 and {MOST_QUESTIONS} questions", where="questions")
    questions = tuple(_read_question(each, f"questions[{i}]") for i, each in enumerate(raw))
    if len({question.text for question in questions}) < len(questions):
        raise InvalidRequest("each question needs a text of its own", where="questions")
    return questions


def _read_question(raw: object, where: str) -> Question:
    if not isinstance(raw, Mapping) or not isinstance(raw.get("question"), str):
        raise InvalidRequest("a question has a text", where=where)
    options = raw.get("options", [])
    labels = (
        [each.get("label") if isinstance(each, Mapping) else each for each in options]
        if isinstance(options, list)
        else [None]
    )
    if not all(isinstance(label, str) for label in labels):
        raise InvalidRequest("each option has a label", where=f"{where}.options")
    return Question(
        text=raw["question"],
        options=tuple(str(label) for label in labels),
        several=raw.get("multiSelect") is True,
    )


def shown_questions(raw: Sequence[Mapping[str, Any]]) -> tuple[tuple[ShownQuestion, ...], bool]:
    """The questions to be looked at, and whether something in them would have stayed unseen."""
    hidden = False

    def shown(text: object) -> str | None:
        nonlocal hidden
        if not isinstance(text, str):
            return None
        lines = [make_visible(line) for line in text.split("\n")]
        hidden = hidden or any(line.has_hidden_characters for line in lines)
        return "\n".join(line.text for line in lines)

    def option(each: object) -> ShownOption:
        label, described = each, None
        if isinstance(each, Mapping):
            label, described = each.get("label"), each.get("description")
        return ShownOption(label=shown(label) or "", description=shown(described))

    made = tuple(
        ShownQuestion(
            question=shown(each["question"]) or "",
            header=shown(each.get("header")),
            options=tuple(option(option_) for option_ in each.get("options", ())),
            multi_select=each.get("multiSelect") is True,
        )
        for each in raw
    )
    return made, hidden


def check_answers(questions: Sequence[Question], given: Mapping[str, Given]) -> Mapping[str, str]:
    """The answers in the tool's form. Raises InvalidRequest for what wasn't offered or is missing.

    Several labels are joined by ", ", which is how the tool tells options from free text.
    """
    known = {question.text for question in questions}
    for text in given:
        if text not in known:
            raise InvalidRequest("this question wasn't asked", where=f"answers.{text}")
    return {question.text: _check_one(question, given.get(question.text)) for question in questions}


def _check_one(question: Question, given: Given | None) -> str:
    where = f"answers.{question.text}"
    parts = list(given) if isinstance(given, list | tuple) else [given]
    if not parts or given is None:
        raise InvalidRequest("this question has no answer yet", where=where)
    if len(parts) > 1 and not question.several:
        raise InvalidRequest("this question takes one answer", where=where)
    if any(part in parts[:at] for at, part in enumerate(parts)):
        raise InvalidRequest("an answer is given twice", where=where)
    return ", ".join(_check_part(question, part, where) for part in parts)


def _check_part(question: Question, part: object, where: str) -> str:
    if isinstance(part, str):
        if part in question.options:
            return part
        raise InvalidRequest(
            f"{part[:80]!r} isn't one of the options",
            where=where,
            remedy='choose an option, or give free text as {"other": "…"}',
        )
    if isinstance(part, Mapping) and set(part) == {OTHER}:
        text = part[OTHER]
        if isinstance(text, str) and text.strip() and len(text) <= LONGEST_FREE_TEXT:
            return text
    raise InvalidRequest(
        f"an answer is an option's label, or {{'{OTHER}': a text of at most {LONGEST_FREE_TEXT} "
        "characters}",
        where=where,
    )


class Questions:
    """Open questions of all turns. `timeout_s` in seconds; no answer is told as no answer."""

    def __init__(  # noqa: PLR0913  (all that bounds it, and where it is told)
        self,
        sinks: Sinks,
        clock: Clock,
        *,
        timeout_s: float = 300.0,
        capacity: int = MOST_OPEN,
        was_asked: WasAsked | None = None,
        board: Board | None = None,
        record: Record = nothing_recorded,
    ) -> None:
        self._clock = clock
        self._requests: OpenRequests[_Asked, _Said] = OpenRequests(
            sinks,
            timeout_s=timeout_s,
            capacity=capacity,
            was_asked=was_asked,
            board=board,
            record=record,
        )

    async def ask(
        self,
        turn: TurnContext,
        tool_use_id: str,
        input: Mapping[str, Any],
        betrays: Betrays = nothing_betrayed,
        agent: str | None = None,
    ) -> Replies:
        """Put the questions to a person and wait. Cancelled, it voids them.

        `betrays` looks into what the person says; `agent` is the sub-agent that asks, if one does.
        """
        try:
            questions = read_questions(input)
        except InvalidRequest as error:
            return Replies(None, reason=f"the questions can't be asked: {error.message}")
        now = self._clock.now()
        shown, hidden = shown_questions(input["questions"])
        event = UserQuestionEvent(
            request_id=new_request_id(),
            tool_use_id=tool_use_id,
            agent_name=agent,
            questions=tuple(input["questions"]),
            shown=shown,
            has_hidden_characters=hidden,
            asked_at=now,
            expires_at=now + self._requests.timeout_s,
        )
        request_id = RequestId(event.request_id)
        outcome = await self._requests.ask(
            request_id, turn, event, _Asked(event, questions, betrays)
        )
        if outcome is None:
            return Replies(None, reason="too many questions are open; go on without an answer")
        if outcome.answer is not None:
            return _replies(request_id, outcome.answer)
        if outcome.end is End.TIMED_OUT:
            seconds = self._requests.timeout_s
            return Replies(None, request_id, f"the person did not answer within {seconds:g} s")
        return Replies(None, request_id, "the question is no longer open")

    async def find(self, request_id: str) -> Posted:
        """The open question of this id. Raises AlreadyAnswered, RequestVoid or NotFound."""
        return await self._requests.find(request_id)

    async def answer(
        self, request_id: str, answers: Mapping[str, Given], by: str | None = None
    ) -> None:
        """A person's answers to all questions of a request; `by` is who they are. The first wins.

        Raises AlreadyAnswered, RequestVoid, NotFound, or InvalidRequest, which leaves it open.
        """
        request = await self._requests.find(request_id)
        checked = check_answers(request.subject.questions, answers)
        for said in checked.values():
            _refuse_betrayal(request.subject, said, "answers")
        self._requests.answer(request, _Said(checked, by=by))

    async def decline(
        self, request_id: str, message: str | None = None, by: str | None = None
    ) -> None:
        """Nobody will answer; the agent is told so, with the message as the reason.

        The first word wins. Raises AlreadyAnswered, RequestVoid, NotFound or InvalidRequest.
        """
        request = await self._requests.find(request_id)
        if message is not None and len(message) > LONGEST_FREE_TEXT:
            raise InvalidRequest(
                f"a message has at most {LONGEST_FREE_TEXT} characters", where="message"
            )
        _refuse_betrayal(request.subject, message or "", "message")
        self._requests.answer(request, _Said(None, message, by))

    def pending(self, session_id: SessionId | None = None) -> tuple[UserQuestionEvent, ...]:
        """The open questions, oldest first; of one session, if given."""
        return tuple(each.subject.event for each in self._requests.pending(session_id))

    def end_turn(self, turn_id: TurnId) -> None:
        """Void all that is open of a turn that is over."""
        self._requests.end_turn(turn_id)


def _refuse_betrayal(asked: _Asked, said: str, where: str) -> None:
    if said and asked.betrays(said, "a person's answer"):
        raise InvalidRequest(BETRAYS, where=where)


def _replies(request_id: RequestId, said: _Said) -> Replies:
    return Replies(said.answers, request_id, "" if said.answers else _declined(said))


def _declined(said: _Said) -> str:
    """Nothing is made up about a person: one who wasn't there has declined nothing."""
    return f"not answered: {said.message}" if said.message else "the person declined to answer"
