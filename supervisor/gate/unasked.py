"""What one turn may do unasked, and what could be granted so that it asks less."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from supervisor.approvals.grants import AskedBefore, GrantBook
from supervisor.approvals.offer import NOTHING, Offer
from supervisor.approvals.open_requests import TurnContext
from supervisor.gate.offers import offer_of
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.needs import Asking
from supervisor.policy.permissions import Bounds, Permissions
from supervisor.policy.session_permissions import SessionPermissions
from supervisor.runtimes.honeytokens import Honeytokens
from supervisor.trust.levels import TrustLevel


@dataclass(frozen=True, slots=True)
class Unasked:
    """The permissions and grants of a turn. Without a `book` there are no grants.

    `confined` says that the kernel holds what the level bounds (see `Permissions.confined`).
    """

    turn: TurnContext
    level: TrustLevel
    vault: str
    book: GrantBook | None = None
    asked: AskedBefore | None = None
    honeytokens: Honeytokens | None = None
    confined: bool = True
    bounds: Bounds | None = None
    own: SessionPermissions | None = None
    """What the session's own record says; None: what the policy has for the level."""

    def permissions(self, policy: CompiledPolicy) -> tuple[Permissions, float]:
        """What may be done unasked at this moment, and the moment (seconds since the epoch)."""
        base = replace(policy.defaults[self.level], confined=self.confined, bounds=self.bounds)
        if self.own is not None:
            base = self.own.within(base)
        if self.book is None:
            return base, 0.0
        now, turn = self.book.now(), self.turn
        return self.book.permissions_for(turn.session_id, turn.agent, self.level, now, base), now

    async def offer(self, asking: Asking, is_covered: Callable[[], Awaitable[bool]]) -> Offer:
        """What a person could grant beyond this call; `is_covered` judges it anew."""
        if self.book is None:
            return replace(NOTHING, betrays=self.betrays)
        session_id = self.turn.session_id
        offer = await offer_of(
            asking,
            self.vault,
            is_covered,
            earlier=() if self.asked is None else self.asked.of(session_id),
            has_agent=self.turn.agent is not None,
        )
        if self.asked is not None and offer.needs is not None:
            self.asked.remember(session_id, offer.needs)
        return replace(offer, betrays=self.betrays)

    def betrays(self, text: str, where: str) -> bool:
        """Whether a honeytoken is in what a person said; then the turn's alarm is rung."""
        return self.honeytokens is not None and self.honeytokens.check(text, where) is not None
