"""The one-time codes with which pages log in: in memory alone, as digests, and a few for each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from supervisor.access.holder import Holder
from supervisor.access.secrets import digest, new_code, plain_code
from supervisor.clock import Instant

CODE_SECONDS: Final = 300
"""How long a login's code is good for."""
MOST_CODES: Final = 5
"""Codes of one token that wait to be typed in."""


@dataclass(frozen=True, slots=True)
class _Code:
    digest: str
    holder: Holder
    ends: Instant


class Codes:
    """Those that wait to be typed in. Each counts once."""

    def __init__(self) -> None:
        self._codes: list[_Code] = []

    def make(self, maker: Holder, now: Instant) -> tuple[str, Instant]:
        """A code and its end; of too many of one token the oldest goes."""
        live = [each for each in self._codes if each.ends > now]
        own = [each for each in live if each.holder.payer == maker.payer]
        for old in own[: max(0, len(own) - MOST_CODES + 1)]:
            live.remove(old)
        code = new_code()
        ends = Instant(now + CODE_SECONDS)
        self._codes = [*live, _Code(digest(plain_code(code)), maker, ends)]
        return code, ends

    def spend(self, typed: str, now: Instant) -> Holder | None:
        """Who made this code, which is gone with that; None for a code that is none."""
        given = digest(plain_code(typed))
        found = next((each for each in self._codes if each.digest == given), None)
        if found is None or found.ends <= now:
            return None
        self._codes.remove(found)
        return found.holder

    def drop(self, ended: Callable[[Holder], bool]) -> None:
        """Forget the codes of those who have ended."""
        self._codes = [each for each in self._codes if not ended(each.holder)]
