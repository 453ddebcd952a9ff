"""What code of Perl, Ruby, JavaScript, PHP and Lua may print, as far as its constants tell."""

from collections.abc import Iterator, Mapping
from typing import Final

from supervisor.policy.bash.code_tokens import Token, Tokens
from supervisor.policy.bash.code_values import Values
from supervisor.policy.bash.given import Given
from supervisor.policy.bash.given_code import with_given
from supervisor.policy.bash.shell.printf import formatted
from supervisor.policy.bash.table import Language
from supervisor.policy.bash.value import HOLE

_PRINTS: Final[Mapping[str, str]] = {
    "print": "", "say": "", "puts": "\n", "p": "\n", "echo": "", "console.log": " ",
    "console.info": " ", "console.error": " ", "process.stdout.write": "", "io.write": "",
    "STDOUT.write": "", "$stdout.write": "", "$stdout.puts": "\n", "STDOUT.puts": "\n",
    "STDOUT.print": "", "$stdout.print": "", "print_r": "", "fwrite": "", "io.stdout:write": "",
    "writeln": "", "cat": " ", "println": "",
}  # fmt: skip
"""What prints, with what it puts between its arguments."""
_WITH_LINES: Final = frozenset({"say", "puts", "p", "console.log", "console.info", "println"})
_FORMATS: Final = frozenset({"printf"})
_QUIET: Final = frozenset({"STDERR", "STDOUT", "STDERR,", "{"})
_MOST_ASSIGNED: Final = 64


def _language(name: str, *comment: str, bare: bool = False, quote: bool = False) -> Language:
    nothing: Mapping[str, str] = {}
    return Language(
        name, {}, frozenset(), nothing, frozenset(), quote, bare, name == "lua", comment
    )


LANGUAGES: Final[Mapping[str, Language]] = {
    "perl": _language("perl", "#", bare=True, quote=True),
    "ruby": _language("ruby", "#", bare=True, quote=True),
    "javascript": _language("javascript", "//"),
    "php": _language("php", "#", "//", quote=True),
    "lua": _language("lua", "--", bare=True),
    "r": _language("r", "#"),
    "julia": _language("julia", "#", quote=True),
}


def code(  # noqa: PLR0913 - what the code gets, and how it is run
    language: str, text: str, given: Given, home: str, *, shown: bool, lines: bool
) -> Iterator[str]:
    """All that is printed, one after the other; then the texts in the code that may be printed.

    `shown` says that the value of the code itself is printed (`node -p`), `lines` that it is run
    for each line of its input (`perl -n`).
    """
    form = LANGUAGES.get(language)
    if form is None:
        return
    text = with_given(language, text, given, lines=lines)
    tokens = Tokens(form, text, home, lambda _inner: None)
    values = Values(tokens)
    made: list[str] = []
    left = _MOST_ASSIGNED
    for at, each in enumerate(list(tokens.all)):
        if each.kind != "name":
            continue
        if tokens.text(at + 1) == "=" and tokens.text(at + 2) not in {"=", ">", "~"} and left:
            left -= 1
            _assign(tokens, values, each.text, at + 2)
        mark = _PRINTS.get(each.text)
        if mark is not None:
            end = "\n" if each.text in _WITH_LINES else ""
            made.append(mark.join(_texts(tokens, values, at)) + end)
        elif each.text in _FORMATS:
            made.append(formatted(_texts(tokens, values, at)) or HOLE)
    if shown:
        value = values.folded(tokens.all)
        made.append(value if isinstance(value, str) else HOLE)
    whole = "".join(made)
    if whole.strip(HOLE + "\n "):
        yield whole
    if HOLE in whole or not whole:
        yield from _literals(tokens.all)


def _assign(tokens: Tokens, values: Values, name: str, at: int) -> None:
    bare = name.lstrip("$@%&")
    expression = values.until(at)
    whole = values.listed(expression)
    if whole is not None:
        values.lists[bare] = whole
    value = values.folded(expression)
    if isinstance(value, str):
        tokens.learn(bare, value, at)


def _texts(tokens: Tokens, values: Values, at: int) -> list[str]:
    """The arguments of a call that prints; a list is each of its texts."""
    start = at
    while tokens.text(start + 1) in _QUIET:
        start += 2 if tokens.text(start + 1) == "{" else 1
    found: list[str] = []
    for group in values.groups(start + 1):
        if not group:
            continue
        listed = values.listed(group)
        value = listed if listed is not None else values.folded(group)
        whole = value if isinstance(value, list) else [value]
        found += [str(each) if isinstance(each, (str, int)) else HOLE for each in whole]
    return found


def _literals(tokens: list[Token]) -> Iterator[str]:
    for each in tokens:
        if each.value and each.kind not in {"number", "tick"}:
            yield each.value
