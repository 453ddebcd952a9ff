"""Performs a plan: opens the runtime, passes on what it says, and gives exactly one ending.

Between the lane, which owns the turn's lifetime, and the runtimes. Decides nothing: the level chose
the runtime when the plan was made.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from supervisor.errors import (
    BudgetExhausted,
    IsolationRefused,
    ModelFailed,
    TurnFailed,
    TurnTimedOut,
)
from supervisor.events.schema import (
    Event,
    IsolationEvent,
    Spending,
    TextEvent,
    ToolUseEvent,
    UserMessageEvent,
    WarningEvent,
)
from supervisor.runtimes.contract import NotTakenUp, Receipt, Run, RunResult, Runtime, ToolGate
from supervisor.sessions.afresh import (
    NOT_TAKEN_UP,
    PATIENCE_SECONDS,
    may_lie_in_the_conversation,
    not_taken_up,
)
from supervisor.sessions.ahead import ahead
from supervisor.sessions.alarm import Alarm
from supervisor.sessions.turn_plan import TurnPlan

_PARTIAL_CHARS: Final = 1024 * 1024
_UNAUTHORISED: Final = frozenset({401, 403})

Say = Callable[[Event], Awaitable[object]]
"""Appends an event to the session; it is stored when this returns."""


class Stop:
    """A word to a running turn. The first one counts; nobody else cancels a turn."""

    def __init__(self) -> None:
        self._told = asyncio.Event()
        self.reason = ""

    @property
    def is_told(self) -> bool:
        """Whether the word has been given."""
        return self._told.is_set()

    def tell(self, reason: str) -> None:
        """Ask the turn to end, and say why."""
        if not self._told.is_set():
            self.reason = reason
            self._told.set()

    async def heard(self) -> None:
        """Wait for the word."""
        await self._told.wait()


@dataclass(slots=True)
class Heard:
    """What was heard of a turn so far; the books that its ending is written from."""

    run: Run | None = None
    afresh: TurnPlan | None = None
    """The plan that it went on with, as the conversation could not be taken up."""
    has_message: bool = False
    """The person's message has been told; before that there was no cage to hand it to."""
    has_ended: bool = False
    """The run has given its result; what is left to do is to clear away."""
    partial: list[str] = field(default_factory=list)
    partial_chars: int = 0
    tool_calls: int = 0
    spending: Spending = field(default_factory=Spending)
    is_booked: bool = False
    """What was spent is entered into its session."""

    @property
    def has_begun(self) -> bool:
        """Whether anything has come of the message."""
        asked = self.run is not None and self.run.asked_model
        return asked or self.partial_chars > 0 or self.tool_calls > 0

    @property
    def partial_response(self) -> str:
        """The answer's text as far as it came."""
        return "".join(self.partial)

    def note(self, event: Event) -> None:
        """Enter one event into the books."""
        if isinstance(event, TextEvent) and self.partial_chars < _PARTIAL_CHARS:
            self.partial.append(event.delta)
            self.partial_chars += len(event.delta)
        elif isinstance(event, ToolUseEvent):
            self.tool_calls += 1
        elif isinstance(event, UserMessageEvent):
            self.has_message = True


@dataclass(frozen=True, slots=True)
class Stopped:
    """The turn was asked to end."""

    reason: str


Ending = RunResult | TurnFailed | Stopped


@dataclass(frozen=True, slots=True)
class Stage:
    """What a turn is played with; `seconds` is its wall-clock limit.

    `say` also enters what it says into the books, `heard`. `afresh` makes the plan of the same
    message without its transcript.
    """

    runtime: Runtime
    gate: ToolGate
    say: Say
    stop: Stop
    heard: Heard
    seconds: float
    alarm: Alarm = field(default_factory=Alarm)
    afresh: Callable[[], Awaitable[TurnPlan]] | None = None


