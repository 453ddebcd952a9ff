"""A command's words → its options with their values, its operands, and the tags that both set."""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from supervisor.policy.bash.places import Found
from supervisor.policy.bash.table import Command, Option
from supervisor.policy.bash.value import HOLE, Text, Value, known

_HELP = ("--help", "--version")
_LEFT_OUT = ("exclude", "ignore", "skip", "omit", "without", "pattern")
"""Parts of the names of options whose values say what isn't read."""
_READS: Final = re.compile(
    r"file|config|input|attach|upload|load|cert|key|cred|secret|source|template|import|data"
    r"|values|vars|body|env\b|from"
)
"""Names of options whose value is likely to be a file that is read."""
_PUTS: Final = re.compile(r"out|dest|prefix|root|install|save|export|write|into")
"""Names of options whose value is likely to be a place that is written."""
_REPORTS: Final = re.compile(
    r"out|junit|logfile|basetemp|keylog|result-json$|(?:diagnostics|report|trace|history|reporter-options?)$"
    r"|(?:artifact|base|build|cach|cov|data|diag|dist|dump|hist|local|log|meta|prof|record|report|result"
    r"|snapshot|state|store|target|temp|tmp|trace|work)[\w.-]*"
    r"(?:destination|dir|directory|file|folder|location|name|path)$",
    re.IGNORECASE,
)
"""Names of options whose value may be where a report, a cache or a log is put."""
_REPORTS_BEHIND_EQUALS: Final = re.compile(
    rf"{_PUTS.pattern}|{_REPORTS.pattern}|archive|cache|coverage|csv|dependency|diag|dir|dump|emit|graph|html|json|log|map|meta"
    r"|pdf|prof|record|repo|report|result|screenshot|snapshot|stor|tab$|temp|tmp|trace|warnings|xml",
    re.IGNORECASE,
)
"""The same where the value is sure to be one: a word behind a switch isn't taken for a place."""
_PUT_ROLES: Final = frozenset({"write", "into", "fill"})
_IN_PATHS: Final = frozenset("./~@")


@dataclass(slots=True)
class Parsed:
    """The words of one command, sorted.

    `before` counts the operands in front of `--`, None without it; `loose` says that a word of
    unknown beginning may turn out to be an option; `doubts` are values of options that aren't
    known, `puts` those of them that by their name are written, `reports` those that may be.
    """

    values: list[tuple[Option, Value]]
    operands: list[Value]
    tags: set[str]
    before: int | None
    loose: bool
    doubts: list[Value]
    puts: list[Value]
    reports: list[Value]

    @classmethod
    def nothing(cls) -> "Parsed":
        """No words, for a command whose own aren't sorted yet, or don't matter."""
        return cls([], [], set(), None, False, [], [], [])


def cut(word: Value, count: int) -> Value:
    """The word without its first `count` characters (which no glob character is among)."""
    texts = []
    for each in word.texts:
        pattern = each.pattern
        if pattern is not None:
            left, at = count, 0
            while left and at < len(pattern):
                at += 2 if pattern[at] == "\\" else 1
                left -= 1
            pattern = pattern[at:]
        texts.append(Text(each.text[count:], pattern, each.many))
    return Value(tuple(texts), word.from_data)


