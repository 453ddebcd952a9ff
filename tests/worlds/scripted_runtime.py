"""A runtime whose runs are written down: what they give, and how they end."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from supervisor.events.schema import RuntimeEvent, Spending
from supervisor.ids import SessionId
from supervisor.policy.call import Allow, Deny
from supervisor.runtimes.contract import Receipt, RunPlan, RunResult, ToolGate

RECEIPT = Receipt(cage="none", measured={})
SPENT = Spending(input_tokens=7, cost_usd=0.5)


class NoGate:
    async def check(
        self,
        tool: str,  # noqa: ARG002
        input: Mapping[str, Any],  # noqa: ARG002
        tool_use_id: str,  # noqa: ARG002
        agent: str | None,  # noqa: ARG002
        cwd: str | None = None,  # noqa: ARG002
    ) -> Allow | Deny:
        raise AssertionError("no call is made here")


@dataclass
class ScriptedRun:
    """Gives its items in order; a callable among them is awaited where it stands."""

    items: tuple[RuntimeEvent | RunResult | Callable[[], Coroutine[Any, Any, None]], ...]
    over_budget: bool = False
    asked_model: bool = True
    receipt: Receipt = RECEIPT
    spending: Spending = SPENT
    interrupted: asyncio.Event = field(default_factory=asyncio.Event)
    handed_over: list[str] = field(default_factory=list)

    @property
    def events(self) -> AsyncIterator[RuntimeEvent | RunResult]:
        return self._events()

    async def _events(self) -> AsyncIterator[RuntimeEvent | RunResult]:
        for item in self.items:
            if callable(item):
                await item()
            else:
                yield item

    async def inject(self, message: str, beside: Sequence[Mapping[str, Any]] = ()) -> None:
        assert not beside
        self.handed_over.append(message)

    async def interrupt(self) -> None:
        self.interrupted.set()


@dataclass
class ScriptedRuntime:
    """A runtime that opens `run`, or refuses; `log` says what of its lifetime came to pass."""

    run: ScriptedRun
    refusal: Exception | None = None
    clearing: Callable[[], Coroutine[Any, Any, None]] | None = None
    log: list[str] = field(default_factory=list)
    as_seen_vault: str | None = None
    as_seen_home: str | None = None

    @asynccontextmanager
    async def open(
        self,
        plan: RunPlan,  # noqa: ARG002
        gate: ToolGate,  # noqa: ARG002
    ) -> AsyncIterator[ScriptedRun]:
        if self.refusal is not None:
            raise self.refusal
        self.log.append("opened")
        try:
            yield self.run
        finally:
            if self.clearing is not None:
                await self.clearing()
            self.log.append("cleared")

    def make_ready(self) -> None:
        """Nothing is."""

    def expect(self, plan: RunPlan) -> None:
        raise AssertionError("a turn that is performed expects no other", plan)

    def forget(self, session_id: SessionId, why: str) -> None:
        raise AssertionError("a turn that is performed forgets none", session_id, why)


async def for_ever() -> None:
    await asyncio.Event().wait()
