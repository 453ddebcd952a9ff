"""What filters of jq make of constants, variables and a known input, as far as they are simple."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

_TOKEN: Final = re.compile(
    r"(?P<number>\d+)|(?P<path>\.[A-Za-z_]\w*)|(?P<name>[@$]?[A-Za-z_]\w*)"
    r"|(?P<sign>//|==|!=|[.|,+()\[\]{}:?-])|(?P<space>\s+)"
)
_MOST: Final = 256
_LONGEST: Final = 4_096
_DEEPEST: Final = 16
_VALUED: Final = {"--arg": 2, "--argjson": 2, "--slurpfile": 2, "--rawfile": 2, "--indent": 1,
                  "-f": 1, "--from-file": 1, "-L": 1}  # fmt: skip
_FALSE: Final = (None, False)


class _CantTell(Exception):
    """The filter isn't of the simple kind."""


def jq(words: Sequence[str], text: str | None) -> list[str]:
    """What `jq` prints, line by line; nothing if that can't be told."""
    names: dict[str, Any] = {}
    operands: list[str] = []
    bare = raw = False
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word in _VALUED:
            if word in {"--arg", "--argjson"} and at + 1 < len(words):
                names[f"${words[at]}"] = _parsed(words[at + 1], raw=word == "--arg")
            at += _VALUED[word]
        elif word in {"--args", "--jsonargs"}:
            names["$__positional"] = list(words[at + (0 if operands else 1) :])
            operands += words[at : at + 1] if not operands else []
            break
        elif word[:1] == "-" and len(word) > 1:
            bare = bare or word == "--null-input" or bool(re.fullmatch(r"-\w*n\w*", word))
            raw = raw or word == "--raw-input" or bool(re.fullmatch(r"-\w*R\w*", word))
        else:
            operands.append(word)
    if not operands or len(operands) > 1:
        return []
    try:
        start = [None] if bare else _inputs(text, raw=raw)
        found = [each for one in start for each in _Filter(operands[0], names, one).whole()]
    except (_CantTell, RecursionError, ArithmeticError, ValueError, TypeError, LookupError,
            AttributeError):  # fmt: skip
        return []
    return [_shown(each) for each in found[:_MOST]]


def _parsed(text: str, *, raw: bool) -> Any:
    if raw:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _inputs(text: str | None, *, raw: bool) -> list[Any]:
    if text is None:
        raise _CantTell
    if raw:
        return list(text.splitlines()[:_MOST])
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return [json.loads(each) for each in text.splitlines()[:_MOST] if each.strip()]


class _Filter:
    """One filter, read from left to right; each step makes a list of values."""

    def __init__(self, code: str, names: Mapping[str, Any], start: Any, depth: int = 0) -> None:
        if depth > _DEEPEST or len(code) > 4 * _MOST:
            raise _CantTell
        self.names = names
        self.start = start
        self.depth = depth
        self.at = 0
        self.tokens: list[tuple[str, str]] = []
        place = 0
        while place < len(code):
            if code[place] == '"':
                end = _end_of_text(code, place)
                self.tokens.append(("text", code[place:end]))
                place = end
                continue
            found = _TOKEN.match(code, place)
            if found is None:
                raise _CantTell
            if found.lastgroup != "space":
                self.tokens.append((str(found.lastgroup), found[0]))
            place = found.end()

    def whole(self) -> list[Any]:
        """The values of all of it."""
        found = self.pipe(self.start)
        if self.at < len(self.tokens):
            raise _CantTell
        return found

    def sign(self, *signs: str) -> bool:
        """Takes the next token if it is one of these."""
        if (
            self.at < len(self.tokens)
            and self.tokens[self.at][1] in signs
            and self.tokens[self.at][0] != "text"
        ):
            self.at += 1
            return True
        return False

    def pipe(self, value: Any) -> list[Any]:
        """`A | B`."""
        found = self.commas(value)
        while self.sign("|"):
            place = self.at
            made: list[Any] = []
            for each in found[:_MOST]:
                self.at = place
                made += self.commas(each)
            found = made
            if not found:
                raise _CantTell
        return found

    def commas(self, value: Any) -> list[Any]:
        """`A, B`."""
        found = self.sums(value)
        while self.sign(","):
            found = found + self.sums(value)
        return found

    def sums(self, value: Any) -> list[Any]:
        """`A + B`, `A // B`."""
        found = self.term(value)
        while True:
            if self.sign("+"):
                more = self.term(value)
                found = [_added(left, right) for left in found for right in more][:_MOST]
            elif self.sign("//"):
                more = self.term(value)
                found = [each for each in found if each not in _FALSE] or more
            else:
                return found

    def term(self, value: Any) -> list[Any]:
        """A constant, a path, a list, a function; with what is taken from it behind it."""
        if self.at >= len(self.tokens):
            raise _CantTell
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "text":
            found = self.text(text, value, None)
        elif kind == "number":
            found = [int(text)]
        elif kind == "path":
            found = [_part(value, text[1:])]
        elif text == ".":
            found = [value]
            if self.at < len(self.tokens) and self.tokens[self.at][0] == "text":
                found = [_part(value, json.loads(self.tokens[self.at][1]))]
                self.at += 1
        elif text == "(":
            found = self.pipe(value)
            self.expect(")")
        elif text == "[":
            found = [[] if self.peeks("]") else self.pipe(value)]
            self.expect("]")
        elif kind == "name":
            found = self.named(text, value)
        else:
            raise _CantTell
        return self.behind(found)

    def peeks(self, sign: str) -> bool:
        """Whether the next token is this one."""
        return self.at < len(self.tokens) and self.tokens[self.at][1] == sign

    def expect(self, sign: str) -> None:
        """Takes the next token, which must be this one."""
        if not self.sign(sign):
            raise _CantTell

    def behind(self, found: list[Any]) -> list[Any]:
        """`.name`, `[0]`, `[]`, `?` behind a term."""
        while self.at < len(self.tokens):
            kind, text = self.tokens[self.at]
            if kind == "path":
                self.at += 1
                found = [_part(each, text[1:]) for each in found]
            elif text == "?":
                self.at += 1
            elif text == "[" and kind == "sign":
                self.at += 1
                if self.sign("]"):
                    found = [one for each in found for one in _each(each)][:_MOST]
                else:
                    index = self.pipe(None)[0]
                    self.expect("]")
                    found = [each[index] for each in found]
            else:
                return found
        return found

    def named(self, name: str, value: Any) -> list[Any]:
        """A variable, a format, or a function that is known."""
        if name in self.names:
            return [self.names[name]]
        if name == "$ARGS":
            return [{"positional": self.names.get("$__positional", [])}]
        if name[0] == "@":
            if self.at < len(self.tokens) and self.tokens[self.at][0] == "text":
                self.at += 1
                return self.text(self.tokens[self.at - 1][1], value, _FORMATS.get(name, _shown))
            return [_FORMATS[name](value)]
        given: list[Any] = []
        if self.sign("("):
            given = self.pipe(value)
            self.expect(")")
        if name == "map":
            raise _CantTell
        return [_FUNCTIONS[name](value, *given[:1])]

    def text(self, source: str, value: Any, shown: "Callable[[Any], str] | None") -> list[Any]:
        r"""A text with what `\(…)` puts into it."""
        pieces: list[str] = []
        place = 1
        while place < len(source) - 1:
            if source.startswith("\\(", place):
                end, deep = place + 2, 1
                while end < len(source) and deep:
                    deep += (source[end] == "(") - (source[end] == ")")
                    end += 1
                inner = source[place + 2 : end - 1]
                made = _Filter(inner, self.names, value, self.depth + 1).whole()
                pieces.append((shown or _shown)(made[0]))
                place = end
            else:
                step = 2 if source[place] == "\\" else 1
                if source.startswith("\\u", place):
                    step = 6
                pieces.append(json.loads(f'"{source[place : place + step]}"'))
                place += step
        text = "".join(pieces)
        if len(text) > _LONGEST:
            raise _CantTell
        return [text]


