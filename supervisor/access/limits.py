"""How often one caller may ask: token buckets, one for each, that fill up again by time."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

MOST_CALLERS: Final = 10_000
"""So many are remembered; the one that was quiet the longest is forgotten first."""


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `burst` at once, and `per_minute` in the long run. 0: no limit."""

    per_minute: float
    burst: float

    @property
    def is_none(self) -> bool:
        """Whether nothing is limited."""
        return self.per_minute <= 0


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class Limiter:
    """Counts by caller; `now` are seconds that only go forward."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, caller: str, now: float) -> float:
        """Count one; 0 if it is within the rate, else after how many seconds the next one is."""
        if self._rate.is_none:
            return 0.0
        bucket = self._buckets.pop(caller, None) or _Bucket(self._rate.burst, now)
        self._buckets[caller] = bucket
        while len(self._buckets) > MOST_CALLERS:
            self._buckets.popitem(last=False)
        per_second = self._rate.per_minute / 60
        filled = bucket.left + max(0.0, now - bucket.at) * per_second
        bucket.left, bucket.at = min(self._rate.burst, filled), max(now, bucket.at)
        if bucket.left >= 1:
            bucket.left -= 1
            return 0.0
        return (1 - bucket.left) / per_second
