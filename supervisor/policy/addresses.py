"""Web addresses among a tool's arguments: of those of its fields that are named as such."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

MOST_ADDRESSES: Final = 64
DEEPEST: Final = 8

_NAMED_SO: Final = ("url", "uri", "href", "endpoint", "host", "origin", "webpage", "website")
_NOT_SO: Final = frozenset({"hostkey", "originator", "original"})


def addresses_in(input: Mapping[str, Any]) -> tuple[str, ...]:
    """The addresses that a call's fields hold: `url`, `baseUrl`, `urls`, `host` and their kin.

    Texts with blanks are prose, and paths of files are another matter.
    """
    return tuple(dict.fromkeys(islice(_texts(input, DEEPEST, named=False), MOST_ADDRESSES)))


def _texts(value: Any, depth: int, *, named: bool) -> Iterator[str]:
    if isinstance(value, str):
        text = value.strip()
        if named and text and not any(c.isspace() for c in text) and _is_web(text):
            yield text
    elif depth > 0 and isinstance(value, Mapping):
        for key, each in value.items():
            yield from _texts(each, depth - 1, named=_is_address_field(key))
    elif depth > 0 and isinstance(value, list | tuple):
        for each in value:
            yield from _texts(each, depth - 1, named=named)


def _is_web(text: str) -> bool:
    scheme, separator, _rest = text.partition("://")
    return not separator or scheme.lower() != "file"


def _is_address_field(key: object) -> bool:
    plain = str(key).lower().replace("_", "").replace("-", "")
    return plain not in _NOT_SO and any(each in plain for each in _NAMED_SO)