def parse(  # noqa: C901 - one case a kind of word; split, it would be slower
    command: Command, argv: Sequence[Value], at: int, style: str | None = None
) -> Parsed:
    """The words from index `at` on, sorted as the command would."""
    style = style or command.style
    options, size = command.options, len(argv)
    operands: list[Value] = []
    parsed = Parsed([], operands, set(command.tags), None, False, [], [], [])
    if style == "keys":
        _keys(command, argv, at, parsed)
        return parsed
    if style == "bundle" and at < size and argv[at].texts[0].text[:1] not in {"-", HOLE, ""}:
        at = _old_bundle(command, argv, at, parsed)
    if at >= size:
        parsed.tags.add("bare")
    while at < size:
        word = argv[at]
        text = word.texts[0].text
        at += 1
        first = text[:1]
        if first != "-" or text == "-":
            if first == "+" and "+" in options:
                _take(options["+"], cut(word, 1), parsed)
                continue
            if HOLE in text and (text[0] == HOLE or word.texts[0].many):
                parsed.loose = parsed.loose or not isinstance(word, Found)
            operands.append(word)
            if style == "stop":
                operands.extend(argv[at:])
                break
        elif text == "--":
            parsed.before = len(operands)
            operands.extend(argv[at:])
            break
        elif text in _HELP and not operands:
            parsed.tags.add("help")
        else:
            at = _option(command, argv, at, parsed, style)
    if not operands:
        parsed.tags.add("alone")
    return parsed


def _take(option: Option, value: Value | None, parsed: Parsed) -> None:
    parsed.tags.update(option.tags)
    if value is not None and option.role is not None:
        parsed.values.append((option, value))


def _parted(command: Command, text: str) -> tuple[str, str]:
    """An option's name, and the sign before its value: nim and its kin have `--eval:CODE`."""
    name, sign, _ = text.partition("=")
    if (
        ":" in name
        and (text[:2] == "--" or command.style == "single")
        and name not in command.options
        and text.partition(":")[0] in command.options
    ):
        name, sign, _ = text.partition(":")
    return name, sign


def _option(command: Command, argv: Sequence[Value], at: int, parsed: Parsed, style: str) -> int:
    """Takes the option at `at - 1`; returns the index of the next word."""
    word = argv[at - 1]
    text = word.texts[0].text
    if HOLE in text:
        parsed.loose = parsed.loose or text.find(HOLE) <= 1
    option = command.options.get(text)
    name, equals = _parted(command, text) if option is None else ("", "")
    if option is None and (text[:2] == "--" or style == "single"):
        option = command.options.get(name)
        if option is None and text[:2] == "--":
            option = command.options.get(name[1:]) if style == "single" else _short(command, name)
        if option is not None and equals:
            _take(option, cut(word, len(name) + 1), parsed)
            return at
        if option is None:
            if style == "single" and not equals:
                _glued(command.options, word, parsed)
            _guess(name, cut(word, len(name) + 1) if equals else None, argv, at, parsed)
            return at
    if option is not None:
        if option.role is None or option.optional:
            parsed.tags.update(option.tags)
            return at
        return _next(option, argv, at, parsed)
    if text[:2] not in command.options:
        _short_untold(word, name if equals else "", parsed)
    return _bundle(command, argv, at, parsed)


def _short_untold(word: Value, name: str, parsed: Parsed) -> None:
    """`-sNAME=VALUE`, `-xVALUE`: an option that isn't known, with a value that may be a path."""
    if name:
        value = cut(word, len(name) + 1)
        parsed.doubts.append(value)
        if _REPORTS_BEHIND_EQUALS.search(name):
            parsed.reports.append(value)
    elif not _IN_PATHS.isdisjoint(word.texts[0].text[2:]):
        parsed.doubts.append(cut(word, 2))


def _guess(name: str, value: Value | None, argv: Sequence[Value], at: int, parsed: Parsed) -> None:
    """An option that isn't known: its value stands behind `=`, or is perhaps the next word."""
    if any(each in name for each in _LEFT_OUT):
        return
    reports = _REPORTS if value is None else _REPORTS_BEHIND_EQUALS
    if value is not None:
        parsed.doubts.append(value)
    elif at < len(argv) and argv[at].texts[0].text[:1] not in {"-", ""}:
        value = argv[at]
        if _READS.search(name):
            parsed.doubts.append(value)
    if value is not None and " " not in value.texts[0].text:
        if name[:2] == "--" and _PUTS.search(name):
            parsed.puts.append(value)
        if reports.search(name):
            parsed.reports.append(value)


