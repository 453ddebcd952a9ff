"""How large an event may be, and what is left of one that is larger: its form, and short texts."""

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

LARGEST_EVENT = 8 << 20
"""Bytes of JSON."""
MOST_VALUES = 200_000
LONGEST_SECRET = 4_096
"""Characters; what is cut off begins far enough before a cut that none is cut in two."""

_VALUES_KEPT = 5_000
_CHARS_KEPT = LARGEST_EVENT // 8  # a character is six bytes of JSON at most, and there are notes
_LONGEST_INT = 1 << 64
_MAX_DEPTH = 200
_CONTAINERS = (Mapping, list, tuple, set, frozenset)


def is_light(value: Any, chars: int, values: int = MOST_VALUES) -> bool:
    """Whether the texts in it have so many characters together, and it so many values, at most.

    The work is bounded by the limits, whatever the value is.
    """
    pending: list[Iterator[Any]] = [iter((value,))]
    while pending:
        for each in pending[-1]:
            values -= 1
            if isinstance(each, str):
                chars -= len(each)
            elif isinstance(each, Mapping):
                pending.append(part for pair in each.items() for part in pair)
            elif isinstance(each, list | tuple | set | frozenset):
                pending.append(iter(each))
            elif isinstance(each, bytes | bytearray):
                chars -= len(each)
            if chars < 0 or values < 0:
                return False
            if isinstance(each, _CONTAINERS):
                break
        else:
            pending.pop()
    return True


def cut(value: Mapping[str, Any], without_secrets: Callable[[str], str]) -> dict[str, Any]:
    """The same object in fewer than LARGEST_EVENT bytes of JSON, and with bounded work.

    Its own fields all stay. Deep inside, values beyond a number are left out; of the texts the
    longest are cut first. What is missing is told in its place.
    """
    thin = _thin(value, _Room(_VALUES_KEPT), 0)
    longest = _water_level(sorted(map(len, _texts(thin))), _CHARS_KEPT)
    shortened = _shorten(thin, longest, without_secrets)
    assert isinstance(shortened, dict)  # noqa: S101 - as `value` is a mapping
    return shortened


class _Room:
    """How many values may still be kept."""

    def __init__(self, left: int) -> None:
        self.left = left


def _thin(value: Any, room: _Room, depth: int) -> Any:
    """The value with as many of the values in it as there is room for, from its start."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        fits = abs(value) < _LONGEST_INT if isinstance(value, int) else math.isfinite(value)
        return value if fits else None
    if not isinstance(value, _CONTAINERS):
        return value if isinstance(value, str | None | bool) else str(value)[:_CHARS_KEPT]
    if depth >= _MAX_DEPTH or room.left < 1:
        return "[cut]"
    if not isinstance(value, Mapping):
        kept: list[Any] = []
        for each in value:
            if room.left < 1:
                return [*kept, f"[{len(value) - len(kept)} more cut]"]
            room.left -= 1
            kept.append(_thin(each, room, depth + 1))
        return kept
    pairs = list(islice(value.items(), room.left))
    room.left -= len(pairs)
    inner = sum(isinstance(each, _CONTAINERS) for _, each in pairs)
    found: dict[str, Any] = {}
    for key, each in pairs:
        # Each field that holds others gets its share, so that none is left with nothing.
        share = _Room(room.left // inner if inner else 0)
        if isinstance(each, _CONTAINERS):
            inner -= 1
            room.left -= share.left
        found[str(key)] = _thin(each, share, depth + 1)
        room.left += share.left if isinstance(each, _CONTAINERS) else 0
    if len(pairs) < len(value):
        found["[cut]"] = f"{len(value) - len(pairs)} more fields"
    return found


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _water_level(lengths: list[int], room: int) -> int:
    """The length that texts of these lengths, in order, are cut to so that there is room."""
    for at, length in enumerate(lengths):
        share = room // (len(lengths) - at)
        if length > share:
            return share
        room -= length
    return room


def _shorten(value: Any, longest: int, without_secrets: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return _shorten_text(value, longest, without_secrets)
    if isinstance(value, dict):
        return {
            _shorten_text(key, longest, without_secrets): _shorten(each, longest, without_secrets)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_shorten(each, longest, without_secrets) for each in value]
    return value


def _shorten_text(text: str, longest: int, without_secrets: Callable[[str], str]) -> str:
    if len(text) <= longest:
        return text
    # With the part after it: a secret across the cut is found whole there, and one across the
    # end of that part is cut off with it.
    kept = without_secrets(text[: longest + LONGEST_SECRET])[:-LONGEST_SECRET]
    return f"{kept[:longest]}… [{len(text) - len(kept[:longest])} characters cut]"
