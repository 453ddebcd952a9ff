"""Code of Perl, Ruby, JavaScript, PHP, Lua and the like → its tokens, with what texts hold."""

import re
from collections.abc import Callable
from typing import Final

from supervisor.policy.bash.table import Language
from supervisor.policy.bash.value import HOLE
from supervisor.policy.record import record

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
    |(?P<comment>\#(?![{])[^\n]*|//[^\n]*|--[^\n]*|/\*.*?\*/)
    |(?P<raw>'(?:[^'\\]|\\.)*')
    |(?P<text>"(?:[^"\\]|\\.)*")
    |(?P<tick>`(?:[^`\\]|\\.)*`)
    |(?P<long>\[\[[^\]]{0,500}\]\])
    |(?P<quoted>(?:%[qQwWx]|\bq[qxw]?)\s*(?:\{[^}]*\}|\([^)]*\)|\[[^\]]*\]|/[^/]*/|\|[^|]*\||![^!]*!))
    |(?P<name>(?:[$@%&]+\^?)?[A-Za-z_]\w*(?:(?:\.|::|->|\\)[A-Za-z_]\w*)*[!?]?)
    |(?P<number>\d[\w.]*)
    |(?P<odd>\$[^\sA-Za-z`])
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_REGEX: Final = re.compile(r"/(?:[^/\\\n]|\\.)+/[a-z]*")
_QUOTE_LIKE: Final = re.compile(
    r"(?:s|tr|y)(?P<mark>[/|#!,])(?:(?!(?P=mark))[^\\]|\\.)*(?P=mark)"
    r"(?P<put>(?:(?!(?P=mark))[^\\]|\\.)*)(?P=mark)(?P<flags>[a-z]*)"
    r"|(?:m|qr)(?P<other>[/|#!,])(?:(?!(?P=other))[^\\]|\\.)*(?P=other)[a-z]*",
    re.DOTALL,
)
"""Perl's and Ruby's `s/FIND/PUT/flags`, `tr/a/b/`, `m/FIND/`."""
_BEFORE_REGEX: Final = frozenset(
    {"if", "unless", "and", "or", "not", "split", "grep", "return", "when", "while", "until"}
)
_HOLDS: Final = re.compile(
    r"\{\$(?P<braced>\w+)\}|\$\{?(?P<name>\w+)\}?|#\{\s*(?P<inner>\w+)\s*\}|#\{[^}]*\}|@\w+"
)
_ESCAPE: Final = re.compile(
    r"\\(?:x\{?([0-9a-fA-F]{2})\}?|u\{?([0-9a-fA-F]{2,4})\}?|([0-7]{2,3})|(.))", re.DOTALL
)
_DECIMAL: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]{2,4})\}|(\d{1,3})|(.))", re.DOTALL
)
"""Escapes of most languages, and Lua's: by hexadecimal and octal or decimal numbers, by letters."""
_RAW_ESCAPES: Final = frozenset({"javascript", "lua"})
"""Languages in which single quotes take escapes as double ones do."""
_HOME: Final = re.compile(
    r"\$ENV\{['\"]?HOME['\"]?\}|#\{ENV\[['\"]HOME['\"]\]\}|\$\{process\.env\.HOME\}"
)
_LITERAL: Final = re.compile(r"[$#]\{\s*([\"'])([^\"'{}]*)\1\s*\}")
"""JavaScript's `${"text"}`, Ruby's `#{"text"}`."""
_PUT_IN: Final = re.compile(r"#\{\s*\"([^\"\\{}\n]*)\"\s*\}")
"""A text with the same quotes, put into another: no part of Ruby's texts may hold it."""
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b"}
_FILLS: Final = frozenset("$#@\\")
_MOST_TOKENS: Final = 8_000
_MOST_RENEWALS: Final = 512
_STARTS_PATTERN: Final = "/stymq"
_BETWEEN: Final = frozenset({"space", "comment"})
_VALUELESS: Final = frozenset({"name", "sign", "odd"})
_HOMEDIR: Final = "homedir"
_TURN: Final = "rev"
_REFERS: Final = re.compile(r"[$#@]")


@record
class Token:
    """One token; `value` is what it holds as a text, with holes for what isn't known."""

    kind: str
    text: str
    value: str | None = None


