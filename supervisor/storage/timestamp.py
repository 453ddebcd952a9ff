"""How instants are written in databases: ISO 8601, UTC, one width, so text order is time order."""

import time
from datetime import UTC, datetime

from supervisor.clock import Instant


class SystemClock:
    """The machine's clock, where no other is handed in."""

    def now(self) -> Instant:
        """The current instant, in seconds since the Unix epoch."""
        return Instant(time.time())


def to_text(instant: Instant) -> str:
    """The instant as e.g. `2026-03-01T10:00:00.000000+00:00`."""
    return datetime.fromtimestamp(instant, UTC).isoformat(timespec="microseconds")


def day_of(text: str) -> str:
    """The day, of UTC, of an instant that `to_text` has written."""
    return text[:10]


def from_text(text: str) -> datetime:
    """The moment a text names, in UTC; a text without a zone is taken as UTC.

    Raises ValueError for what is no ISO 8601 timestamp.
    """
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text!r} lies before or after all years of UTC") from error
