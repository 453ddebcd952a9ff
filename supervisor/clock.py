"""The clock as a value that is handed in: the core never reads the time by itself."""

from typing import NewType, Protocol

Instant = NewType("Instant", float)
"""Seconds since the Unix epoch, UTC."""


class Clock(Protocol):
    """Tells the time; the system's clock is made in the composition root."""

    def now(self) -> Instant:
        """The current instant, in seconds since the Unix epoch."""
        ...
