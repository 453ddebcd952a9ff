"""`find` and `fd`: what their tests select, and what their actions do with it."""

import re
from dataclasses import dataclass, field
from typing import Final

from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.invocation import Invocation
from supervisor.policy.bash.places import Found, join
from supervisor.policy.bash.roles import option_values, play_as
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import HOLE, Text, Value, known

_RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WRITES: Final = frozenset({"-fprint", "-fprint0", "-fls", "-fprintf"})
_NAMES: Final = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename",
                           "-lname"})  # fmt: skip
_READS: Final = frozenset({"-newer", "-anewer", "-cnewer", "-samefile", "-files0-from"})
_VALUES: Final = frozenset(
    {"-type", "-xtype", "-maxdepth", "-mindepth", "-size", "-mtime", "-mmin", "-atime", "-amin",
     "-ctime", "-cmin", "-user", "-group", "-uid", "-gid", "-perm", "-links", "-inum", "-fstype",
     "-regextype", "-printf", "-used", "-newermt", "-newerct", "-newerat",
     "-newermm", "-context", "-lname", "-ilname"}
)  # fmt: skip
_BEFORE: Final = frozenset({"-H", "-L", "-P", "-E", "-X", "-d", "-s", "-x"})
_OPENS: Final = ("-", "(", "!", ",", ")")


@dataclass(slots=True)
class _Search:
    """The expression so far: names that it selects, unless an alternative selects others."""

    only: list[str] = field(default_factory=list)
    broad: bool = False
    either: bool = False
    negated: bool = False
    plain_files: bool = False
    just_start: bool = False
    empty: bool = False
    actions: list[tuple[str, list[Value]]] = field(default_factory=list)


def find(use: Use) -> None:
    """`find [START…] [EXPRESSION]`."""
    argv = use.argv
    starts, at = _starts(argv)
    search = _Search()
    _expression(use, argv, at, search)
    for start in starts or [known(".")]:
        use.implied = not starts
        use.emit(Act.LIST, "is searched", start, recursive=True)
        use.implied = False
        found = _found(start, search)
        for kind, words in search.actions:
            _act(use, kind, words, found)


def found_by(invocation: Invocation) -> list[Found]:
    """The files that a `find` prints, for a command that gets them through a pipe."""
    starts, at = _starts(invocation.argv)
    search = _Search()
    _expression(None, invocation.argv, at, search)
    return [_found(join(invocation.cwd, each), search) for each in starts or [known(".")]]


def _starts(argv: tuple[Value, ...]) -> tuple[list[Value], int]:
    """The folders that are searched, and where the expression begins."""
    at = 1
    while at < len(argv) and argv[at].texts[0].text in _BEFORE:
        at += 1
    starts: list[Value] = []
    while at < len(argv) and not argv[at].texts[0].text.startswith(_OPENS):
        starts.append(argv[at])
        at += 1
    return starts, at


def _expression(  # noqa: C901, PLR0912 - one case a kind of word
    use: Use | None, argv: tuple[Value, ...], at: int, search: _Search
) -> None:
    """Takes the words from `at` on into the search; without `use` nothing is reported."""
    while at < len(argv):
        word = argv[at]
        text = word.texts[0].text
        at += 1
        if text in _RUNS:
            end = at
            while end < len(argv) and not _ends(argv, at, end):
                end += 1
            search.actions.append((text, list(argv[at:end])))
            at = end + 1
        elif text == "-delete":
            search.actions.append((text, []))
        elif text in _WRITES:
            _role(use, "write", argv[at] if at < len(argv) else known("-"))
            at += 2 if text == "-fprintf" else 1
        elif text in _READS:
            if at < len(argv):
                _role(use, "list", argv[at])
                if text == "-samefile":
                    _name(search, text, known(argv[at].texts[0].text.rpartition("/")[2]))
            at += 1
        elif text in _NAMES:
            _name(search, text, argv[at] if at < len(argv) else known("*"))
            at += 1
        elif text in _VALUES:
            value = argv[at].only if at < len(argv) else None
            search.plain_files = search.plain_files or (text == "-type" and value == "f")
            search.just_start = search.just_start or (text == "-maxdepth" and value == "0")
            at += 1
        elif text in {"-regex", "-iregex"}:
            _name(search, "-name", known(_glob_of(argv[at].only if at < len(argv) else None)))
            at += 1
        elif text == "-empty":
            search.empty = True
        elif text in {"-o", "-or", ","}:
            search.either = True
        elif text in {"!", "-not"}:
            search.negated = True
            continue
        elif HOLE in text and use is not None:
            use.unknown("a word that can't be told may be an action of find")
        search.negated = False


def _role(use: Use | None, kind: str, value: Value) -> None:
    if use is not None:
        play_as(use, kind, value)


def _ends(argv: tuple[Value, ...], start: int, at: int) -> bool:
    text = argv[at].texts[0].text
    return text == ";" or (text == "+" and at > start and argv[at - 1].texts[0].text == "{}")


def _glob_of(expression: str | None) -> str:
    """The end of a regular expression over paths, as a glob of names, if it is that simple."""
    last = (expression or ".*").rpartition("/")[2].replace(".*", "*").replace("\\.", "\0")
    plain = not any(each in last for each in "()|+?[]^$\\{.")
    return last.replace("\0", ".") if plain else "*"


def _name(search: _Search, test: str, value: Value) -> None:
    text = value.only
    if search.negated:
        return
    if text is None:
        search.broad = True
        return
    name = text.rstrip("/").rpartition("/")[2] if "path" in test or "whole" in test else text
    if name:
        search.only.append(name)


def _found(start: Value, search: _Search) -> Found:
    names = () if search.broad else tuple(dict.fromkeys(search.only))
    if search.empty and not names:
        names = ("?*",)  # any name: but what holds anything stays
    return Found(
        (Text(HOLE),),
        from_data=False,
        start=start,
        names=names,
        whole=not names and not search.plain_files,
    )


def _act(use: Use, kind: str, words: list[Value], found: Found) -> None:
    if kind == "-delete":
        use.emit(Act.DELETE, "is removed where the search finds it", found)
        return
    if words:
        use.start([_filled(each, found) for each in words])


def _filled(word: Value, found: Found) -> Value:
    if not any("{}" in each.text for each in word.texts):
        return word
    if word.only == "{}":
        return found
    texts = tuple(Text(each.text.replace("{}", HOLE)) for each in word.texts)
    return Value(texts, word.from_data)


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
    for start in starts:
        use.emit(Act.LIST, "is searched", start, recursive=True)
        found = Found((Text(HOLE),), start=start, names=only, whole=not only)
        if command:
            filled = [_filled(each, found) for each in command]
            if not any(each.only and "{" in each.only for each in command):
                filled.append(found)
            use.start(filled)
