"""Connections that ask nothing are closed, and there are only so many from the port.

Each takes a descriptor of the process, whoever holds it: nobody has said who they are by then.
Without a bound, any program of this machine, an agent's in a `vault` cage too, could hold so many
that the supervisor has none left to write its audit log with, or to hear its owner.
"""

import asyncio
from typing import Final

from supervisor.api.unreadable import ProblemsProtocol

HEAD_SECONDS: Final = 20.0
"""So long the head of a request may take to be there whole, from the connection on or from its
first byte."""

KEPT_FOR_THE_SOCKET: Final = 64
"""Connections that are not the port's to give: those over the socket, which only its owner has."""


class BoundedProtocol(ProblemsProtocol):
    """The protocol of `trustfloor serve`; `limit_concurrency` says how many connections may be."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, or hang up where there are too many."""
        super().connection_made(transport)
        most, by_port = self.limit_concurrency, self.client is not None
        if by_port and most is not None and len(self.connections) > most - KEPT_FOR_THE_SOCKET:
            transport.abort()
        else:
            self._wait_for_a_head()

    def data_received(self, data: bytes) -> None:
        """Take what came; a head that was begun has to come to its end."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_no_more()
        elif self._waiting is None:
            self._wait_for_a_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _wait_for_a_head(self) -> None:
        self._waiting = self.loop.call_later(HEAD_SECONDS, self._hang_up)

    def _wait_no_more(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _hang_up(self) -> None:
        self._waiting = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.abort()
