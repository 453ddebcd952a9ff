"""Computing with values: joining, choosing, mapping, within a value's most alternatives."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from typing import Final

from supervisor.policy.bash.value import HOLE, MOST_TEXTS, Text, Value

LONGEST_TEXT: Final = 256 * 1024
"""Characters of one text that a computation may make; beyond, it is unknown."""

DATA: Final = Value((Text(HOLE),), from_data=True)
"""The content of a file or the output of a program."""

MANY: Final = Value((Text(HOLE, many=True),))
"""Any number of words of which nothing is known."""


MOST_HINTS: Final = 48
"""Names that are kept for a value that can't be told."""


@lru_cache(maxsize=8192)
def _short(text: str) -> Value:
    return Value((Text(text),))


_SHORT: Final = 80
_HOLES: Final = (Text(HOLE),)
_LONGEST_NAME: Final = 512
_BLANK: Final = re.compile(r"\s")
_DIGITS: Final = re.compile(r"[0-9]+")
_GLOB_CHARACTERS: Final = re.compile(r"([*?\[\]\\()|!+@{}])")


def literal(text: str) -> Value:
    """A value that is this text."""
    return _short(text) if len(text) <= _SHORT else Value((Text(text),))


EMPTY: Final = literal("")


def of(texts: Iterable[str], *, from_data: bool = False) -> Value:
    """A value that is one of these texts, each once; unknown if they are too many."""
    found = tuple(Text(each) for each in dict.fromkeys(texts))
    if not found or len(found) > MOST_TEXTS:
        return Value((*_HOLES, *telling(found, MOST_TEXTS - 1)), from_data)
    return Value(found, from_data)


def alone(value: Value) -> str | None:
    """The text of a value that is one known text."""
    texts = value.texts
    if len(texts) == 1 and HOLE not in (text := texts[0].text):
        return text
    return None


def union(values: Iterable[Value]) -> Value:
    """One of these values."""
    found: dict[Text, None] = {}
    from_data = False
    for value in values:
        from_data = from_data or value.from_data
        for text in value.texts:
            found[text] = None
    if not found or len(found) > MOST_TEXTS:
        return Value((*_HOLES, *telling(found, MOST_TEXTS - 1)), from_data)
    return Value(tuple(found), from_data)


def telling(texts: Iterable[Text], most: int) -> list[Text]:
    """Of too many texts those that say most as names: hidden ones first, and of numbered ones one.

    They go beside a hole that stands for all the others.
    """
    found: dict[str, Text] = {}
    for each in texts:
        text = each.text
        if text and text != HOLE and len(text) <= _LONGEST_NAME and not _BLANK.search(text):
            found.setdefault(_DIGITS.sub("0", text), each)
    if len(found) <= most:
        return list(found.values())
    hidden = [each for each in found.values() if each.text.rpartition("/")[2][:1] == "."]
    return list(dict.fromkeys((*hidden, *found.values())))[:most]


def join(values: Sequence[Value]) -> Value:
    """These values one after the other; a name that a pattern stands for stays a pattern."""
    pieces: list[str] = []
    data = False
    for value in values:
        texts = value.texts
        if len(texts) > 1 or texts[0].pattern is not None:
            return _joined(values)
        data = data or value.from_data
        pieces.append(texts[0].text)
    text = "".join(pieces)
    if len(text) > LONGEST_TEXT:
        return Value(_HOLES, data)
    return Value((Text(text),), data)


def _joined(values: Iterable[Value]) -> Value:
    """The same for values of several texts."""
    made: list[Text] | None = None
    plain = [""]
    from_data = False
    for value in values:
        from_data = from_data or value.from_data
        texts = value.texts
        if made is None and any(each.pattern is not None for each in texts):
            made = [Text(each, None) for each in plain]
        size = len(plain if made is None else made)
        if size * len(texts) > MOST_TEXTS:
            texts = (*_HOLES, *telling(texts, MOST_TEXTS // size - 1))
        if made is not None:
            made = [_appended(each, text) for each in made for text in texts]
        elif len(texts) == 1:
            only = texts[0].text
            if only:
                plain = [each + only for each in plain]
        else:
            plain = [each + text.text for each in plain for text in texts]
        if len(plain[0] if made is None else made[0].text) > LONGEST_TEXT:
            return Value(_HOLES, from_data)
    if made is not None:
        return Value(tuple(dict.fromkeys(made)), from_data)
    return of(plain, from_data=from_data)


def _appended(first: Text, second: Text) -> Text:
    pattern = None
    if first.pattern is not None or second.pattern is not None:
        pattern = as_pattern(first) + as_pattern(second)
    return Text(first.text + second.text, pattern)


def as_pattern(text: Text) -> str:
    """A text as a glob that matches it alone, or the glob that it is."""
    return text.pattern if text.pattern is not None else escaped(text.text)


def escaped(text: str) -> str:
    """A text with what a glob would take for its own behind backslashes."""
    return _GLOB_CHARACTERS.sub(r"\\\1", text)


def hinted(value: Value, hints: Iterable[Text]) -> Value:
    """A value that may be what it is, or one of the hints."""
    more: Collection[Text] = dict.fromkeys(hints)
    if not more:
        return value
    if len(more) > MOST_HINTS:
        more = telling(more, MOST_HINTS)
    return Value(tuple(dict.fromkeys((*value.texts, *more))), value.from_data)


def blurred(value: Value) -> Value:
    """A value that has become unknown; what it was stays as a hint."""
    return hinted(
        Value(_HOLES, value.from_data), [each for each in value.texts if each.text.strip(HOLE)]
    )


def mapped(value: Value, change: Callable[[str], str], *, patterns: bool = False) -> Value:
    """The value with each text changed; a text with a hole becomes a hole.

    So does a name that a pattern stands for, unless `patterns` says that the change means the same
    on the pattern itself.
    """
    found: dict[Text, None] = {}
    for each in value.texts:
        if HOLE in each.text or (
            each.pattern is not None and (each.pattern != each.text or not patterns)
        ):
            found[_HOLES[0]] = None
        else:
            changed = change(each.text)
            found[Text(changed, changed if each.pattern is not None else None)] = None
    return Value(tuple(found), value.from_data)