def _glued(options: Mapping[str, Option], word: Value, parsed: Parsed) -> None:
    """`-oFILE`, `-Wl,-Map,FILE`, `-Xlog:gc:FILE`: a place in the same word as the option."""
    text = word.texts[0].text
    if "," in text or ":" in text:
        parsed.reports.append(cut(word, 2))
        return
    for name, option in options.items():
        role = option.role
        if role is not None and role.kind in _PUT_ROLES and text.startswith(name):
            value = cut(word, len(name))
            if not _IN_PATHS.isdisjoint(value.texts[0].text):
                parsed.reports.append(value)


_FLAG: Final = Option()
_PLAIN: Final = frozenset({"text", "read", "doubt"})
"""Roles of values that are none of the danger of an option, but may hide what stands there."""


def _short(command: Command, name: str) -> Option | None:
    """The long option that the name abbreviates, if it can only mean one.

    Whole words of a longer name (`--batch` of `--batch-size`) are rather an option of their own:
    one that isn't listed, as it takes no value. What follows must not be taken for one then.
    """
    found: Option | None = None
    whole = True
    # They are in order: those that begin with the name stand together.
    for long in command.longs[bisect_left(command.longs, name) :]:
        if not long.startswith(name):
            break
        option = command.options[long]
        if found is not None and found != option:
            return None
        found = option
        whole = whole and long[len(name) : len(name) + 1] == "-"
    if whole and found is not None and found.role is not None and found.role.kind in _PLAIN:
        return _FLAG
    return found


def _next(option: Option, argv: Sequence[Value], at: int, parsed: Parsed) -> int:
    if at < len(argv):
        _take(option, argv[at], parsed)
        if option.second is not None and at + 1 < len(argv):
            parsed.values.append((Option(option.second), argv[at + 1]))
            return at + 2
        return at + 1
    lacking = option.role is not None and option.role.kind == "bind"
    _take(option, known("") if lacking else None, parsed)
    return at


def _bundle(command: Command, argv: Sequence[Value], at: int, parsed: Parsed) -> int:
    word = argv[at - 1]
    text = word.texts[0].text
    place = 0
    while (place := place + 1) < len(text):
        option = command.options.get(f"-{text[place]}")
        if option is None:
            continue
        role = option.role
        if role is None:
            parsed.tags.update(option.tags)
            continue
        if role.kind == "number" and option.optional:
            parsed.tags.update(option.tags)
            while place + 1 < len(text) and text[place + 1] in "0123456789":
                place += 1
            continue
        if place + 1 < len(text):
            skip = place + 1
            if text[skip] == "=" and command.style in {"single", "equals"}:
                skip += 1
            _take(option, cut(word, skip), parsed)
            return at
        if option.optional:
            _take(option, None, parsed)
            return at
        return _next(option, argv, at, parsed)
    return at


def _old_bundle(command: Command, argv: Sequence[Value], at: int, parsed: Parsed) -> int:
    """`tar czf FILE`: letters without a dash, whose values follow in their order."""
    letters = argv[at].texts[0].text
    at += 1
    for letter in letters:
        option = command.options.get(f"-{letter}")
        if option is None:
            continue
        if option.role is None or option.optional:
            parsed.tags.update(option.tags)
        else:
            at = _next(option, argv, at, parsed)
    return at


def _keys(command: Command, argv: Sequence[Value], at: int, parsed: Parsed) -> None:
    """`dd if=FILE`: each word is a name and a value."""
    for word in argv[at:]:
        text = word.texts[0].text
        name, equals, _ = text.partition("=")
        option = command.options.get(name)
        if text in _HELP:
            parsed.tags.add("help")
        elif option is not None and equals:
            _take(option, cut(word, len(name) + 1), parsed)
        else:
            parsed.loose = parsed.loose or HOLE in name
            parsed.operands.append(word)
