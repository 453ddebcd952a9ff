"""Words that may have several texts, one by one; and the programs that a glob may name."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from supervisor.policy.bash.places import Found
from supervisor.policy.bash.value import HOLE, Text, Value

MOST_VARIANTS: Final = 24
_LEADS_ON: Final = re.compile(r"[*?\[~]|(?:\A|/)\.\.(?:/|\Z)")
_LONGEST_START: Final = 12
"""Signs of a glob of which a start of a name is made."""


def is_single(argv: Sequence[Value]) -> bool:
    """Whether each word has one text only."""
    for each in argv:  # noqa: SIM110 - twice as fast as `all` with a generator
        if len(each.texts) != 1:
            return False
    return True


def has_option(argv: Sequence[Value]) -> bool:
    """Whether a word with several texts may be an option."""
    return any(
        len(each.texts) > 1 and any(text.text.startswith("-") for text in each.texts)
        for each in argv
    )


def is_from_data(argv: Sequence[Value]) -> bool:
    """Whether a word holds what another program prints."""
    for each in argv:  # noqa: SIM110 - as above
        if each.from_data:
            return True
    return False


def variants(argv: tuple[Value, ...]) -> Iterator[tuple[Value, ...]]:
    """The words with one text each: all combinations if they are few, else each text once."""
    product = 1
    for each in argv:
        product *= len(each.texts)
    if product <= MOST_VARIANTS:
        yield from _combinations(argv)
        return
    for number in range(max(len(each.texts) for each in argv)):
        yield tuple(_single(each, each.texts[number % len(each.texts)]) for each in argv)


def _combinations(argv: tuple[Value, ...]) -> Iterator[tuple[Value, ...]]:
    found: list[tuple[Value, ...]] = [()]
    for each in argv:
        found = [(*start, _single(each, text)) for start in found for text in each.texts]
    yield from found


def _single(value: Value, text: Text) -> Value:
    if len(value.texts) == 1:
        return value
    if isinstance(value, Found) and text.text == HOLE:
        return replace(value, texts=(text,))
    return Value((text,), value.from_data)


def names_of(
    word: Value,
    commands: Mapping[str, object],
    families: Sequence[str] = (),
    folders: Container[str] | None = None,
) -> Iterator[str]:
    """The programs that a first word may name; a glob may name any of the table that fits it.

    `families` are the starts of names whose end may be anything (`mkfs.`). Where the system's
    `folders` are told, a glob elsewhere that says nothing of such a start means none of them
    (`tests/*.t`).
    """
    for each in word.texts:
        if each.pattern is None:
            yield each.text
            continue
        folder, slash, _ = each.text.rpartition("/")
        pattern = each.pattern.rpartition("/")[2]
        fitting = glob_names(pattern, commands)
        if not fitting:
            starts = [pattern[:end] for end in range(2, len(pattern))][:_LONGEST_START]
            elsewhere = folders is not None and folder and folder not in folders
            if elsewhere and not _LEADS_ON.search(folder):
                starts = [one for one in starts if one.strip("*?.")]
            fitting = [
                start + "*" for start in families if any(glob_names(one, [start]) for one in starts)
            ]
        yield each.text
        for name in fitting[:MOST_VARIANTS]:
            yield f"{folder}{slash}{name}"


def glob_names(pattern: str, names: Iterable[str]) -> list[str]:
    """The names of programs that a glob fits."""
    from wcmatch import fnmatch  # noqa: PLC0415 - only calls with a glob for a program need it

    fits, _ = fnmatch.translate(pattern, flags=fnmatch.B)
    wanted = [re.compile(each) for each in fits]
    return [each for each in names if any(one.match(each) for one in wanted)]
