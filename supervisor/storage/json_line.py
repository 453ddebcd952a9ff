"""Any value as JSON bytes that every line splitter takes for one line; never fails on content.

JSON escapes the control characters itself. What is left are three characters that some readers
(Python's `str.splitlines`, older JavaScript) break lines at, though JSON allows them raw.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

import orjson

_LINE_BREAKERS = (
    ("\u0085".encode(), b"\\u0085"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)

MAX_DEPTH = 200
"""Nesting beyond this is cut: orjson ends at 254 levels, and readers end earlier."""

_MAX_INT_BITS = 4096


def dump(value: Any, *, sort_keys: bool = False) -> bytes:
    """The value as one line of JSON, without a line end.

    What JSON can't hold is replaced, not refused: lone surrogates by U+FFFD, infinities by null,
    unknown objects by their text, nesting beyond MAX_DEPTH by a note.
    """
    option = orjson.OPT_SORT_KEYS if sort_keys else 0
    try:
        line = orjson.dumps(value, option=option)
    except orjson.JSONEncodeError:
        cleaned = _clean(value, 0)
        line = json.dumps(
            cleaned, ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys
        ).encode()
    for raw, escaped in _LINE_BREAKERS:
        if raw in line:
            line = line.replace(raw, escaped)
    return line


def _clean(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        if depth >= MAX_DEPTH:
            return "[nested too deeply]"
        if isinstance(value, Mapping):
            return {_text(str(key)): _clean(item, depth + 1) for key, item in value.items()}
        return [_clean(item, depth + 1) for item in value]
    return _clean_scalar(value)


def _clean_scalar(value: Any) -> str | int | float | None:
    match value:
        case None | bool():
            return value
        case int():
            return int(value) if value.bit_length() <= _MAX_INT_BITS else "[number too long]"
        case float():
            return float(value) if math.isfinite(value) else None
        case bytes() | bytearray():
            return value.decode("utf-8", "replace")
        case _:
            return _text(str(value))


def _text(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
