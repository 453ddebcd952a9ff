"""Explains a call as the gate would judge it now: facts fetched, decided, and nothing is run."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from supervisor.gate.facts import fetch_facts
from supervisor.policy.call import Ask, Facts, ToolCall, Verdict
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.decide import decide
from supervisor.policy.explain import Explanation, explain
from supervisor.policy.needs import Asking, needs_of
from supervisor.policy.permissions import Permissions
from supervisor.policy.suggest import Suggestion, suggested, why_none
from supervisor.policy.wanted import wanted
from supervisor.policy.wants import Wants


@dataclass(frozen=True, slots=True)
class Asked:
    """A call to be explained. `vault` is its resolved path on this host, `places` the rules'.

    Without `permissions`, those count that the policy has for the level, on a machine that can
    confine commands.
    """

    call: ToolCall
    policy: CompiledPolicy
    vault: str
    permissions: Permissions | None = None
    places: Mapping[str, str] = field(default_factory=dict)
    now: float = 0.0


async def explain_call(asked: Asked) -> Explanation:
    """What would become of the call, and why. Raises OSError where the machine itself fails."""
    call, policy = asked.call, asked.policy
    wants = await asyncio.to_thread(wanted, call, policy)
    facts = await fetch_facts(call, policy, asked.vault, wants=wants)
    return await asyncio.to_thread(_judged, asked, wants, facts)


def _judged(asked: Asked, wants: Wants, facts: Facts) -> Explanation:
    call, policy = asked.call, asked.policy
    held = asked.permissions or policy.defaults[call.level]
    verdict: Verdict = decide(call, facts, policy, permissions=held, now=asked.now, wants=wants)
    offers: tuple[Suggestion, ...] = ()
    why_not = ""
    if isinstance(verdict, Ask):
        asking = Asking(call, wants, facts, policy, held, asked.now)
        needs = needs_of(asking)
        offers, why_not = suggested(asking, needs), why_none(asking, needs)
    told = explain(call, wants, facts, verdict, policy, offers=offers, places=asked.places)
    return replace(told, notes=(*told.notes, why_not)) if why_not else told
