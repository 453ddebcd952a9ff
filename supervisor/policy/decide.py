"""THE decision: call, facts and policy make a verdict, always the same one."""

import hashlib
import traceback

from supervisor.policy.call import Allow, Ask, Deny, Facts, PathFact, ToolCall, Use, Verdict
from supervisor.policy.compiled import Answer, Category, CompiledPolicy
from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.policy.globs import has_magic, only_means_denied
from supervisor.policy.wanted import Wants, wanted
from supervisor.trust.levels import TrustLevel

_FILE_USES = frozenset({Use.READ, Use.SEARCH, Use.WRITE})
_MAY_WRITE = frozenset({Use.WRITE, Use.WORD, Use.ARGUMENT, Use.PATH_ARGUMENT})
_LONGEST_NAME = 120


def decide(call: ToolCall, facts: Facts, policy: CompiledPolicy) -> Verdict:
    """The verdict on one call. Never raises: an error of ours is a Deny with an incident id."""
    try:
        return _decide(call, facts, policy)
    except Exception as error:  # noqa: BLE001  (a guard that fails must fail closed)
        return internal_error(call.tool_use_id, error)


def internal_error(tool_use_id: object, error: Exception) -> Deny:
    """The verdict when we fail ourselves; the id finds the log entry, and tells nothing."""
    trace = "".join(traceback.format_exception(error))
    incident = hashlib.sha256(ascii((tool_use_id, trace)).encode()).hexdigest()[:12]
    return Deny(
        rule="internal-error",
        reason=f"the call could not be judged, so it is refused (incident {incident})",
        cause=error,
    )


def _decide(call: ToolCall, facts: Facts, policy: CompiledPolicy) -> Verdict:
    """The precedence: what stands higher beats all below it."""
    category = policy.category(call.tool)
    wants = wanted(call, category)
    return (
        _not_understood(wants, facts)
        or _self_protection(call, facts, policy)
        or _deny_list(call, wants, facts, policy)
        or _confinement(call, facts)
        or _by_category(call, category, wants, facts, policy)
    )


def _not_understood(wants: Wants, facts: Facts) -> Deny | None:
    if wants.problem is not None:
        return Deny(rule="malformed-input", reason=wants.problem)
    if [want.text for want in wants.paths] != [fact.named for fact in facts.paths]:
        raise ValueError("the facts belong to another call")
    for fact in facts.paths:
        if fact.problem is not None and fact.use in _FILE_USES:
            return Deny(rule="malformed-path", reason=f"{_shown(fact.named)}: {fact.problem}")
    return None


def _self_protection(call: ToolCall, facts: Facts, policy: CompiledPolicy) -> Deny | None:
    for fact in facts.paths:
        rule = _first_match(policy.protected, fact) if fact.use in _MAY_WRITE else None
        if rule is not None:
            what = "writes" if fact.use is Use.WRITE else f"may write (through {call.tool})"
            return Deny(rule=rule.id, reason=f"nothing {what} {_shown(fact.named)}: {rule.reason}")
    return None


def _deny_list(call: ToolCall, wants: Wants, facts: Facts, policy: CompiledPolicy) -> Deny | None:
    denied = policy.may_not_be_named(call.level)
    for fact in facts.paths:
        rule = _first_match(denied, fact)
        if rule is not None:
            return Deny(
                rule=rule.id,
                reason=f"{_shown(fact.named)} is on the deny list: {rule.reason}",
            )
    for pattern in wants.patterns:
        name = only_means_denied(pattern, denied) if has_magic(pattern) else None
        rule = denied.match(name) if name is not None else None
        if rule is not None:
            return Deny(
                rule=rule.id,
                reason=f"{_shown(pattern)} is meant for names on the deny list: {rule.reason}",
            )
    return None


def _first_match(names: DenyList, fact: PathFact) -> DenyRule | None:
    return next((rule for name in fact.names if (rule := names.match(name)) is not None), None)


def _confinement(call: ToolCall, facts: Facts) -> Deny | None:
    if call.level is not TrustLevel.VAULT:
        return None
    for fact in facts.paths:
        if fact.use in _FILE_USES and not fact.inside:
            return Deny(
                rule="vault-confinement",
                reason=f"{_shown(fact.named)} is outside the vault, and this session's trust "
                "level is `vault`: no permission opens the outside; use files in the vault",
            )
    return None


def _by_category(
    call: ToolCall, category: Category, wants: Wants, facts: Facts, policy: CompiledPolicy
) -> Verdict:
    answer = policy.levels[call.level][category]
    rule = f"{call.level.value}-{category.value}"
    if answer is Answer.DENY:
        return Deny(
            rule=rule,
            reason=f"{call.tool} is a tool for {category.value}, which trust level "
            f"`{call.level.value}` doesn't have; go on without it, or ask the person",
        )
    if answer is Answer.ASK:
        return Ask(
            rule=rule,
            reason=f"at trust level `{call.level.value}` a person decides about {category.value}",
        )
    return _uncertain(call, wants, facts) or Allow(
        rule=rule, reason=f"trust level `{call.level.value}` allows {category.value}"
    )


def _uncertain(call: ToolCall, wants: Wants, facts: Facts) -> Ask | None:
    """What an answer of `allow` doesn't cover, as it couldn't be seen whole."""
    if wants.doubt is not None:
        return Ask(rule="not-seen-whole", reason=wants.doubt)
    for fact in facts.paths:
        if fact.holds_denied:
            return Ask(
                rule="search-over-denied",
                reason=f"a search through {_shown(fact.named)} would read files on the deny list "
                "(or the folder is too large to tell); narrow it by `path` or `glob`",
            )
        if fact.doubt is not None:
            return Ask(rule="not-seen-whole", reason=f"{_shown(fact.named)}: {fact.doubt}")
        outside = call.level is TrustLevel.VAULT and not fact.inside
        if outside and fact.use is Use.PATH_ARGUMENT:
            return Ask(
                rule="argument-outside-vault",
                reason=f"{call.tool} is given a path outside the vault: {_shown(fact.named)}",
            )
    return None


def _shown(name: str) -> str:
    short = name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…"
    return f"`{short}`" if short.isprintable() else ascii(short)
