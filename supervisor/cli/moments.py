"""How a person says from when on: a span back from now, or a date."""

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
