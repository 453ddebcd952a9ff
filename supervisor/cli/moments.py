"""How a person says from when on (a span back from now, or a date), and is told when."""

import re
import time
from datetime import UTC, datetime, timedelta
from typing import Final

import typer

_SPAN: Final = re.compile(r"(\d{1,6})([smhdw])")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def moment_of(text: str) -> datetime:
    """The moment that is meant, in UTC where no zone is given. Raises typer.BadParameter."""
    span = _SPAN.fullmatch(text.strip().lower())
    try:
        if span is not None:
            now = datetime.fromtimestamp(time.time(), UTC)
            return now - timedelta(**{_UNITS[span[2]]: int(span[1])})
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{text!r} is neither a span (30d, 12h, 2w) nor a date (2026-03-01)"
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def told_moment(text: str) -> str:
    """A moment as the API gives it, for a person: `2026-03-01 10:00 UTC`.

    What is no moment is told as it is.
    """
    return _told(text, "%Y-%m-%d %H:%M UTC")


def line_moment(text: str) -> str:
    """The same as one word, at the begin of a line: `2026-03-01T10:00:05Z`."""
    return _told(text, "%Y-%m-%dT%H:%M:%SZ")


def _told(text: str, form: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
        in_utc = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return text
    return in_utc.strftime(form)
