"""What a YAML parser finds wrong, in words of people who write policy files: what was expected."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import yaml

_IN_QUOTES: Final = "put it in quotes"
_INDENT: Final = "indent it by as many blanks as the lines that it belongs to"


@dataclass(frozen=True, slots=True)
class YamlFault:
    """What was expected, and where: line and column count from 1."""

    expected: str
    line: int = 1
    column: int = 1
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class _Words:
    """For one kind of problem. `at_start`: where what isn't finished begins, not where it ends."""

    expected: str
    remedy: str | None = None
    at_start: bool = False


def _unfinished(found: re.Match[str]) -> _Words:
    kind = "list" if found[1] == "]" else "mapping"
    is_over = found[2] in {"<stream end>", ":"}
    there = "" if is_over else f", but there is `{found[2]}`"
    return _Words(
        f"a `,` or the `{found[1]}` of the {kind}{' that begins here' if is_over else there}",
        f"close it with `{found[1]}`, or put texts with signs in them in quotes",
        at_start=is_over,
    )


def _begins_with(found: re.Match[str]) -> _Words:
    if found[1] == r"\t":
        return _Words("blanks, but there is a tab: YAML is indented by blanks alone", "use blanks")
    return _Words(f"a value; one that begins with `{found[1]}` must be in quotes", _IN_QUOTES)


def _left_over(found: re.Match[str]) -> _Words:
    if found[1] == "<scalar>":
        return _Words(
            "the end of the value, but a text follows it",
            "put all of the value in one pair of quotes",
        )
    if found[1] == "-":
        return _Words("a `key:` as on the lines before, but a list's `-` follows", _INDENT)
    return _Words("the same indentation as on the lines before", _INDENT)


_PROBLEMS: Final[Mapping[str, Callable[[re.Match[str]], _Words]]] = {
    r"found character '(.+)' that cannot start any token": _begins_with,
    r"mapping values are not allowed here": lambda _: _Words(
        "one `key: value` on a line, but another `: ` follows, or the line is indented too far",
        "put a text that has `: ` in it in quotes; else mend the indentation",
    ),
    r"could not find expected ':'": lambda _: _Words(
        "`key: value`, but there is no `:` after the key", "add the `:`", at_start=True
    ),
    r"expected <block end>, but found '(.+)'": _left_over,
    r"expected '<document start>', but found .+": lambda _: _Words(
        "the same indentation as on the lines before", _INDENT
    ),
    r"found unexpected end of stream": lambda _: _Words(
        "the closing quote of the text that begins here", "close it", at_start=True
    ),
    r"found unknown escape character '(.+)'": lambda found: _Words(
        rf"a known escape; in double quotes `\{found[1]}` is none",
        "use single quotes, in which a backslash is nothing but that",
    ),
    r"expected ',' or '(.)', but got '(.+)'": _unfinished,
    r"expected alphabetic or numeric character, but found .+": lambda _: _Words(
        "a value; one that begins with `*`, `&` or `!` must be in quotes",
        _IN_QUOTES,
        at_start=True,
    ),
    r"found undefined alias '(.+)'": lambda found: _Words(
        f"a value; `*{found[1]}` without quotes refers to an anchor, and there is none", _IN_QUOTES
    ),
    r"second occurrence": lambda _: _Words("another name; an anchor of this one came before"),
    r"but found another document": lambda _: _Words(
        "one document; a second begins here", "leave out the `---`"
    ),
    r"expected the node content, but found '(.+)'": lambda found: _Words(
        f"a value, but there is `{found[1]}`"
    ),
}


def reworded(error: yaml.YAMLError, text: str) -> YamlFault:
    """What was expected where the parser stopped in this text."""
    if isinstance(error, yaml.reader.ReaderError):
        before = text[: error.position]
        return YamlFault(
            f"text, but there is the character U+{ord(text[error.position]):04X}",
            before.count("\n") + 1,
            len(before) - before.rfind("\n"),
            "remove it, or write it as an escape in double quotes",
        )
    if not isinstance(error, yaml.MarkedYAMLError):
        return YamlFault("YAML")
    words = _words(error.problem or "")
    begin, end = error.context_mark, error.problem_mark
    mark = (begin or end) if words.at_start else (end or begin)
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
    return YamlFault(words.expected, line, column, words.remedy)


def _words(problem: str) -> _Words:
    for pattern, words in _PROBLEMS.items():
        found = re.fullmatch(pattern, problem, re.DOTALL)
        if found is not None:
            return words(found)
    return _Words(f"YAML: {problem}")
