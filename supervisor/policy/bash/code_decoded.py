"""Texts that stand in code by the numbers of their characters, in base64 or in hexadecimal."""

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Final

from supervisor.policy.bash.code_tokens import Token

_CHARACTERS: Final = frozenset({"chr", "fromCharCode", "fromCodePoint", "char"})
_DECODES: Final = frozenset({"from", "atob", "base64_decode", "decode64", "decode_base64"})
_FIRST_SURROGATE: Final = 0xD800
"""Characters from here on are no part of a name that anybody denies."""
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2})+")
_NO_LETTERS: Final = re.compile(r"\W+")


def decoded(tokens: Sequence[Token], at: int) -> tuple[str, int] | None:
    """What `chr(46)`, `String.fromCharCode(46, …)` or `atob("…")` gives, and where it ends."""
    called = at + 2 < len(tokens) and tokens[at + 1].text == "("
    name = _NO_LETTERS.split(tokens[at].text)[-1] if called else ""
    if name not in _CHARACTERS and name not in _DECODES:
        return None
    end = next((p for p in range(at + 2, len(tokens)) if tokens[p].text == ")"), len(tokens))
    inner = tokens[at + 2 : end]
    if name in _CHARACTERS:
        numbers = [
            int(each.text) for each in inner if each.kind == "number" and each.text.isdigit()
        ]
        if numbers and all(0 < each < _FIRST_SURROGATE for each in numbers):
            return "".join(map(chr, numbers)), end + 1
        return None
    made = _text_of(name, inner)
    return None if made is None else (made, end + 1)


def _text_of(name: str, inner: Sequence[Token]) -> str | None:
    text = inner[0].value if inner else None
    ways = [each.value for each in inner[1:]] if name == "from" else ["base64"]
    if text is None or not {"hex", "base64"} & {*ways}:
        return None
    if "hex" in ways:
        return unpacked([text])
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", "replace")
    except (ValueError, binascii.Error):
        return None


def unpacked(texts: Sequence[str]) -> str | None:
    """What `pack("H*", "2e65")`, `hex2bin("2e65")` or `["2e65"].pack("H*")` makes."""
    digits = next((each for each in texts if _HEX.fullmatch(each)), None)
    try:
        return None if digits is None else bytes.fromhex(digits).decode("utf-8", "replace")
    except ValueError:
        return None
