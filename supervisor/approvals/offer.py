"""What a person could grant beyond a call that waits for them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from supervisor.events.schema import SuggestedGrant
from supervisor.policy.needs import Asking, Needs


async def _never() -> bool:
    return False


Betrays = Callable[[str, str], bool]
"""Whether a honeytoken is in a text, said to be in such a place; then the turn's alarm is rung."""


BETRAYS: Final = "it holds what stands in for a denied file, so the turn is over"
"""Why what a person says is refused where it betrays something."""


def nothing_betrayed(_text: str, _where: str) -> bool:
    """Where nobody has laid out honeytokens."""
    return False


@dataclass(frozen=True, slots=True)
class Offer:
    """The suggestions for a call, what they were made from, and whether it has become needless.

    `is_covered` judges the call anew: whether it would run unasked by now. `betrays` looks into
    what a person says. `asking` is None where nothing can be granted but the call itself, and
    `why_none` says why.
    """

    asking: Asking | None = None
    needs: Needs | None = None
    suggested: tuple[SuggestedGrant, ...] = ()
    is_covered: Callable[[], Awaitable[bool]] = _never
    betrays: Betrays = nothing_betrayed
    why_none: str = ""

    def told(self) -> dict[str, Any]:
        """What the request's event says of it."""
        return {"suggested_grants": self.suggested}

    def find(self, suggestion_id: str) -> SuggestedGrant | None:
        """The suggestion of this id."""
        return next((each for each in self.suggested if each.id == suggestion_id), None)


NOTHING = Offer()
"""For a call that can be granted once, and not beyond."""
