"""Brace expansion: `{a,b}` and `{1..3}`, on the characters that no quote protects."""

import re
from typing import Final

import bracex

from supervisor.policy.bash.shell.syntax import Literal, Parts, Piece

MOST_WORDS: Final = 256
MOST_SHORTENED: Final = 1024
_RANGE: Final = re.compile(r"\{(-?[0-9]+)\.\.-?[0-9]+(?:\.\.-?[0-9]+)?\}")
_MOST_BRACES: Final = 40
_FIRST: Final = 0xE000
_LAST: Final = 0xF8FF


def braced(parts: Parts, *, shortened: bool = False) -> list[Parts] | None:
    """The words that a word with unquoted braces becomes; None if they are too many.

    `shortened` takes the first number of each range for all of it, and allows more words.

    Whatever isn't an unquoted letter stands as one private character while the library looks at
    the braces, so quotes and expansions can't be taken for them.
    """
    if sum(part.text.count("{") for part in parts if isinstance(part, Literal)) > _MOST_BRACES:
        return None
    letters: list[str] = []
    kept: list[Piece] = []
    for part in parts:
        if type(part) is Literal and not part.quoted:
            for each in part.text:
                if _FIRST <= ord(each) <= _LAST or each == "\\":
                    kept.append(Literal(each, quoted=True))
                    letters.append(chr(_FIRST + len(kept) - 1))
                else:
                    letters.append(each)
        else:
            kept.append(part)
            letters.append(chr(_FIRST + len(kept) - 1))
        if len(kept) > _LAST - _FIRST:
            return None
    source = "".join(letters)
    if shortened:
        source = _RANGE.sub(r"\1", source)
    most = MOST_SHORTENED if shortened else MOST_WORDS
    try:
        texts = bracex.expand(source, limit=most)
    except (bracex.ExpansionLimitException, RecursionError, ValueError, OverflowError):
        return None
    if len(texts) == 1 and len(texts[0]) == len(letters):
        return [parts]
    return [_restored(text, kept) for text in texts]


def _restored(text: str, kept: list[Piece]) -> Parts:
    found: list[Piece] = []
    plain: list[str] = []
    for each in text:
        place = ord(each) - _FIRST
        if 0 <= place < len(kept):
            if plain:
                found.append(Literal("".join(plain), quoted=False))
                plain = []
            found.append(kept[place])
        else:
            plain.append(each)
    if plain:
        found.append(Literal("".join(plain), quoted=False))
    return tuple(found)
