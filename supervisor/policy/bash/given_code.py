"""Code of Perl, Ruby, JavaScript, PHP and the like with its arguments and input put into it."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Final

from supervisor.policy.bash.given import Given
from supervisor.policy.bash.value import HOLE

_PLAIN: Final = re.compile(r"[^'\\\0]*")
_LONGEST: Final = 8_000
_MOST_PUT: Final = 64
_MOST_LISTS: Final = 8
_NAME: Final = r"['\"]?(?P<name>[A-Za-z_]\w*)['\"]?"
_VARIABLES: Final[Mapping[str, "re.Pattern[str]"]] = {
    "perl": re.compile(rf"\$ENV\{{\s*{_NAME}\s*\}}"),
    "ruby": re.compile(rf"ENV(?:\[|\.fetch\(?\s*){_NAME}[^\])\s]*[\])]?"),
    "javascript": re.compile(
        rf"(?:process\.env(?:\.|\[)|Deno\.env\.get\(|Bun\.env(?:\.|\[)){_NAME}[\])]?"
    ),
    "php": re.compile(rf"(?:getenv\(|\$_(?:ENV|SERVER)\[){_NAME}[\])]"),
    "lua": re.compile(rf"os\.getenv\s*\(?\s*{_NAME}\s*\)?"),
    "r": re.compile(rf"Sys\.getenv\({_NAME}\)"),
    "julia": re.compile(rf"ENV\[{_NAME}\]"),
    "awk": re.compile(r'ENVIRON\["(?P<name>\w+)"\]'),
}
_FIRST: Final[Mapping[str, tuple[str, int]]] = {
    # What an argument is called, and the number that the first of them has.
    "perl": (r"[$@]\{?ARGV\[(\d+)\]\}?", 0),
    "ruby": (r"(?:ARGV|\$\*)\[(\d+)\]", 0),
    "javascript": (r"(?:process|Bun)\.argv\[(\d+)\]", 1),
    "php": (r"\$(?:argv|_SERVER\[['\"]argv['\"]\])\[(\d+)\]", 1),
    "lua": (r"\barg\[(\d+)\]", 1),
    "r": (r"commandArgs\([^)]*\)\[+(\d+)\]+", 1),
    "julia": (r"ARGS\[(\d+)\]", 1),
    "awk": (r"ARGV\[(\d+)\](?!\s*=[^=])", 1),
}
_DENO: Final = re.compile(r"Deno\.args\[(\d+)\]")
_ONE: Final[Mapping[str, str]] = {
    # What takes the next argument.
    "perl": r"\bshift\b(?:\s*\(\s*@ARGV\s*\)|\s*@ARGV|\s*\(\s*\))?(?!\s*[(@$\w])"
    r"|\bpop\b(?:\s*\(\s*@ARGV\s*\)|\s*@ARGV)",
    "ruby": r"ARGV\.(?:shift|pop|first|last|fetch\(\s*\d\s*\))(?:\(\))?",
    "javascript": r"(?:process|Bun)\.argv\.(?:at\(-\d\)|(?:pop|shift)\b(?:\(\))?)"
    r"|Deno\.args\.(?:at\(\d\)|pop\(\))",
    "php": r"array_(?:shift|pop)\(\$argv\)|end\(\$argv\)",
    "lua": r"\(\.\.\.\)|\.\.\.(?=\s*[,)])",
    "julia": r"(?:popfirst!|first|last|only)\(ARGS\)",
}
_ALL: Final[Mapping[str, str]] = {
    # What all arguments are called.
    "perl": r"@ARGV(?!\s*\[)",
    "ruby": r"\*?\bARGV\b(?![.\[]\s*(?:shift|pop|first|last|fetch|\d))|\$\*(?!\[)",
    "javascript": r"process\.argv\.slice\(\s*[12]\s*\)|Deno\.args(?![\[.])",
    "php": r"array_slice\(\$argv,\s*1\)",
    "julia": r"\bARGS\b(?!\[)",
}
_INPUT: Final[Mapping[str, str]] = {
    # What reads the input, or a line of it.
    "perl": r"<(?:STDIN|ARGV)?>(?!>)|\bdo\s*\{\s*local\s*\$/;?\s*<\w*>\s*\}",
    "ruby": r"(?:\$stdin|STDIN|\$<|ARGF)\.(?:read|gets|readline|each_line|readlines|each)(?:\(\))?"
    r"|(?<![\w.])gets\b",
    "javascript": r"(?:require\(['\"](?:node:)?fs['\"]\)|fs)"
    r"\.readFileSync\(\s*(?:0|['\"]/dev/stdin['\"])(?:\s*,[^)]*)?\)",
    "php": r"file_get_contents\(['\"]php://stdin['\"]\)"
    r"|fgets\(STDIN\)|stream_get_contents\(STDIN\)|readline\(\)",
    "lua": r"io\.read\([^)]*\)|io\.stdin:read\([^)]*\)",
    "r": r"readLines\(\s*(?:file\()?['\"]stdin['\"]\)?\)",
    "julia": r"read(?:line|lines)?\(stdin(?:,\s*String)?\)|readline\(\)",
}
_LINE: Final[Mapping[str, str]] = {
    # What stands for a line of the input where the code is run for each.
    "perl": r"\$_(?!\w|\[|\{)|\$F\[\d\]",
    "ruby": r"\$_(?!\w)|\$F\[\d\]",
}


def with_given(language: str, code: str, given: Given, *, lines: bool = False) -> str:
    """The code with texts where it takes arguments, variables or input that are known.

    `lines` says that it is run for each line of its input (`perl -n`).
    """
    if len(code) > _LONGEST:
        return code
    quote = json.dumps if language == "awk" else quoted
    if given.variables and language in _VARIABLES and ("ENV" in code or "env" in code):
        code = _put(
            _VARIABLES[language], code, lambda found: given.variables.get(found["name"]), quote
        )
    if given.words:
        code = _with_words(language, code, given, quote)
    if given.text is not None:
        text = given.text.rstrip("\n")
        if language in _INPUT:
            code = _put(re.compile(_INPUT[language]), code, lambda _found: text, quote)
        if lines and language in _LINE:
            first = text.partition("\n")[0]
            code = _put(re.compile(_LINE[language]), code, lambda _found: first, quote)
    return code


def _with_words(language: str, code: str, given: Given, quote: Callable[[str], str]) -> str:
    words = given.words
    if language in _FIRST:
        pattern, start = _FIRST[language]

        def numbered(found: "re.Match[str]", start: int = start) -> str | None:
            at = int(found[1][:3]) - start
            # A script's own name takes a place in some programs and none in others.
            at = len(words) - 1 if at == len(words) and language == "javascript" else at
            return words[at] if 0 <= at < len(words) else None

        code = _put(re.compile(pattern), code, numbered, quote)
        if language == "javascript":
            code = _put(_DENO, code, lambda found: numbered(found, 0), quote)
    if language in _ONE:
        left = iter(words)
        code = _put(re.compile(_ONE[language]), code, lambda _found: next(left, None), quote)
    if language in _ALL:
        listed = ", ".join(quoted(each) for each in words)
        opens, closes = ("(", ")") if language == "perl" else ("[", "]")
        code = re.sub(
            _ALL[language], lambda _found: f"{opens}{listed}{closes}", code, count=_MOST_LISTS
        )
    return code


def _put(
    pattern: "re.Pattern[str]",
    code: str,
    text: "Callable[[re.Match[str]], str | None]",
    quote: Callable[[str], str],
) -> str:
    def one(found: "re.Match[str]") -> str:
        told = text(found)
        if told is None:
            return found[0]
        if _is_within_text(code, found.start()) and not _QUOTES.intersection(told):
            return told
        return quote(told)

    return pattern.sub(one, code, count=_MOST_PUT)


_QUOTES: Final = frozenset("\"'`\\$@#\0")
_PIECES: Final = re.compile(r"\\.|'(?:[^'\\]|\\.)*'|[\"`]", re.DOTALL)


def _is_within_text(code: str, place: int) -> bool:
    """Whether a place lies between quotes in which variables count."""
    within = ""
    for found in _PIECES.finditer(code, 0, place):
        sign = found[0]
        if sign in {'"', "`"} and within in {"", sign}:
            within = "" if within else sign
    return bool(within)


def quoted(text: str) -> str:
    """A text as a literal that all these languages read alike."""
    text = text.replace(HOLE, "")
    return f"'{text}'" if _PLAIN.fullmatch(text) else json.dumps(text)
