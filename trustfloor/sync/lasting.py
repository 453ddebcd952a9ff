"""Streams of events that outlast their connections."""

import time
from collections.abc import Callable, Generator, Iterator
from time import monotonic
from typing import Final

import httpx
import orjson
from httpx_sse import EventSource

from trustfloor.errors import Unexpected, unreachable
from trustfloor.heard import UNNUMBERED, Heard
from trustfloor.sync.connection import Connection

_PAUSES_SECONDS: Final = (0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 15.0)
_TOLD_AFTER: Final = 3
_LASTED_SECONDS: Final = 15.0  # a connection that held so long was a good one, though nothing came


class Lasting:
    """Base of streams that are taken up again where they broke."""

    def __init__(self, connection: Connection, last: int | None) -> None:
        self._connection = connection
        self._last = last
        self._failures = 0
        self.reconnects = 0
        self.on_lost: Callable[[], None] | None = None
        """Called when a connection broke and the first few tries for another failed."""

    def _pause(self, error: httpx.TransportError | None) -> None:
        """Wait before the next try; raises Unreachable where none is worth it."""
        if error is not None:
            nobody = self.reconnects == 0 and isinstance(error, httpx.ConnectError)
            if nobody or self._failures >= len(_PAUSES_SECONDS):
                raise unreachable(self._connection.url, error) from None
        if self._failures == _TOLD_AFTER and self.on_lost is not None:
            self.on_lost()
        time.sleep(_PAUSES_SECONDS[min(self._failures, len(_PAUSES_SECONDS) - 1)])
        self._failures += 1
        self.reconnects += 1

    def _hear(self, source: EventSource) -> Iterator[Heard]:
        for event in source.iter_sse():
            if not event.data:  # a comment or a retry time is no event
                continue
            self._failures = 0
            try:
                if event.id:
                    self._last = int(event.id)
                said = orjson.loads(event.data)
            except ValueError:
                raise Unexpected(
                    "an event isn't what this client knows",
                    where=event.event,
                    remedy="use the client that comes with the supervisor's version",
                ) from None
            number = UNNUMBERED if self._last is None else self._last
            yield Heard(number, event.event, said)


class Feed(Lasting):
    """Events from a path, without end, in order and each once."""

    def __init__(self, connection: Connection, path: str, last: int | None) -> None:
        super().__init__(connection, last)
        self._path = path

    def events(self) -> Generator[Heard]:
        """What is said, as it comes. Raises Unreachable, Refused or Unexpected."""
        while True:
            broke: httpx.TransportError | None = None
            begun = monotonic()
            known = {} if self._last is None else {"Last-Event-ID": str(self._last)}
            try:
                with self._connection.opened("GET", self._path, headers=known) as source:
                    after = source.response.headers.get("trustfloor-after")
                    if self._last is None and after is not None:
                        self._last = int(after)
                    for heard in self._hear(source):
                        yield heard
            except httpx.TransportError as error:
                broke = error
            if monotonic() - begun > _LASTED_SECONDS:
                self._failures = 0
            self._pause(broke)
