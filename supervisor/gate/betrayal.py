"""A call that holds a honeytoken: found before anything else is made of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from supervisor.gate.inputs import run, short
from supervisor.policy.call import Deny
from supervisor.runtimes.honeytokens import Honeytokens

REFUSED: Final = Deny("honeytoken", "this call holds what stands in for a denied file")
"""Of such a call no event is told: it would hold what must not be kept."""

_WITHHELD: Final = "(withheld)"
_LONGEST_SHOWN: Final = 100
"""Characters of a tool's name, which is the agent's."""


@dataclass(frozen=True, slots=True)
class Betrayed:
    """What may be recorded of such a call: its names, but for one that holds a token itself."""

    tool: str
    tool_use_id: str
    agent: str | None


async def betrayed(
    honeytokens: Honeytokens | None, tool: str, input: Any, tool_use_id: str, agent: str | None
) -> Betrayed | None:
    """Whether a honeytoken is in the call; then the turn's alarm is rung."""
    if honeytokens is None:
        return None
    try:
        text = await run(input, json.dumps, [tool, tool_use_id, agent, input])
    except (TypeError, ValueError, RecursionError):
        return None  # refused as no JSON by `inputs.copy_of`
    path = await run(input, honeytokens.trip, text)
    if path is None:
        return None
    withheld = _withholding(honeytokens)
    honeytokens.report(path, f"the input of the tool {short(withheld(tool), _LONGEST_SHOWN)}")
    return Betrayed(
        withheld(tool), withheld(tool_use_id), None if agent is None else withheld(agent)
    )


def _withholding(honeytokens: Honeytokens) -> Callable[[str], str]:
    def withheld(name: str) -> str:
        return name if honeytokens.trip(name) is None else _WITHHELD

    return withheld
