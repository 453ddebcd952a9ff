"""Whether a person's own pattern may be granted: never broader than level and lists allow."""

from typing import Final

from supervisor.policy.compiled import Category
from supervisor.policy.globs import only_means_denied
from supervisor.policy.grant_pattern import WHOLE, fixed_part, leading_words, validate
from supervisor.policy.needs import FILE_CATEGORIES, Asking, Needs, coverage_of
from supervisor.policy.permissions import GrantKind
from supervisor.policy.prefixes import prefixes
from supervisor.policy.shown import shown
from supervisor.policy.tool_rules import Answer

_PATH_KINDS: Final = (GrantKind.READ, GrantKind.WRITE)
_ELSEWISE: Final = FILE_CATEGORIES | {Category.SHELL, Category.QUESTION}


def problem_of(kind: GrantKind, pattern: str, asking: Asking, needs: Needs) -> str | None:
    """Why this can't be granted in answer to this call, in a sentence; None if it can."""
    return (
        validate(kind, pattern)
        or (_on_a_list(kind, pattern, asking) if kind in _PATH_KINDS else None)
        or (_hides_what_runs(pattern, asking) if kind is GrantKind.BASH else None)
        or (_not_by_tool(pattern, asking) if kind is GrantKind.TOOL else None)
        or _beside_the_call(kind, pattern, asking, needs)
    )


def usual_kind(needs: Needs) -> GrantKind:
    """The kind that a pattern for this call most likely has."""
    if needs.parts:
        return needs.parts[0].kind
    return GrantKind.BASH


def _on_a_list(kind: GrantKind, pattern: str, asking: Asking) -> str | None:
    lists = [(asking.policy.may_not_be_named(asking.call.level), "the deny list")]
    if kind is GrantKind.WRITE:
        lists.append((asking.policy.protected, "the list of what no agent may write"))
    fixed = fixed_part(pattern)
    for names, called in lists:
        rule = names.match(fixed) if fixed else None
        name = fixed if rule is not None else only_means_denied(pattern, names)
        if name is not None:
            return f"{shown(name)} is on {called}, which no grant opens"
    return None


def _hides_what_runs(pattern: str, asking: Asking) -> str | None:
    words = leading_words(pattern)
    if pattern.startswith(WHOLE) or prefixes(words, asking.policy):
        return None
    return (
        f"what {shown(words[0])} does isn't told by its first words: grant the whole call, with "
        "`=` in front of it"
    )


def _not_by_tool(pattern: str, asking: Asking) -> str | None:
    tool = pattern.partition(":")[0]
    category = asking.policy.category(tool.removesuffix("*"))
    if category in _ELSEWISE:
        return f"{shown(tool)} isn't granted as a whole: grant the paths, or the command"
    if asking.policy.levels[asking.call.level][category] is Answer.DENY:
        return f"trust level `{asking.call.level.value}` has no tools for {category.value}"
    return None


def _beside_the_call(kind: GrantKind, pattern: str, asking: Asking, needs: Needs) -> str | None:
    alone = coverage_of(kind, pattern, asking)
    if needs.met_by(alone) or any(each.met_by(alone) for each in needs.parts):
        return None
    if not needs.parts and needs.whole is None:
        return "no grant could keep a call like this from asking: grant it once"
    return "the pattern covers nothing of this call: grant it where it is asked for"
