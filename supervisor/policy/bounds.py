"""The bounds that an agent's own file sets: they take away from the answer, and never add to it."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from supervisor.policy.answers import by_tool_and_level, covered
from supervisor.policy.bash.effect import Act, Effect
from supervisor.policy.call import Allow, Ask, Deny, Verdict
from supervisor.policy.compiled import Category
from supervisor.policy.coverage import Coverage
from supervisor.policy.grant_pattern import covers_tool
from supervisor.policy.implied import Implied
from supervisor.policy.judged import Judged
from supervisor.policy.permissions import Bounds, Permissions
from supervisor.policy.shell_cover import permitted
from supervisor.policy.shown import shown
from supervisor.policy.targets import LOOKS, Target

RULE: Final = "agent-bounds"
MOST_REASONS: Final = 8


def within_bounds(
    judged: Judged, permissions: Permissions, now: float, coverage: Coverage | None = None
) -> Verdict:
    """The answer by tool and level, less what the session's agent has taken from itself.

    What a person granted beyond an agent's bounds counts as in them.
    """
    verdict = by_tool_and_level(judged, permissions, now, coverage)
    bounds = permissions.bounds
    if bounds is None or isinstance(verdict, Deny):
        return verdict
    tool, category = judged.call.tool, judged.category
    if category is not Category.QUESTION and not _has(bounds, tool):
        return Deny(
            rule=RULE,
            reason=f"the agent {shown(bounds.agent)} doesn't have the tool {shown(tool)}: its file "
            "lists the tools it has; go on without it",
        )
    if not isinstance(verdict, Allow) or not bounds.ask:
        return verdict
    held = coverage or Coverage(_own(bounds, permissions), judged.call.level, now)
    reasons = tuple(islice(dict.fromkeys(_beyond(judged, bounds, held)), MOST_REASONS))
    if not reasons:
        return verdict
    return Ask(
        rule=RULE,
        reason=f"beyond what the agent {shown(bounds.agent)} may do unasked: {'; '.join(reasons)}",
    )


def _own(bounds: Bounds, permissions: Permissions) -> Permissions:
    return Permissions(
        trust_mode=False,
        read=bounds.read or (),
        write=bounds.write or (),
        bash=True if bounds.bash is None else bounds.bash,
        grants=permissions.grants,
        confined=permissions.confined,
    )


def _beyond(judged: Judged, bounds: Bounds, coverage: Coverage) -> Iterator[str]:
    match judged.category:
        case Category.READ | Category.SEARCH if bounds.read is not None:
            yield from _files(judged, coverage, "read")
        case Category.WRITE if bounds.write is not None:
            yield from _files(judged, coverage, "change")
        case Category.SHELL:
            yield from _command(judged, bounds, coverage)
        case _:
            return


def _files(judged: Judged, coverage: Coverage, verb: str) -> Iterator[str]:
    if coverage.uses_tool(judged.call.tool):
        return
    if not judged.paths:
        yield f"to {verb} what it names"
    for fact in judged.paths:
        if not covered(fact, judged, coverage):
            yield f"to {verb} {shown(fact.named)}"


def _command(judged: Judged, bounds: Bounds, coverage: Coverage) -> Iterator[str]:
    analysis = judged.wants.analysis
    if analysis is None or not analysis.complete or judged.doubt is not None:
        yield "a command that can't be looked through"
        return
    implied = Implied(analysis, coverage, judged.call, judged.policy)
    limits_files = bounds.read is not None or bounds.write is not None
    for effect in analysis.effects:
        if effect.act is Act.UNKNOWN and limits_files:
            yield f"what can't be told of {shown(effect.program or 'the command')}"
        if effect.act is Act.EXECUTE and not _may_run(effect, bounds, implied):
            yield f"to run {shown(' '.join(effect.words) or effect.program)}"
    for target in judged.targets:
        looks = target.effect.act in LOOKS
        limit = bounds.read if looks else bounds.write
        if limit is not None and not (target.effect.elsewhere or _reaches(target, coverage)):
            yield f"to {'read' if looks else 'change'} {shown(target.shown)}"


def _may_run(effect: Effect, bounds: Bounds, implied: Implied) -> bool:
    """Where files are bound and commands aren't: only programs whose every write is seen."""
    if effect.harmless:
        return True
    if bounds.bash is not None:
        return implied.runs(effect)
    return (effect.listed and "/" not in effect.program) or implied.names(effect)


def _reaches(target: Target, coverage: Coverage) -> bool:
    fact = target.fact
    if fact is None or not target.whole or fact.problem is not None:
        return False
    facts = fact.matches or (fact,)
    return all(each.inside and permitted(target, each, coverage) for each in facts)


def _has(bounds: Bounds, tool: str) -> bool:
    return bounds.tools is None or any(covers_tool(each, tool) for each in bounds.tools)
