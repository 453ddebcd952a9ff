"""Decides recorded calls again: what would another policy have made of them?

Facts, permissions and time are as they were recorded; today's files and clock aren't looked at.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from supervisor.policy.call import Facts, PathFact, Verdict, verdict_word
from supervisor.policy.canonical import Input, restore
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.decide import decide
from supervisor.policy.wanted import wanted
from supervisor.policy.wants import Wants

DECISION: Final = "decision"
"""The kind of an audit entry that holds a decision."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A decision as the audit log has it. `line` counts from 1; `said` is allow, deny or ask.

    `input` is None where it can't be decided again, and `why` says why.
    """

    line: int
    at: str
    session_id: str | None
    tool: str
    level: str
    said: str
    rule: str
    verdict: str
    policy: str
    input: Input | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Flip:
    """A call that the candidate policy would answer otherwise."""

    recorded: Recorded
    verdict: str
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Replay:
    """What became of the recorded decisions. `left_out` counts those not decided again, by why."""

    decided: int
    flips: tuple[Flip, ...]
    left_out: Mapping[str, int]
    prompts: int
    """How many of them asked a person, as recorded."""


def recorded_decision(line: int, entry: Mapping[str, Any]) -> Recorded | None:
    """The decision in an entry of the audit log; None for an entry of another kind."""
    body = entry.get("body")
    if entry.get("kind") != DECISION or not isinstance(body, Mapping):
        return None
    known = Recorded(
        line=line,
        at=str(entry.get("ts", "")),
        session_id=entry.get("session_id"),
        tool=str(body.get("tool", "")),
        level=str(body.get("level", "")),
        said=str(body.get("said", "")),
        rule=str(body.get("saidRule", body.get("rule", ""))),
        verdict=str(body.get("verdict", "")),
        policy=str(body.get("policy", "")),
    )
    try:
        return replace(known, input=restore(body))
    except ValueError as error:
        return replace(known, why=str(error))


def decide_again(input: Input, policy: CompiledPolicy) -> Verdict | None:
    """The verdict of this policy; None if it would need facts that weren't recorded."""
    wants = wanted(input.call, policy)
    facts = facts_for(wants, input.facts)
    if facts is None:
        return None
    return decide(
        input.call, facts, policy, permissions=input.under(policy), now=input.now, wants=wants
    )


def replayed(records: Iterable[Recorded], candidate: CompiledPolicy) -> Replay:
    """All records under the candidate; what another verdict (not another rule) answers flips."""
    flips: list[Flip] = []
    left_out: Counter[str] = Counter()
    decided = prompts = 0
    for record in records:
        prompts += record.said == "ask"
        if record.input is None:
            left_out[record.why or "it was recorded without its input"] += 1
            continue
        verdict = decide_again(record.input, candidate)
        if verdict is None:
            left_out["the candidate looks at files that weren't looked at then"] += 1
            continue
        decided += 1
        word = verdict_word(verdict)
        if word != record.said:
            flips.append(Flip(record, word, verdict.rule, verdict.reason))
    return Replay(decided, tuple(flips), dict(left_out), prompts)


def flips_by_rule(flips: Iterable[Flip]) -> Mapping[tuple[str, str, str], Sequence[Flip]]:
    """The flips by (said before, said now, the rule that decides now), the most frequent first."""
    found: dict[tuple[str, str, str], list[Flip]] = {}
    for each in flips:
        found.setdefault((each.recorded.said, each.verdict, each.rule), []).append(each)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


def same_call(input: Input) -> str:
    """What two inputs have in common whose decisions can't differ."""
    call = input.call
    return repr(
        (call.tool, dict(call.input), call.level, call.as_seen_cwd, call.agent, input.facts)
    )


def facts_for(wants: Wants, facts: Facts) -> Facts | None:
    """The recorded facts in the order in which they are wanted; None if one is missing."""
    waiting: dict[tuple[str, str], deque[PathFact]] = {}
    for fact in facts.paths:
        waiting.setdefault((fact.named, fact.use.value), deque()).append(fact)
    found: list[PathFact] = []
    for want in wants.paths:
        left = waiting.get((want.text, want.use.value))
        if not left:
            return None
        found.append(left.popleft())
    return replace(facts, paths=tuple(found))
