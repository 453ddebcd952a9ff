"""Makes the offer of a call that asks: suggestions, how much each covers, what it had saved."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from supervisor.approvals.display import make_visible
from supervisor.approvals.offer import Offer
from supervisor.events.schema import SuggestedGrant
from supervisor.gate.reach import Reach, reach
from supervisor.policy.needs import Asking, Needs, coverage_of, needs_of
from supervisor.policy.permissions import GrantKind, GrantScope
from supervisor.policy.suggest import Suggestion, suggested, why_none

INLINE_CHARS: Final = 2_000
"""Characters of a command for which suggestions are made at once; for more a thread is taken."""


async def offer_of(
    asking: Asking,
    vault: str,
    is_covered: Callable[[], Awaitable[bool]],
    *,
    earlier: Sequence[Needs] = (),
    has_agent: bool = False,
) -> Offer:
    """The offer. `vault` is its resolved path on this host, `earlier` what was asked before."""
    if len(asking.command or "") > INLINE_CHARS:
        needs, found = await asyncio.to_thread(_made, asking)
    else:
        needs, found = _made(asking)
    if not needs.parts and needs.whole is None:
        return Offer(why_none=why_none(asking, needs))
    told = [
        await _told(f"s{number}", each, asking, vault, earlier, has_agent=has_agent)
        for number, each in enumerate(found, start=1)
    ]
    return Offer(asking, needs, tuple(told), is_covered)


def _made(asking: Asking) -> tuple[Needs, tuple[Suggestion, ...]]:
    needs = needs_of(asking)
    return needs, suggested(asking, needs)


async def _told(  # noqa: PLR0913  (all that is told of one)
    name: str,
    suggestion: Suggestion,
    asking: Asking,
    vault: str,
    earlier: Sequence[Needs],
    *,
    has_agent: bool,
) -> SuggestedGrant:
    found: Reach | None = None
    if suggestion.kind in (GrantKind.READ, GrantKind.WRITE):
        denied = asking.policy.may_not_be_named(asking.call.level)
        found = await reach(suggestion.pattern, vault, denied)
    alone = coverage_of(suggestion.kind, suggestion.pattern, asking)
    level = asking.call.level.value
    return SuggestedGrant(
        id=name,
        kind=suggestion.kind,
        pattern=suggestion.pattern,
        covers=make_visible(suggestion.covers).text,
        scopes=tuple(
            each for each in suggestion.scopes if has_agent or each is not GrantScope.AGENT
        ),
        enough=suggestion.enough,
        matches=None if found is None else found.files,
        matches_more=found is not None and found.more,
        earlier_prompts=sum(needs.level == level and needs.met_by(alone) for needs in earlier),
    )
