"""How often one may ask, and be wrong: too many requests of a token, too many wrong tokens.

Nobody is shut out by the failures of others: a right token is let in however many wrong ones came
from the same address. Who goes on being wrong waits for each answer, and is told to.
"""

import asyncio
import ipaddress
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from starlette.types import Scope

from supervisor.access.holder import Holder
from supervisor.access.limits import Limiter, Rate
from supervisor.api.problems import Problem

logger = logging.getLogger(__name__)

TOO_MANY: Final = Problem(
    429,
    "too_many_requests",
    "Too many requests",
    "There were more requests than one caller may make at once.",
    remedy="wait as long as `Retry-After` says; TRUSTFLOOR_RATE_PER_MINUTE is the limit",
    retryable=True,
)
_TOO_OFTEN_WRONG: Final = replace(
    TOO_MANY,
    title="Too many wrong tokens",
    detail="Too many wrong tokens or codes came from this address.",
    remedy="send a right one: that is let in at once",
)

BESIDE: Final = "socket"
"""What stands in an address's place for what comes over the socket in the data folder."""
_SHARE_AT_ONCE: Final = 3
"""So large a part of a minute's requests may come at once."""
_WRONG_WAITS_SECONDS: Final = 0.5
_MOST_WAITING: Final = 64
"""So many answers are held back at once; a flood is answered without that, and costs no memory."""
_TOLD_PER_MINUTE: Final = Rate(per_minute=1, burst=1)

Record = Callable[[str, None, None, Mapping[str, Any]], Awaitable[object]]


class Pace:
    """Counts requests by token and failures by address. Without arguments, it limits nothing."""

    def __init__(
        self,
        per_minute: int = 0,
        failed_per_minute: int = 0,
        *,
        record: Record | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._asked = Limiter(Rate(per_minute, max(1, per_minute / _SHARE_AT_ONCE)))
        self._failed = Limiter(Rate(failed_per_minute, max(1, failed_per_minute / _SHARE_AT_ONCE)))
        self._told = Limiter(_TOLD_PER_MINUTE)
        self._record = record
        self._clock = clock
        self._waiting = 0
        self._unsaid: dict[str, int] = {}

    def asked(self, caller: Holder) -> Problem | None:
        """Count a request; what to answer if it is one too many."""
        wait = self._asked.take(caller.payer, self._clock())
        return replace(TOO_MANY, retry_after=math.ceil(wait)) if wait else None

    async def failed(self, scope: Scope, refusal: Problem) -> Problem:
        """Count a wrong token or code; what to answer, after a while if there were many."""
        client = _whose(whence(scope))
        now = self._clock()
        wait = self._failed.take(client, now)
        await self._tell(client, now, is_over=wait > 0)
        if not wait:
            return refusal
        if self._waiting < _MOST_WAITING:
            self._waiting += 1
            try:
                await asyncio.sleep(_WRONG_WAITS_SECONDS)
            finally:
                self._waiting -= 1
        return replace(_TOO_OFTEN_WRONG, retry_after=math.ceil(wait))

    async def _tell(self, client: str, now: float, *, is_over: bool) -> None:
        """One entry in the audit log a minute and address, lest a stranger fill it."""
        self._unsaid[client] = self._unsaid.get(client, 0) + 1
        if self._record is None or self._told.take(client, now):
            if len(self._unsaid) > _MOST_WAITING * _MOST_WAITING:
                self._unsaid.clear()
            return
        count = self._unsaid.pop(client)
        body = {"what": "refused", "client": client, "tries": count, "slowed": is_over}
        await self._record("access", None, None, body)


def whence(scope: Scope) -> str:
    """The address that a request comes from; who comes over the supervisor's socket has none."""
    return str((scope.get("client") or (BESIDE,))[0])


def _whose(address: str) -> str:
    """Under which name an address counts: a client with IPv6 has a whole /64 to itself."""
    try:
        found = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    mapped = found.ipv4_mapped
    return str(mapped or ipaddress.ip_network((found, 64), strict=False))
