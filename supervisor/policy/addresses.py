"""Web addresses among a tool's arguments: of those of its fields that are named as such."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from supervisor.policy.input_texts import DEEPEST_INPUT, texts

MOST_ADDRESSES: Final = 64

_NAMED_SO: Final = ("url", "uri", "href", "endpoint", "host", "origin", "webpage", "website")
_NOT_SO: Final = frozenset({"hostkey", "originator", "original"})


def addresses_in(input: Mapping[str, Any]) -> tuple[str, ...]:
    """The addresses that a call's fields hold: `url`, `baseUrl`, `urls`, `host` and their kin.

    Texts with blanks are prose, and paths of files are another matter.
    """
    named = (
        text.strip() for field, text in texts(input, DEEPEST_INPUT) if _is_address_field(field)
    )
    return tuple(dict.fromkeys(islice(filter(_is_web, named), MOST_ADDRESSES)))


def _is_web(text: str) -> bool:
    if not text or any(c.isspace() for c in text):
        return False
    scheme, separator, _rest = text.partition("://")
    return not separator or scheme.lower() != "file"


def _is_address_field(field: str) -> bool:
    return field not in _NOT_SO and any(each in field for each in _NAMED_SO)
