"""What the program in front of `xargs` may print, where only its words tell: names of files."""

import re
from collections.abc import Sequence
from typing import Final

from supervisor.policy.bash.find import found_by
from supervisor.policy.bash.invocation import Invocation
from supervisor.policy.bash.options import parse
from supervisor.policy.bash.places import Found, join
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import HOLE, Text, Value, known

_ITEM: Final = Value((Text(HOLE, many=True),), from_data=True)
_FILTERS: Final = frozenset({"grep", "egrep", "fgrep", "rg"})
_PASSES: Final = frozenset({"sort", "uniq", "head", "tail", "cat", "shuf", "tac", "tee"})
_REPEATS: Final = frozenset({"which", "type", "realpath", "readlink", "whereis", "greadlink"})
_GIT_NAMES: Final = frozenset({"ls-files", "ls-tree", "rev-parse", "rev-list", "diff"})
_EXCLUDES: Final = (":!", ":^", ":(exclude")
_LITERAL: Final = re.compile(r"(\^)?((?:[\w /@:=,%~-]|\\\.)+)(\$)?")


def fed_items(use: Use) -> list[Value]:
    """The items that a command gets through a pipe: files of a search, or names that fit."""
    return items_of(use, use.look.feeders(use.invocation))


def filled(use: Use) -> tuple[Value, ...] | None:
    """The words of a command with what its one `$(…)` may print, if that can be told."""
    argv = use.argv
    holes = [
        at
        for at, each in enumerate(argv)
        if each.from_data and each.texts[0].text == HOLE and each.texts[0].many
    ]
    if len(holes) != 1 or not holes[0]:
        return None
    part = use.invocation.part
    inner = use.look.within(part)
    if not inner:
        return None
    items = items_of(use, inner)
    if items == [_ITEM]:
        return None
    if others := argv[holes[0]].texts[1:]:
        items.append(Value(others, from_data=True))
    return (*argv[: holes[0]], *items, *argv[holes[0] + 1 :])


def perhaps_read(use: Use) -> tuple[Value, ...] | None:
    """The words of a command where a variable may be what `read` got through a pipe."""
    argv = use.argv
    if use.command.harmless:
        return None
    at = next(
        (
            at
            for at, each in enumerate(argv)
            if at and each.from_data and each.texts[0].text == HOLE
        ),
        None,
    )
    reader = use.look.reading() if at is not None else None
    if at is None or reader is None or isinstance(argv[at], Found):
        return None
    items = items_of(use, use.look.feeders(reader))
    told = [each for each in items if isinstance(each, Found) or each.known]
    return (*argv[:at], *told, *argv[at + 1 :]) if told else None


def items_of(use: Use, before: Sequence[Invocation]) -> list[Value]:
    """What the last of some commands that feed each other may print, item by item."""
    narrowed: str | None = None
    for each in reversed(before):
        name = each.argv[0].texts[0].text.rpartition("/")[2] if each.argv else ""
        if name in _FILTERS and not _lists_files(use, each):
            narrowed = narrowed or _pattern(use, each, name)
        elif name not in _PASSES:
            if name == "ls":
                return _entries(use, each, narrowed)
            told = _told(use, each, name)
            if told:
                return told
            found = _search(use, each, name)
            return _narrow(found, narrowed) if found else _named(narrowed)
    return _named(narrowed)


def program_of(use: Use) -> str | None:
    """The program that a first word like `$(which rm)` names, if that can be told."""
    inner = use.look.within(use.invocation.part)
    if not inner:
        return None
    words = _told(use, inner[-1], inner[-1].argv[0].texts[0].text)
    return words[-1].only if words else None


def _told(use: Use, each: Invocation, name: str) -> list[Value]:
    """What a program prints that repeats its operands: `which rm`, `git ls-files NAME`."""
    texts = [word.only for word in each.argv]
    if name in _REPEATS or (name == "command" and texts[1:2] == ["-v"]):
        command = use.look.table.find(name)
        words = [word for word in each.argv[1:] if (word.only or "-")[:1] != "-"]
        return words if command is not None else []
    if name == "git" and len(texts) > 1:
        at = next((at for at, text in enumerate(texts) if text in _GIT_NAMES), None)
        if at is not None:
            words = [word for word in each.argv[at + 1 :] if (word.only or "-")[:1] != "-"]
            return [word for word in words if not (word.only or "").startswith(_EXCLUDES)]
    return []


def _named(pattern: str | None) -> list[Value]:
    """A name that is told by a filter; `*` stands for what the filter leaves open."""
    if pattern is None:
        return [_ITEM]
    if "*" in pattern:
        return [Value((Text(HOLE, pattern),), from_data=True)]
    return [known(pattern.replace("\\", ""))]


def _narrow(found: Sequence[Value], pattern: str | None) -> list[Value]:
    if pattern is None:
        return list(found)
    name = pattern.rpartition("/")[2].replace("\\", "")
    return [
        Found(each.texts, each.from_data, each.start, each.names or (name,), each.whole)
        if isinstance(each, Found)
        else each
        for each in found
    ]


def _entries(use: Use, each: Invocation, pattern: str | None) -> list[Value]:
    """What `ls` prints: names of entries, or the words themselves (`ls -d *`)."""
    command = use.look.table.find("ls")
    words = [] if command is None else parse(command, each.argv, 1).operands
    others = [word for word in words if word.only != "."]
    if others and pattern is None:
        return [_ITEM, *others]
    return [*_named(pattern or "*"), *others]


def _search(use: Use, each: Invocation, name: str) -> Sequence[Value]:
    """The files that a search prints."""
    if name in {"find", "gfind"}:
        return found_by(each)
    command = use.look.table.find(name)
    if command is None or name not in {"fd", "fdfind", *_FILTERS}:
        return []
    parsed = parse(command, each.argv, 1)
    tagged = "recursive" in parsed.tags or name in {"fd", "fdfind", "rg"}
    if not tagged:
        return []
    names = tuple(
        value.only
        for option, value in parsed.values
        if option.role is not None
        and option.role.kind == "only"
        and value.only
        and not value.only.startswith("!")
    )
    return [
        Found((Text(HOLE),), from_data=False, start=join(each.cwd, start), names=names)
        for start in parsed.operands[1:] or [known(".")]
    ]


def _lists_files(use: Use, each: Invocation) -> bool:
    """Whether it prints names of files (`grep -l`), not lines of its input."""
    command = use.look.table.find(each.argv[0].texts[0].text)
    if command is None:
        return False
    parsed = parse(command, each.argv, 1)
    return each.stdin is None or len(parsed.operands) > 1 or "recursive" in parsed.tags


def _pattern(use: Use, each: Invocation, name: str) -> str | None:
    """What its lines hold, as a glob, if its expression is made of plain letters."""
    command = use.look.table.find(name)
    if command is None:
        return None
    parsed = parse(command, each.argv, 1)
    texts = [word.texts[0].text for word in each.argv[1:]]
    if any(re.fullmatch(r"-\w*[vcqLo]\w*|--invert-match|--count", text) for text in texts):
        return None
    words = parsed.operands[:1] or [value for _, value in parsed.values][:1]
    text = words[0].only if words else None
    if text is None:
        return None
    if name == "fgrep" or any(re.fullmatch(r"-\w*F\w*", each) for each in texts):
        text = text.replace(".", "\\.")
    found = _LITERAL.fullmatch(text)
    if found is None:
        return None
    return f"{'' if found[1] else '*'}{found[2]}{'' if found[3] else '*'}"