def _end_of_text(code: str, at: int) -> int:
    r"""Where a text ends that may hold `\(…)` with texts of their own."""
    at += 1
    while at < len(code) and code[at] != '"':
        if code.startswith("\\(", at):
            at, deep = at + 2, 1
            while at < len(code) and deep:
                if code[at] == '"':
                    at = _end_of_text(code, at)
                    continue
                deep += (code[at] == "(") - (code[at] == ")")
                at += 1
        else:
            at += 2 if code[at] == "\\" else 1
    return at + 1


def _added(left: Any, right: Any) -> Any:
    if left is None:
        return right
    if right is None:
        return left
    made = left + right
    if isinstance(made, (str, list)) and len(made) > _LONGEST:
        raise _CantTell
    return made


def _part(value: Any, name: str) -> Any:
    if value is None or not isinstance(value, dict):
        return None
    return value.get(name)


def _each(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list):
        return value
    raise _CantTell


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _decoded(value: Any) -> str:
    try:
        return base64.b64decode(str(value) + "==").decode("utf-8", "replace")
    except (ValueError, binascii.Error) as error:
        raise _CantTell from error


def _quoted(value: Any) -> str:
    given = value if isinstance(value, list) else [value]
    return " ".join(_as_word(each) for each in given)


def _as_word(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    escaped = value.replace("'", "'\\''")
    return f"'{escaped}'"


_FORMATS: Final[Mapping[str, Callable[[Any], str]]] = {
    "@base64d": _decoded,
    "@base64": lambda value: base64.b64encode(_shown(value).encode()).decode(),
    "@text": _shown,
    "@json": json.dumps,
    "@sh": _quoted,
    "@tsv": lambda value: "\t".join(map(_shown, value)),
    "@csv": lambda value: ",".join(map(json.dumps, value)),
}
_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "join": lambda value, mark: mark.join(_shown(each) for each in value),
    "add": lambda value: (
        "".join(value) if all(isinstance(each, str) for each in value) else sum(value)
    ),
    "reverse": lambda value: value[::-1],
    "ascii_downcase": lambda value: value.lower(),
    "ascii_upcase": lambda value: value.upper(),
    "tostring": _shown,
    "tojson": json.dumps,
    "fromjson": json.loads,
    "explode": lambda value: [ord(each) for each in value],
    "implode": lambda value: "".join(map(chr, value)),
    "first": lambda value: value[0],
    "last": lambda value: value[-1],
    "ltrimstr": lambda value, start: value.removeprefix(start),
    "rtrimstr": lambda value, end: value.removesuffix(end),
    "split": lambda value, mark: value.split(mark),
    "keys": sorted,
    "values": lambda value: value,
    "empty": lambda _: "",
    "null": lambda _: None,
    "true": lambda _: True,
    "false": lambda _: False,
    "input": lambda value: value,
}