class Tokens:
    """The tokens of a piece of code, in one of the table's languages."""

    def __init__(
        self, language: Language, code: str, home: str, inner: Callable[[str], None]
    ) -> None:
        """Parts `code`; `inner` is told of code that stands in a regular expression (`s///e`)."""
        self.language = language
        self.home = home
        self.inner = inner
        self.names: dict[str, str] = {}
        self.all: list[Token] = []
        self.says_home, self.says_turn = _HOMEDIR in code, _TURN in code
        """Whether a name may ask for the home folder, or turn a text round: most code has none."""
        self.whole = True
        """Whether all of the code was parted."""
        self._referring: list[int] | None = None
        self._renewals = _MOST_RENEWALS
        self._scan(_PUT_IN.sub(r"\1", code) if '#{"' in code else code)

    def _scan(self, code: str) -> None:
        """The tokens; a text's value is what it holds, with holes for what is put into it."""
        at, size, every = 0, len(code), self.all
        while at < size and len(every) < _MOST_TOKENS:
            found = self._pattern(code, at) if code[at] in _STARTS_PATTERN else None
            if found is not None:
                every.append(Token("raw", "''", ""))
                at = found.end()
                continue
            found = _TOKEN.match(code, at)
            if found is None:
                break
            kind, text = str(found.lastgroup), found[0]
            if kind in _VALUELESS:
                every.append(Token(kind, text))
                at += len(text)
                continue
            if kind == "long":
                kind, text = ("raw", text) if self.language.long_texts else ("sign", text[0])
            if kind == "comment" and not text.startswith((*self.language.comment, "/*")):
                text, kind = text[0], "sign"
            at += len(text)
            if kind in _VALUELESS:
                every.append(Token(kind, text))
            elif kind not in _BETWEEN:
                every.append(Token(kind, text, self._value(kind, text)))
        self.whole = at >= size

    def _pattern(self, code: str, at: int) -> "re.Match[str] | None":
        """A regular expression that starts here; what it puts in may be code (`s///e`)."""
        last = self.all[-1] if self.all else None
        if code[at] == "/":
            operand = last is not None and (
                last.text in {")", "]", "}"}
                or (last.kind != "sign" and last.text not in _BEFORE_REGEX)
            )
            return None if operand else _REGEX.match(code, at)
        if self.language.bare_calls and not code[at - 1 : at].isalnum():
            found = _QUOTE_LIKE.match(code, at)
            if found is not None and "e" in (found["flags"] or ""):
                self.inner(found["put"])
            return found
        return None

    def _value(self, kind: str, text: str) -> str | None:
        """What a token holds as a text."""
        if kind == "raw" and text[0] == "[":
            return text[2:-2]
        if kind == "raw" and self.language.name in _RAW_ESCAPES and "\\" in text:
            return self._unescaped(text[1:-1])
        if kind == "raw":
            return text[1:-1].replace("\\'", "'").replace("\\\\", "\\")
        if kind in {"text", "tick"}:
            return self._filled(text[1:-1])
        if kind == "quoted":
            body = text[
                text.find(
                    text[-1] if text[-1] in "/|!" else {"}": "{", ")": "(", "]": "["}[text[-1]]
                )
                + 1 : -1
            ]
            return body if text[:2] in {"q(", "q{", "%q", "%w"} else self._filled(body)
        return text if kind == "number" else None

    def _filled(self, text: str) -> str:
        """A text with its escapes decoded and what it refers to put in, as far as it is known."""
        if _FILLS.isdisjoint(text):
            return text
        text = _LITERAL.sub(r"\2", text)
        text = _HOME.sub(lambda _: self.home, text)
        text = self._unescaped(text)
        if self.language.name in {"perl", "php", "ruby", "tcl", "javascript"}:
            text = _HOLDS.sub(self._held, text)
        return text

    def _unescaped(self, text: str) -> str:
        """A text with its escapes decoded."""
        lua = self.language.name == "lua"

        def sign(found: "re.Match[str]") -> str:
            hexadecimal = found[1] or found[2]
            if hexadecimal:
                return chr(int(hexadecimal, 16))
            if found[3]:
                number = int(found[3], 10 if lua else 8)
                return chr(number) if number else "\0"
            return _ESCAPES.get(found[4], found[4])

        return (_DECIMAL if lua else _ESCAPE).sub(sign, text)

    def _held(self, found: "re.Match[str]") -> str:
        """What a variable in a text holds."""
        whole = found[0]
        if self.language.name == "javascript" and not whole.startswith("${"):
            return whole
        if self.language.name == "ruby" and not whole.startswith("#"):
            return whole
        name = found["braced"] or found["name"] or found["inner"] or ""
        value = self.names.get(name, HOLE)
        return f"{{{value}}}" if found["braced"] and self.language.name != "php" else value

    def learn(self, name: str, text: str, at: int) -> None:
        """From token `at` on, a variable of this name holds the text."""
        self.names[name] = text
        if self._referring is None:
            kinds = {"text", "tick", "quoted"}
            self._referring = [
                place
                for place, each in enumerate(self.all)
                if each.kind in kinds and _REFERS.search(each.text)
            ]
        for place in self._referring:
            each = self.all[place]
            if place >= at and name in each.text and self._renewals:
                self._renewals -= 1
                self.all[place] = Token(each.kind, each.text, self._value(each.kind, each.text))

    def put(self, start: int, end: int, *made: Token) -> None:
        """Puts these in the place of the tokens from `start` to `end`."""
        self.all[start:end] = made
        for each in made:
            self.says_home = self.says_home or _HOMEDIR in each.text
            self.says_turn = self.says_turn or _TURN in each.text

    def text(self, at: int) -> str:
        """The text of a token, empty where there is none."""
        return self.all[at].text if 0 <= at < len(self.all) else ""
