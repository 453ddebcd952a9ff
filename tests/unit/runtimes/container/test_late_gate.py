"""The gate of a sandbox that waits: shut until a turn's own stands there."""

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from supervisor.policy.call import Allow, Deny
from supervisor.runtimes.container.runtime import LateGate

SAID: ContextVar[str] = ContextVar("said", default="nothing")


class Noting:
    """A gate that allows, and notes what it was asked, and in which surroundings."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def check(
        self,
        tool: str,
        input: Mapping[str, Any],
        tool_use_id: str,
        agent: str | None,
        cwd: str | None = None,
    ) -> Allow | Deny:
        del input, tool_use_id, agent, cwd
        await asyncio.sleep(0)
        self.asked.append((tool, SAID.get()))
        SAID.set(f"changed by {tool}")
        return Allow("rule", "reason")


async def test_before_there_is_a_turn_no_call_is_allowed() -> None:
    verdict = await LateGate().check("Read", {}, "id", None)
    assert isinstance(verdict, Deny)


async def test_then_the_turns_own_gate_decides_in_the_turns_surroundings() -> None:
    gate, own = LateGate(), Noting()

    async def turn() -> None:
        SAID.set("the turn's")
        gate.stands_for(own)

    await asyncio.create_task(turn())
    both = (gate.check("Read", {}, "1", None), gate.check("Bash", {}, "2", None))
    verdicts = await asyncio.gather(*both)
    assert all(isinstance(each, Allow) for each in verdicts)
    assert sorted(own.asked) == [("Bash", "the turn's"), ("Read", "the turn's")]
    assert SAID.get() == "nothing"
