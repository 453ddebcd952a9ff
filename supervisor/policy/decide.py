"""THE decision: call, facts and policy make a verdict, always the same one."""

import hashlib
import traceback
from dataclasses import replace

from supervisor.policy.bounds import within_bounds
from supervisor.policy.call import Deny, Facts, ToolCall, Verdict
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.denials import FILE_USES, refused
from supervisor.policy.judged import Judged
from supervisor.policy.permissions import Permissions
from supervisor.policy.shown import shown
from supervisor.policy.wanted import wanted
from supervisor.policy.wants import Wants
from supervisor.trust.levels import TrustLevel


def decide(  # noqa: PLR0913, PLR0917  (all that a decision is made from)
    call: ToolCall,
    facts: Facts,
    policy: CompiledPolicy,
    permissions: Permissions | None = None,
    now: float = 0.0,
    wants: Wants | None = None,
) -> Verdict:
    """The verdict on one call. Never raises: an error of ours is a Deny with an incident id.

    `now` is in seconds since the epoch, for grants that expire; `wants`, if given, are the call's.
    Without `permissions` those count that the policy has for the level, and nothing is taken to
    hold a command in the vault.
    """
    try:
        return _decide(call, facts, policy, permissions, now, wants)
    except Exception as error:  # noqa: BLE001  (a guard that fails must fail closed)
        return internal_error(call.tool_use_id, error)


def is_refused(call: ToolCall, facts: Facts, policy: CompiledPolicy, wants: Wants) -> bool:
    """Whether the call is refused by these facts alone, whatever anybody permits.

    Facts that are still missing can't change that, so nobody has to fetch them. Never raises.
    """
    try:
        if _not_understood(wants, facts) is not None:
            return True
        return refused(Judged(call, policy.category(call.tool), wants, facts, policy)) is not None
    except Exception:  # noqa: BLE001  (then `decide` fails as well, and says so)
        return False


def internal_error(tool_use_id: object, error: Exception) -> Deny:
    """The verdict when we fail ourselves; the id finds the log entry, and tells nothing."""
    trace = "".join(traceback.format_exception(error))
    incident = hashlib.sha256(ascii((tool_use_id, trace)).encode()).hexdigest()[:12]
    return Deny(
        rule="internal-error",
        reason=f"the call could not be judged, so it is refused (incident {incident})",
        cause=error,
    )


def _decide(  # noqa: PLR0913, PLR0917  (as `decide`)
    call: ToolCall,
    facts: Facts,
    policy: CompiledPolicy,
    permissions: Permissions | None,
    now: float,
    wants: Wants | None,
) -> Verdict:
    """The precedence: what stands higher beats all below it."""
    wants = wanted(call, policy) if wants is None else wants
    wrong = _not_understood(wants, facts)
    if wrong is not None:
        return wrong
    judged = Judged(call, policy.category(call.tool), wants, facts, policy)
    return refused(judged) or within_bounds(
        judged, permissions or _unconfined(policy, call.level), now
    )


def _unconfined(policy: CompiledPolicy, level: TrustLevel) -> Permissions:
    return replace(policy.defaults[level], confined=False)


def _not_understood(wants: Wants, facts: Facts) -> Deny | None:
    if wants.problem is not None:
        return Deny(rule="malformed-input", reason=wants.problem)
    if len(wants.paths) != len(facts.paths):
        raise ValueError("the facts belong to another call")
    for want, fact in zip(wants.paths, facts.paths, strict=True):
        if want.text != fact.named:
            raise ValueError("the facts belong to another call")
        if fact.problem is not None and fact.use in FILE_USES:
            return Deny(rule="malformed-path", reason=f"{shown(fact.named)}: {fact.problem}")
    return None
