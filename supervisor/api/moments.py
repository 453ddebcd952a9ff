"""How a moment is given from outside: a date and time in words, never a number."""

import re
from datetime import datetime
from typing import Annotated, Final

from pydantic import BeforeValidator

_NUMBER: Final = re.compile(r"[\s+-]*[0-9_.]+(?:[eE][+-]?[0-9]+)?\s*")


def _in_words(given: object) -> object:
    """A number would be taken for seconds, and one that was meant otherwise for 1970."""
    if isinstance(given, int | float) or (isinstance(given, str) and _NUMBER.fullmatch(given)):
        raise ValueError("write it as 2026-05-01T12:00:00Z")
    return given


Moment = Annotated[datetime, BeforeValidator(_in_words)]
"""A date and time as ISO 8601 has it; numbers are refused."""
