"""One decision with all that it was made of: what the audit log records of a call."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from supervisor.approvals.open_requests import TurnContext
from supervisor.ids import RequestId
from supervisor.policy.call import Allow, Deny, Facts, ToolCall, Verdict
from supervisor.policy.needs import Asking
from supervisor.policy.permissions import Permissions


@dataclass(frozen=True, slots=True)
class Decided:
    """One decision as the audit log records it: enough to decide it again.

    `policy_verdict` is what the rules said, `verdict` what came of it once a person was asked.
    `by_default`: `permissions` are what the policy has for the level, but for the grants.
    `judged` is False for a call that was refused before the rules saw it: its input isn't kept.
    """

    turn: TurnContext
    call: ToolCall
    facts: Facts
    policy_hash: str
    policy_verdict: Verdict
    verdict: Allow | Deny
    request_id: RequestId | None = None
    permissions: Permissions | None = None
    now: float = 0.0
    by_default: bool = False
    judged: bool = True


Audit = Callable[[Decided], Awaitable[None]]


def is_default(asking: Asking) -> bool:
    """Whether a call's permissions are those that the policy has for its level."""
    base, held = asking.policy.defaults[asking.call.level], asking.permissions
    same = replace(held, grants=base.grants, confined=base.confined, bounds=base.bounds)
    return same == base
