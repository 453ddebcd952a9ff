"""A honeytoken that shows up is how the turn ends, whatever else happens; it is recorded once."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from supervisor.errors import AgentProcessFailed, HoneytokenTripped
from supervisor.events.schema import Event, TextEvent
from supervisor.runtimes.contract import RunResult
from supervisor.runtimes.honeytokens import Honeytokens, Trip
from supervisor.sessions.alarm import Alarm
from supervisor.sessions.turn import Heard, Stage, Stop, perform
from supervisor.sessions.turn_plan import TurnPlan
from tests.worlds.plans import planned
from tests.worlds.scripted_runtime import NoGate, ScriptedRun, ScriptedRuntime, for_ever
from tests.worlds.waiting import A_WHILE

TRIP = Trip(".env", "a request to the model")


class Play:
    """A turn with an alarm, played by a runtime that says these items."""

    def __init__(self, *items: Any) -> None:
        self.honeytokens = Honeytokens(b"this turn's")
        self.recorded: list[Trip] = []
        self.said: list[Event] = []
        self.runtime = ScriptedRuntime(ScriptedRun(items))
        self.stop = Stop()

    async def record(self, trip: Trip) -> None:
        self.recorded.append(trip)

    async def ring(self) -> None:
        self.honeytokens.report(".env", "a request to the model")

    async def perform(
        self,
        plan: TurnPlan | None = None,
        afresh: Callable[[], Awaitable[TurnPlan]] | None = None,
    ) -> object:
        async def say(event: Event) -> None:
            self.said.append(event)

        alarm = Alarm(self.honeytokens, self.record)
        stage = Stage(self.runtime, NoGate(), say, self.stop, Heard(), 60.0, alarm, afresh)
        async with asyncio.timeout(A_WHILE):
            return await perform(plan or planned(), stage)


async def test_a_turn_in_which_it_is_rung_is_cut_off_without_asking_the_agent() -> None:
    play = Play(TextEvent(delta="x"))
    play.runtime.run.items = (play.ring, for_ever)
    ending = await play.perform()
    assert isinstance(ending, HoneytokenTripped)
    assert ".env" in ending.message
    assert "a request to the model" in ending.message
    assert play.recorded == [TRIP]
    assert play.runtime.log == ["opened", "cleared"]
    assert not play.runtime.run.interrupted.is_set()


@pytest.mark.parametrize("last", [RunResult(text="all well"), "stopped"])
async def test_it_is_the_ending_also_of_a_turn_that_ends_otherwise_at_the_same_time(
    last: object,
) -> None:
    play = Play()
    if isinstance(last, RunResult):
        play.runtime.run.items = (play.ring, last)
    else:
        play.runtime.run.items = (play.ring, for_ever)

        async def told() -> None:
            play.stop.tell("enough")

        play.runtime.clearing = told
    assert isinstance(await play.perform(), HoneytokenTripped)
    assert play.recorded == [TRIP]


async def test_what_a_process_complained_of_last_is_looked_at_and_not_repeated() -> None:
    play = Play()
    token = play.honeytokens.decoy(".env").decode()

    async def die() -> None:
        raise AgentProcessFailed(f"the agent process ended with status 1: {token}")

    play.runtime.run.items = (die,)
    ending = await play.perform()
    assert isinstance(ending, HoneytokenTripped)
    assert play.honeytokens.trip(ending.message) is None
    assert [trip.path for trip in play.recorded] == [".env"]


async def test_nor_is_it_told_as_why_a_conversation_could_not_be_taken_up() -> None:
    play = Play()
    token = play.honeytokens.decoy(".env").decode()
    play.runtime.refusal = AgentProcessFailed(f"the agent process ended with status 1: {token}")

    async def afresh() -> TurnPlan:
        return planned()

    plan = planned()
    ending = await play.perform(replace(plan, run=replace(plan.run, resume=True)), afresh)
    assert isinstance(ending, HoneytokenTripped)
    assert play.said == []
    assert [trip.path for trip in play.recorded] == [".env"]


async def test_a_turn_in_which_nothing_shows_up_ends_as_it_does() -> None:
    play = Play(RunResult(text="hi"))
    assert await play.perform() == RunResult(text="hi")
    assert play.recorded == []
