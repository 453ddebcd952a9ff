"""Whether what a client sent can be stored and told again: whole characters, and not too deep.

JSON can spell half of a character (a lone surrogate), which neither SQLite nor UTF-8 takes, and
nest lists and objects without end, at which all who write JSON end somewhere.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

DEEPEST: Final = 100
"""Lists and objects in each other in a body. Whoever tells of it wraps it in some more."""
_MOST_FAULTS: Final = 20

Place = tuple[str | int, ...]


def require_tellable(given: Any) -> Any:
    """The value. Raises ValidationError, naming each place in it that can't be told."""
    faults = list(islice(_faults(given, ()), _MOST_FAULTS))
    if faults:
        raise ValidationError.from_exception_data("body", faults)
    return given


def _faults(value: Any, place: Place) -> Iterator[InitErrorDetails]:
    """What is wrong, in the order in which it stands."""
    if isinstance(value, str):
        if not _is_whole(value):
            yield InitErrorDetails(type="string_unicode", loc=place, input=None)
        return
    if not isinstance(value, dict | list):
        return
    if len(place) >= DEEPEST:
        fault = PydanticCustomError(
            "too_deep", "lists and objects may be nested {most} deep", {"most": DEEPEST}
        )
        yield InitErrorDetails(type=fault, loc=place[:1], input=None)
        return
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(key, str) and not _is_whole(key):
            yield InitErrorDetails(type="string_unicode", loc=(*place, key), input=None)
        # A long list of plain values is none the slower for this.
        if isinstance(each, dict | list) or (isinstance(each, str) and not _is_whole(each)):
            yield from _faults(each, (*place, key))


def _is_whole(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
