"""A message that is sent again with its key is not a second message: a client may repeat itself.

What a key stands for is a row of the turn's own, written when the turn is: also a supervisor that
is killed at any moment has either taken the message, with its key, or not at all.
"""

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from typing import Final

from supervisor.errors import InvalidRequest, KeyReused, TurnForgotten
from supervisor.events.log import EventLog
from supervisor.sessions.records import MessageRequest, TurnStarted
from supervisor.storage.turns import Sent, TurnStore

LONGEST_KEY: Final = 255
"""Characters of a key."""


class Once:
    """Begins the turn of a message, or finds the one that its key began."""

    def __init__(self, turns: TurnStore, log: EventLog) -> None:
        self._turns = turns
        self._log = log
        self._locks: dict[str, asyncio.Lock] = {}
        self._waiting: Counter[str] = Counter()

    async def turn(
        self, request: MessageRequest, begin: Callable[[Sent | None], Awaitable[TurnStarted]]
    ) -> TurnStarted:
        """The turn of this message. Raises KeyReused, TurnForgotten, and what `begin` raises."""
        if request.idempotency_key is None:
            return await begin(None)
        sent = sent_as(request, request.idempotency_key)
        async with self._alone(sent.key):
            before = await self._turns.sent(sent.key)
            if before is None:
                return await begin(sent)
            if before.hash != sent.hash:
                raise KeyReused(
                    "another message was sent with this key",
                    where="Idempotency-Key",
                    remedy="make a new key for each message",
                )
            first = await self._log.first_seq(before.session_id, before.turn_id)
            if first is None:
                raise TurnForgotten(
                    "the message with this key was taken, and its events are gone",
                    where=before.session_id,
                    remedy="read the session",
                )
            return TurnStarted(before.session_id, before.turn_id, first - 1, is_repeated=True)

    @asynccontextmanager
    async def _alone(self, key: str) -> AsyncIterator[None]:
        """One at a time of those who bring the same key."""
        self._waiting[key] += 1
        try:
            async with self._locks.setdefault(key, asyncio.Lock()):
                yield
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key], self._locks[key]


def sent_as(request: MessageRequest, key: str) -> Sent:
    """The key and the message as hashes: neither is kept. Raises InvalidRequest for no key."""
    if not 0 < len(key) <= LONGEST_KEY or not (key.isascii() and key.isprintable()):
        raise InvalidRequest(
            f"a key has 1 to {LONGEST_KEY} printable ASCII characters", where="Idempotency-Key"
        )
    plain = replace(request, idempotency_key=None, attachments=())
    said = [[each.name, getattr(plain, each.name)] for each in fields(plain)]
    digest = hashlib.sha256(json.dumps(said).encode())
    for each in request.attachments:
        digest.update(json.dumps([each.name, hashlib.sha256(each.content).hexdigest()]).encode())
    return Sent(hashlib.sha256(key.encode()).hexdigest(), digest.hexdigest())
