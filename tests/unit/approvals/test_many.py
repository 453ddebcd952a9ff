"""Many requests at once, in any order of events: none lost, none mixed up, each ended once."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.approvals.board import Board, TurnContext
from supervisor.approvals.pending import Answer, Approvals
from supervisor.approvals.questions import Questions, Replies
from supervisor.errors import AlreadyAnswered, RequestVoid
from supervisor.events.schema import PermissionResolvedEvent
from supervisor.ids import SessionId, TurnId
from supervisor.policy.call import ToolCall
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import Recorder, SetClock
from tests.worlds.waiting import A_WHILE

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["ask", "ask", "ask", "question", "grant", "deny", "answer", "cancel", "end", "twice"]
        ),
        st.integers(0, 10_000),
    ),
    max_size=60,
)


@dataclass
class Asked:
    """A request, and what must become of it."""

    id: str
    turn: TurnContext
    task: asyncio.Task[Any]
    is_question: bool
    ended: str | None = None
    word: str | None = None


@dataclass
class World:
    sink: Recorder = field(default_factory=Recorder)
    board: Board = field(default_factory=Board)
    asked: list[Asked] = field(default_factory=list)

    def __post_init__(self) -> None:
        clock = SetClock()
        self.approvals = Approvals(lambda _: self.sink, clock, board=self.board)
        self.questions = Questions(lambda _: self.sink, clock, board=self.board)

    @property
    def open(self) -> list[Asked]:
        return [each for each in self.asked if each.ended is None]

    async def ask(self, number: int, *, question: bool) -> None:
        turn = TurnContext(SessionId(f"s{number % 4}"), TurnId(f"turn_{number % 4}"))
        name = f"call {len(self.asked)}"
        if question:
            given = {"questions": [{"question": name, "options": []}]}
            task: asyncio.Task[Any] = asyncio.create_task(self.questions.ask(turn, name, given))
        else:
            call = ToolCall("Bash", {"command": name}, name, TrustLevel.VAULT, "/v", "/v")
            task = asyncio.create_task(self.approvals.ask(turn, call, "rule", "why", "bash"))
        before = len(self.board.open())
        while len(self.board.open()) == before:
            await asyncio.sleep(0)
        self.asked.append(Asked(self.board.open()[-1].id, turn, task, question))

    async def step(self, step: str, number: int) -> None:
        if step in {"ask", "question"}:
            await self.ask(number, question=step == "question")
        elif step == "end":
            turn = TurnId(f"turn_{number % 4}")
            self.approvals.end_turn(turn)
            self.questions.end_turn(turn)
            for each in self.open:
                if each.turn.turn_id == turn:
                    each.ended = "void"
        elif step == "twice":
            await self.answer_again(number)
        elif self.open:
            await self.settle(self.open[number % len(self.open)], step, number)

    async def settle(self, asked: Asked, step: str, number: int) -> None:
        if step == "cancel":
            asked.task.cancel()
            await asyncio.gather(asked.task, return_exceptions=True)
            asked.ended = "cancelled"
            return
        asked.word = f"word {number} for {asked.id}"
        if asked.is_question:
            text = f"call {self.asked.index(asked)}"
            await self.questions.answer(asked.id, {text: {"other": asked.word}})
            asked.ended = "answered"
        else:
            decision = "denied" if step == "deny" else "granted"
            await self.approvals.answer(asked.id, decision, message=asked.word)  # type: ignore[arg-type]
            asked.ended = decision

    async def answer_again(self, number: int) -> None:
        ended = [each for each in self.asked if each.ended is not None and not each.is_question]
        if not ended:
            return
        asked = ended[number % len(ended)]
        right = AlreadyAnswered if asked.ended in {"granted", "denied"} else RequestVoid
        try:
            await self.approvals.answer(asked.id, "granted", message="too late")
        except right:
            return
        raise AssertionError(f"a second answer to {asked} was taken")

    async def check(self, asked: Asked) -> None:
        if asked.ended == "cancelled":
            assert asked.task.cancelled()
            return
        outcome = await asked.task
        if isinstance(outcome, Replies):
            said = None if outcome.answers is None else next(iter(outcome.answers.values()))
            assert said == (asked.word if asked.ended == "answered" else None)
        else:
            assert isinstance(outcome, Answer)
            assert (outcome.decision, outcome.request_id) == (asked.ended, asked.id)
            assert outcome.message == (asked.word if asked.ended != "void" else None)


async def played(steps: list[tuple[str, int]]) -> None:
    world = World()
    for step, number in steps:
        await world.step(step, number)
        assert [each.id for each in world.board.open()] == [each.id for each in world.open]
    for asked in list(world.open):
        await world.settle(asked, "grant", 1)
    async with asyncio.timeout(A_WHILE):
        for asked in world.asked:
            await world.check(asked)
    assert world.board.open() == ()
    resolved = [each.id for each in world.sink.of(PermissionResolvedEvent)]
    assert sorted(resolved) == sorted(each.id for each in world.asked)


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_whatever_happens_each_request_ends_once_and_by_its_own_answer(
    steps: list[tuple[str, int]],
) -> None:
    asyncio.run(played(steps))
