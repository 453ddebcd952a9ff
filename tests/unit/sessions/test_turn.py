"""Performing a plan: one ending, whatever the runtime does, and nothing cut off while it clears."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from supervisor.errors import (
    AgentProcessFailed,
    EngineUnreachable,
    IsolationRefused,
    ModelFailed,
    SandboxKilled,
    SandboxOutOfMemory,
    TurnFailed,
    TurnTimedOut,
)
from supervisor.events.schema import Event, TextEvent
from supervisor.gateway.access import Budget
from supervisor.runtimes.contract import NotTakenUp, Receipt, RunPlan, RunResult, ToolGate
from supervisor.sessions.turn import Heard, Stage, Stop, Stopped, perform
from supervisor.sessions.turn_plan import TurnPlan
from tests.worlds.plans import planned
from tests.worlds.scripted_runtime import SPENT, NoGate, ScriptedRun, ScriptedRuntime, for_ever
from tests.worlds.waiting import A_WHILE, until


@dataclass
class Play:
    """A turn under way, and all that came of it."""

    runtime: ScriptedRuntime
    stop: Stop = field(default_factory=Stop)
    heard: Heard = field(default_factory=Heard)
    said: list[Event] = field(default_factory=list)
    seconds: float = 60.0
    scripted: bool = False

    async def perform(self) -> object:
        async def say(event: Event) -> None:
            self.heard.note(event)
            self.said.append(event)

        stage = Stage(self.runtime, NoGate(), say, self.stop, self.heard, self.seconds)
        async with asyncio.timeout(A_WHILE):
            return await perform(replace(planned(), scripted=self.scripted), stage)

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.said]  # type: ignore[attr-defined]


def a_play(*items: Any, **more: Any) -> Play:
    return Play(ScriptedRuntime(ScriptedRun(items), **more))


async def test_a_run_is_opened_told_and_cleared_and_its_result_is_the_ending() -> None:
    play = a_play(TextEvent(delta="hi"), RunResult(text="hi"))
    assert await play.perform() == RunResult(text="hi")
    assert play.types == ["isolation", "user_message", "prompt_metadata", "text"]
    assert play.runtime.run.handed_over == ["hello"]
    assert play.runtime.log == ["opened", "cleared"]
    assert play.heard.spending == SPENT
    assert play.heard.partial_response == "hi"


async def test_what_a_script_answers_counts_for_budgets_as_the_models_answer_would() -> None:
    play = a_play(RunResult(text="hi"))
    play.scripted = True
    await play.perform()
    assert play.heard.spending == SPENT


async def test_a_stop_ends_it_with_its_reason_after_all_is_cleared() -> None:
    play = a_play(TextEvent(delta="half"), for_ever)
    task = asyncio.create_task(play.perform())
    await until(lambda: "text" in play.types)
    play.stop.tell("enough")
    assert await task == Stopped("enough")
    assert play.runtime.run.interrupted.is_set()
    assert play.runtime.log == ["opened", "cleared"]
    assert play.heard.partial_response == "half"
    assert play.heard.spending == SPENT


@pytest.mark.parametrize("error", [None, "Request was aborted"])
async def test_a_result_that_an_interrupt_brings_about_does_not_undo_the_stop(
    error: str | None,
) -> None:
    run = ScriptedRun(())
    run.items = (run.interrupted.wait, RunResult(text="late", error=error))  # type: ignore[assignment]
    play = Play(ScriptedRuntime(run))
    task = asyncio.create_task(play.perform())
    await until(lambda: play.runtime.run.handed_over)
    play.stop.tell("enough")
    assert await task == Stopped("enough")


async def test_a_stop_that_comes_while_it_clears_away_does_not_cut_that_off() -> None:
    clearing, go_on = asyncio.Event(), asyncio.Event()

    async def clear() -> None:
        clearing.set()
        await go_on.wait()

    play = a_play(RunResult(text="done"), clearing=clear)
    task = asyncio.create_task(play.perform())
    await clearing.wait()
    play.stop.tell("too late")
    for _ in range(20):
        await asyncio.sleep(0)
    assert play.runtime.log == ["opened"]  # not abandoned
    go_on.set()
    assert await task == RunResult(text="done")
    assert play.runtime.log == ["opened", "cleared"]


async def test_a_stop_before_it_begins_hands_nothing_over() -> None:
    play = a_play(for_ever)
    play.stop.tell("never mind")
    assert await play.perform() == Stopped("never mind")
    assert play.runtime.run.handed_over == []
    assert play.runtime.log == []


async def test_the_time_limit_ends_it_and_says_so() -> None:
    play = a_play(for_ever)
    play.seconds = 0.05
    ending = await play.perform()
    assert isinstance(ending, TurnTimedOut)
    assert ending.remedy
    assert play.runtime.log == ["opened", "cleared"]


async def test_a_refusal_to_open_is_an_ending_and_not_an_exception() -> None:
    refusal = EngineUnreachable("nobody listens", remedy="start it")
    play = a_play(refusal=refusal)
    assert await play.perform() is refusal
    assert play.said == []


async def test_a_receipt_that_falls_short_is_shown_and_the_message_kept_back() -> None:
    weak = Receipt(cage="container", measured={"x": 1}, shortfalls=("a hole",))
    play = a_play(refusal=IsolationRefused("too weak", receipt=weak))
    assert isinstance(await play.perform(), IsolationRefused)
    assert play.types[0] == "isolation"
    assert play.said[0].model_dump()["accepted"] is False
    assert play.runtime.run.handed_over == []


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (RunResult(text="", error="overloaded"), "overloaded"),
        (RunResult(text="", error="no", error_status=401), "refused the key"),
    ],
)
async def test_a_result_that_is_an_error_ends_as_a_failure_of_the_model(
    result: RunResult, words: str
) -> None:
    ending = await a_play(result).perform()
    assert isinstance(ending, ModelFailed)
    assert words in ending.message
    assert ending.remedy


async def test_a_fault_of_ours_is_not_swallowed() -> None:
    async def break_down() -> None:
        raise ZeroDivisionError

    play = a_play(break_down)
    with pytest.raises(ExceptionGroup):
        await play.perform()
    assert play.runtime.log == ["opened", "cleared"]


@dataclass
class Twice(ScriptedRuntime):
    """A runtime that fails with the conversation, and opens `run` without it."""

    failure: TurnFailed = field(default_factory=lambda: AgentProcessFailed("no conversation"))
    asked: bool = False
    plans: list[RunPlan] = field(default_factory=list)

    @asynccontextmanager
    async def open(self, plan: RunPlan, gate: ToolGate) -> AsyncIterator[ScriptedRun]:
        self.plans.append(plan)

        async def fail() -> None:
            raise self.failure

        if plan.resume:
            yield ScriptedRun((fail,), asked_model=self.asked)
        else:
            async with super().open(plan, gate) as run:
                yield run


async def taken_up(runtime: Twice, budget: Budget | None = None) -> tuple[Play, object]:
    """A turn with an earlier conversation, and how it ended."""
    play = Play(runtime)
    before = planned()
    if budget is not None:
        access = replace(before.run.access, budget=budget)
        before = replace(before, run=replace(before.run, access=access))
    plain = replace(before, run=replace(before.run, resume=False), prompt="told, and hello")

    async def say(event: Event) -> None:
        play.heard.note(event)
        play.said.append(event)

    async def afresh() -> TurnPlan:
        return plain

    stage = Stage(runtime, NoGate(), say, play.stop, play.heard, 60.0, afresh=afresh)
    resuming = replace(before, run=replace(before.run, resume=True))
    return play, await perform(resuming, stage)


@pytest.mark.parametrize("kind", [AgentProcessFailed, SandboxOutOfMemory, ModelFailed])
async def test_a_conversation_that_cannot_be_taken_up_is_told_and_the_message_goes_on(
    kind: type[TurnFailed],
) -> None:
    runtime = Twice(ScriptedRun((RunResult(text="hi"),)), failure=kind("it broke"))
    play, ending = await taken_up(runtime)
    assert ending == RunResult(text="hi")
    assert [plan.resume for plan in runtime.plans] == [True, False]
    assert runtime.run.handed_over == ["told, and hello"]
    assert play.types.count("user_message") == 1
    assert play.types.count("warning") == 1
    assert play.heard.afresh is not None


@pytest.mark.parametrize(
    ("failure", "asked"),
    [(SandboxKilled("by somebody"), False), (AgentProcessFailed("it broke"), True)],
    ids=["another cause", "after it asked the model"],
)
async def test_what_does_not_lie_in_the_conversation_ends_the_turn_at_once(
    failure: TurnFailed, asked: bool
) -> None:
    runtime = Twice(ScriptedRun((RunResult(text="hi"),)), failure=failure, asked=asked)
    play, ending = await taken_up(runtime)
    assert ending is failure
    assert len(runtime.plans) == 1
    assert play.heard.afresh is None


async def test_what_the_first_attempt_spent_counts_and_is_not_there_for_the_second() -> None:
    runtime = Twice(ScriptedRun((RunResult(text="hi"),)), failure=NotTakenUp("lost it"), asked=True)
    budget = Budget(tokens=100, cost_usd=2.0)
    play, ending = await taken_up(runtime, budget)
    assert ending == RunResult(text="hi")
    assert play.heard.spending == SPENT.plus(SPENT)
    assert [plan.access.budget for plan in runtime.plans] == [
        budget,
        Budget(93, 1.5),
    ]


async def test_what_is_charged_as_it_is_cut_off_at_the_end_counts() -> None:
    play = a_play(RunResult(text="hi"))

    async def cut_off() -> None:
        play.runtime.run.spending = SPENT.plus(SPENT)

    play.runtime.clearing = cut_off
    await play.perform()
    assert play.heard.spending == SPENT.plus(SPENT)


async def test_a_stop_reaches_the_second_attempt_as_well() -> None:
    runtime = Twice(ScriptedRun((TextEvent(delta="half"), for_ever)))
    task = asyncio.create_task(taken_up(runtime))
    await until(lambda: runtime.run.handed_over)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert runtime.log == ["opened", "cleared"]