async def perform(plan: TurnPlan, stage: Stage) -> Ending:
    """Play the turn to its end; when this returns, nothing it started is left.

    Never raises a TurnFailed: it is one of the endings.
    """
    heard = stage.heard
    if stage.stop.is_told:
        return Stopped(stage.stop.reason)
    async with asyncio.TaskGroup() as group:
        play = group.create_task(_play(plan, stage))
        word = group.create_task(stage.stop.heard())
        alarm = group.create_task(stage.alarm.heard())
        await asyncio.wait(
            {play, word, alarm}, timeout=stage.seconds, return_when=asyncio.FIRST_COMPLETED
        )
        asked_to_stop = word.done()
        # Once it has its result it clears away, in bounded time: cut off, it would leave things.
        cut_off = not play.done() and not heard.has_ended
        if cut_off:
            if heard.run is not None and not alarm.done():
                await heard.run.interrupt()
            play.cancel()
            await stage.alarm.cause()
        word.cancel()
        alarm.cancel()
    ended = play.result() if not play.cancelled() else None
    if trip := await stage.alarm.cause(ended):
        return trip
    # An interrupted agent may still give a result, or an error: its end is that it was cut off.
    if not cut_off:
        return play.result()
    if asked_to_stop:
        return Stopped(stage.stop.reason)
    return TurnTimedOut(
        f"the turn ran longer than {stage.seconds:.0f} s",
        remedy="ask for less at once, or raise TRUSTFLOOR_TURN_SECONDS",
    )


async def _play(plan: TurnPlan, stage: Stage) -> RunResult | TurnFailed:
    """Play it; where the conversation can't be taken up, once more without it."""
    ending, heard = await _attempt(plan, stage), stage.heard
    if not plan.run.resume or stage.afresh is None:
        return ending
    if heard.has_begun and not isinstance(ending, NotTakenUp):
        return ending
    if not isinstance(ending, TurnFailed) or not may_lie_in_the_conversation(ending):
        return ending
    if trip := await stage.alarm.cause(ending):  # before its words are told
        return trip
    heard.run, heard.has_ended = None, False
    heard.afresh = (await stage.afresh()).after(heard.spending)
    await stage.say(WarningEvent(code=NOT_TAKEN_UP, message=not_taken_up(ending.message)))
    return await _attempt(heard.afresh, stage)


async def _attempt(plan: TurnPlan, stage: Stage) -> RunResult | TurnFailed:
    say, heard = stage.say, stage.heard
    opened: Run | None = None
    try:
        async with stage.runtime.open(plan.run, stage.gate) as run:
            opened = run
            async with ahead(say) as tell:
                await tell(_isolation(plan, run.receipt))
                if not heard.has_message:
                    await tell(plan.user_message())
                await tell(plan.prompt_metadata())
            heard.run = run
            await run.inject(plan.prompt, plan.blocks)
            ending = await _listen_patiently(run, stage, resumes=plan.run.resume)
            heard.has_ended = True
            return ending
    except IsolationRefused as refusal:
        if isinstance(refusal.receipt, Receipt):
            await say(_isolation(plan, refusal.receipt))
        return refusal
    except TurnFailed as failure:
        return failure
    finally:
        # Only now: what was under way to the model when it ended is charged as it is cut off.
        if opened is not None:
            heard.spending = heard.spending.plus(opened.spending)


async def _listen_patiently(run: Run, stage: Stage, *, resumes: bool) -> RunResult | TurnFailed:
    """Listen; a CLI that takes up a conversation has so long to come to the model with it."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(None) as limit:

            def look() -> None:
                if not run.asked_model:
                    limit.reschedule(loop.time())

            waiting = loop.call_later(PATIENCE_SECONDS, look) if resumes else None
            try:
                return await _listen(run, stage.say)
            finally:
                if waiting is not None:
                    waiting.cancel()
    except TimeoutError:
        if not limit.expired():
            raise
        return NotTakenUp(f"did not get to the model with it within {PATIENCE_SECONDS:.0f} s")


async def _listen(run: Run, say: Say) -> RunResult | TurnFailed:
    async with ahead(say) as tell:
        async for said in run.events:
            if isinstance(said, RunResult):
                return said if said.error is None else _failure(said, over_budget=run.over_budget)
            await tell(said)
    raise AssertionError("a run's events end with a result or raise")


def _failure(result: RunResult, *, over_budget: bool) -> TurnFailed:
    if over_budget:
        return BudgetExhausted(
            "the token or cost budget is used up",
            where="budgets",
            remedy="raise the budget in the policy files, or begin a new session",
        )
    if result.error_status in _UNAUTHORISED:
        return ModelFailed(
            f"the model's API refused the key (HTTP {result.error_status})",
            where="gateway",
            remedy="check ANTHROPIC_API_KEY, then restart the supervisor",
        )
    return ModelFailed(
        f"the model's API failed: {result.error}", where="gateway", remedy="send it again"
    )


def _isolation(plan: TurnPlan, receipt: Receipt) -> IsolationEvent:
    return IsolationEvent(
        level=plan.run.level,
        cage=receipt.cage,
        accepted=not receipt.shortfalls,
        shortfalls=receipt.shortfalls,
        receipt=dict(receipt.measured),
    )
