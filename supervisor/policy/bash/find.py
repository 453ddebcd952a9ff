"""`find` and `fd`: what their tests select, and what their actions do with it."""

import re
from dataclasses import replace
from typing import Final

from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.invocation import Invocation
from supervisor.policy.bash.places import Found, below, escaped, flat, join, spread
from supervisor.policy.bash.roles import option_values, play_as
from supervisor.policy.bash.search import PRINTS, Chosen, as_text, globs_of, search
from supervisor.policy.bash.use import IN_DOUBT, Use
from supervisor.policy.bash.value import HOLE, Text, Value, known

_MOST_NAMES: Final = 8
_WILD: Final = "*?["
_MOST_PATHS: Final = 24
"""Globs of whole paths that an action is looked at for, one by one."""


def find(use: Use) -> None:
    """`find [START…] [EXPRESSION]`."""
    found = search(use.argv)
    for test, value in found.reads:
        if test == "-files0-from":
            play_as(use, "items", value)
        else:
            play_as(use, "list", value)
    for value in found.writes:
        play_as(use, "write", value)
    if found.doubtful:
        use.unknown("a word that can't be told may be an action of find")
    for start in found.starts or [known(".")]:
        use.implied = not found.starts
        use.emit(Act.LIST, "is searched", start, recursive=True)
        use.implied = False
        for kind, words, ways in found.actions:
            if kind in PRINTS:
                continue
            for each in _found(start, _by_place(use, start, ways) if kind == "-delete" else ways):
                _act(use, kind, words, each)


def found_by(invocation: Invocation) -> list[Value]:
    """The files that a `find` prints, for a command that gets them through a pipe."""
    found = search(invocation.argv)
    return [
        each
        for start in found.starts or [known(".")]
        for each in _found(join(invocation.cwd, start), found.printed)
    ]


def _found(start: Value, ways: list[Chosen]) -> list[Value]:
    """What a search finds below a folder: by names, by paths, and whatever else it holds."""
    found: list[Value] = []
    names: dict[str, None] = {}
    paths: dict[str, None] = {}
    broad = [each for each in ways if not each.name]
    for way in ways:
        folder = way.folder(start.only) if way.within and start.only else None
        if folder is not None:
            found.append(Found((Text(HOLE),), start=known(folder), names=(way.name,)))
        elif way.name:
            names[way.name] = None
        if way.paths and (only := start.only) is not None:
            paths.update(dict.fromkeys(each for each in globs_of([way], only) if "/" in each))
    if broad:
        if all(each.empty for each in broad):
            names["?*"] = None  # any name: but what holds anything stays
        else:
            inner = all(each.inner for each in broad)
            found.append(Found((Text(HOLE),), start=start, whole=not inner))
    if names:
        found.append(Found((Text(HOLE),), start=start, names=tuple(names)))
    return [*found, *(Value((as_text(each),)) for each in list(paths)[:_MOST_PATHS])]


def _by_place(use: Use, start: Value, ways: list[Chosen]) -> list[Chosen]:
    """Files that go by the folder they lie in, below where the call begins: not all there are."""
    here = use.look.start
    places = [flat(each.text) for each in join(use.cwd, start).texts]
    if not all(each == here or each.startswith(f"{here}/") for each in places):
        return ways
    return [
        replace(each, names=(each.anywhere,))
        if not each.name.strip("*") and each.anywhere
        else each
        for each in ways
    ]


def _act(use: Use, kind: str, words: list[Value], found: Value) -> None:
    if kind == "-delete":
        use.emit(Act.DELETE, "is removed where the search finds it", found)
        return
    if words:
        use.start([_filled(each, found) for each in words])
        _named_there(use, found)


def _named_there(use: Use, found: Value) -> None:
    """A name that is told is perhaps that of a file, or link, where the search starts."""
    if isinstance(found, Found):
        for name in found.names[:_MOST_NAMES]:
            if name.strip(_WILD) == name and "[" not in name:
                use.emit(Act.READ, IN_DOUBT, below(found.start, name))
            elif name[:1] not in _WILD:
                place = below(found.start, name).texts[0].text
                use.emit(Act.READ, IN_DOUBT, Value((Text(place, place),)))


def _filled(word: Value, found: Value) -> Value:
    if not any("{}" in each.text for each in word.texts):
        return word
    if word.only == "{}":
        return found
    texts = tuple(_put(each.text, item) for each in word.texts for item in spread(found).texts)
    return Value(texts, word.from_data)


def _put(text: str, item: Text) -> Text:
    """A word with an item in the place of `{}`; a glob stays one."""
    pattern = None
    if item.pattern is not None:
        pattern = item.pattern.join(escaped(each) for each in text.split("{}"))
    return Text(text.replace("{}", item.text), pattern)


def fd(use: Use) -> None:
    """`fd [PATTERN] [START…] [-x COMMAND… | -X COMMAND…]`."""
    argv = list(use.argv)
    texts = [each.texts[0].text for each in argv]
    runs = [at for at, text in enumerate(texts) if text in {"-x", "--exec", "-X", "--exec-batch"}]
    words = use.parsed.operands
    command: list[Value] = []
    if runs:
        command = argv[runs[0] + 1 :]
        end = next((at for at, each in enumerate(command) if each.only == ";"), len(command))
        command = command[:end]
        kept = {id(each) for each in argv[: runs[0]]}
        words = [each for each in words if id(each) in kept]
    pattern = words[0].only if words else None
    starts = words[1:] or option_values(use, "tree") or [known(".")]
    only: tuple[str, ...] = ()
    if pattern and "glob" in use.tags:
        only = (pattern,)
    elif pattern and re.fullmatch(r"(?:[\w-]|\\?\.)+", pattern):
        plain = pattern.replace("\\.", "\0").replace(".", "?").replace("\0", ".")
        only = () if not plain.strip("?") else (f"*{plain}*",)
        if only and pattern.startswith("."):
            only = (*only, pattern)  # who writes `.env` means that name, among all that match
    elif pattern and pattern.startswith("^") and pattern.endswith("$"):
        only = (pattern[1:-1].replace("\\", ""),)
    if endings := [(each.only or "*").lstrip(".") for each in option_values(use, "only")]:
        only = tuple(
            f"{each.removesuffix(f'.{end}')}.{end}" for each in only or ("*",) for end in endings
        )
    for start in starts:
        use.emit(Act.LIST, "is searched", start, recursive=True)
        found = Found((Text(HOLE),), start=start, names=only, whole=not only)
        if command:
            filled = [_filled(each, found) for each in command]
            if not any(each.only and "{" in each.only for each in command):
                filled.append(found)
            use.start(filled)
