"""Code of Perl, Ruby, JavaScript, PHP, Lua and the like → effects, by its strings and calls."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.literals import doubtful, literals
from supervisor.policy.bash.roles_of_code import call_roles, secret_name
from supervisor.policy.bash.table import Language
from supervisor.policy.bash.use import Use
from supervisor.policy.bash.value import HOLE, known

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
    |(?P<comment>\#(?![{])[^\n]*|//[^\n]*|--[^\n]*|/\*.*?\*/)
    |(?P<raw>'(?:[^'\\]|\\.)*')
    |(?P<text>"(?:[^"\\]|\\.)*")
    |(?P<tick>`(?:[^`\\]|\\.)*`)
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
_HOLDS: Final = re.compile(r"\$\{?(\w+)\}?|#\{[^}]*\}|@\w+")
_HOME: Final = re.compile(
    r"\$ENV\{['\"]?HOME['\"]?\}|#\{ENV\[['\"]HOME['\"]\]\}|\$\{process\.env\.HOME\}"
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b"}
_RUN_DOCUMENT: Final = re.compile(r"<<~?\s*`(\w+)`[^\n]*\n(.*?)\n\s*\1\b", re.DOTALL)
_LINE_COMMENTS: Final = {"#": "#", "//": "/", "--": "-"}
_MOST_TOKENS: Final = 8_000
_TAKEN_APART: Final = re.compile(r"\{([^{}]*)\}\s*=\s*(?:await\s+)?(?:require|import)\b")
_RENAMED: Final = re.compile(r"(\w+)\s*:\s*(\w+)")
"""JavaScript's `const {spawn: s} = require(…)`."""
_LOADS: Final = frozenset({"require", "import"})
_OF_TEXTS: Final = frozenset(
    """startsWith endsWith start_with end_with add has get set equals append push add_to sub gsub
    contains isEqual""".split()  # noqa: SIM905
)
"""Methods that take a text as a text, never as a file."""
_JOINS: Final = frozenset("+.,")


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    value: str | None = None


def other_code(use: Use, name: str, code: str) -> None:
    """What code of one of the table's languages does."""
    language = use.look.table.languages.get(name)
    if language is None:
        use.unknown("runs code that can't be read here")
        literals(use, code)
        return
    _Reading(use, language, code).all()


class _Reading:
    def __init__(self, use: Use, language: Language, code: str) -> None:
        self.use = use
        self.language = language
        self.names: dict[str, str] = {}
        self.assigned: set[str] = set()
        self.odd = False
        self.code = code
        self.tokens: list[_Token] = []
        self.aliases = {
            alias: name
            for found in _TAKEN_APART.finditer(code)
            for name, alias in _RENAMED.findall(found[1])
        }
        self.scan(code)

    def scan(self, code: str) -> None:
        """The tokens; a text's value is what it holds, with holes for what is put into it."""
        at = 0
        while at < len(code) and len(self.tokens) < _MOST_TOKENS:
            found = self.pattern(code, at)
            if found is not None:
                self.tokens.append(_Token("raw", "''", ""))
                at = found.end()
                continue
            found = _TOKEN.match(code, at)
            if found is None:
                break
            kind, text = str(found.lastgroup), found[0]
            if kind == "comment" and not text.startswith((*self.language.comment, "/*")):
                text, kind = text[0], "sign"
            at += len(text)
            if kind not in {"space", "comment"}:
                self.tokens.append(_Token(kind, text, self.value(kind, text)))
        if at < len(code):
            self.doubt()

    def pattern(self, code: str, at: int) -> "re.Match[str] | None":
        """A regular expression that starts here; what it puts in may be code (`s///e`)."""
        last = self.tokens[-1] if self.tokens else None
        if code[at] == "/":
            operand = last is not None and (
                last.text in {")", "]", "}"}
                or (last.kind != "sign" and last.text not in _BEFORE_REGEX)
            )
            return None if operand else _REGEX.match(code, at)
        if code[at] in "stymq" and self.language.bare_calls and not code[at - 1 : at].isalnum():
            found = _QUOTE_LIKE.match(code, at)
            if found is not None and "e" in (found["flags"] or ""):
                other_code(self.use, self.language.name, found["put"])
            return found
        return None

    def value(self, kind: str, text: str) -> str | None:
        """What a token holds as a text."""
        if kind == "raw":
            return text[1:-1].replace("\\'", "'").replace("\\\\", "\\")
        if kind in {"text", "tick"}:
            return self.filled(text[1:-1])
        if kind == "quoted":
            body = text[
                text.find(
                    text[-1] if text[-1] in "/|!" else {"}": "{", ")": "(", "]": "["}[text[-1]]
                )
                + 1 : -1
            ]
            return body if text[:2] in {"q(", "q{", "%q", "%w"} else self.filled(body)
        return text if kind == "number" else None

    def filled(self, text: str) -> str:
        """A text with its escapes decoded and what it refers to put in, as far as it is known."""
        text = _HOME.sub(lambda _: self.use.look.home, text)
        text = re.sub(
            r"\\(x[0-9a-fA-F]{2}|.)",
            lambda m: chr(int(m[1][1:], 16)) if len(m[1]) > 1 else _ESCAPES.get(m[1], m[1]),
            text,
            flags=re.DOTALL,
        )
        if self.language.name in {"perl", "php", "ruby", "tcl", "javascript"}:
            text = _HOLDS.sub(self.held, text)
        return text

    def held(self, found: "re.Match[str]") -> str:
        """What a variable in a text holds."""
        whole = found[0]
        if self.language.name == "javascript" and not whole.startswith("${"):
            return whole
        if self.language.name == "ruby" and not whole.startswith("#"):
            return whole
        return self.names.get(found[1] or "", HOLE)

    def doubt(self) -> None:
        """Says once that the code can't be read whole."""
        if not self.odd:
            self.odd = True
            self.use.unknown("runs code that can't be read whole")

    def all(self) -> None:
        """Every token: calls, assignments, names that aren't known."""
        tokens = self.tokens
        if not tokens:
            return
        if self.language.name == "perl":
            self.perl()
        loops = any(each.text in {"loop", "while", "for", "until"} for each in tokens)
        for at, token in enumerate(tokens):
            if token.kind == "tick" or (token.kind == "quoted" and token.text[:2] in {"%x", "qx"}):
                if self.language.quote_runs or token.kind == "quoted" or self.before(at) == "$":
                    call_roles(self.use, ("shell",), None, [token.value], {})
            elif token.kind == "name":
                self.name(at, token.text, loops)
        if self.odd:
            found = (each.value for each in tokens if each.kind not in {"number", "name"})
            doubtful(self.use, (each for each in found if each), self.code)

    def perl(self) -> None:
        """What only Perl has: here-documents that run, and files for `<>`."""
        for found in _RUN_DOCUMENT.finditer(self.code):
            self.use.script(known(found[2]))
        for at, token in enumerate(self.tokens):
            if token.text in {"@ARGV", "*ARGV"} and self.ahead(at + 1) == "=":
                end = at
                while end < len(self.tokens) and self.tokens[end].text != ";":
                    end += 1
                for each in self.tokens[at:end]:
                    if each.value:
                        self.use.emit(Act.READ, "is read by code", known(each.value))

    def name(self, at: int, name: str, loops: bool) -> None:  # noqa: C901, PLR0912 - a case a kind
        """A name: a call that is known, an assignment, or something to doubt."""
        bare = name.lstrip("$@%&")
        bare = self.aliases.get(bare, bare)
        after = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        if after is not None and after.text == "=" and self.ahead(at + 2) != "=":
            self.assigned.add(bare)
            value = self.folded(self.until(at + 2))
            if isinstance(value, str):
                self.names[bare] = value
        reason = self.language.words.get(name) or self.language.words.get(bare)
        if reason:
            self.word(at, reason)
            return
        last = re.split(r"\.|::|->|\\", bare)[-1]
        roles = self.language.calls.get(bare)
        if roles is None and (last != bare or self.before(at) in {".", ")", ":"}):
            roles = self.language.calls.get(f".{last}") or self.language.calls.get(last)
        called = after is not None and after.text == "("
        if roles is not None and not called and not self.language.bare_calls:
            return
        if roles is None:
            first = re.split(r"\.|::|->|\\", bare)[0]
            known_name = (
                name[0] in "$@%"
                or bare in self.language.plain
                or first in self.language.plain
                or last in self.language.plain
                or first in self.assigned
                or self.before(at) in {"function", "def", "sub", "local", "my", "->", ".", "|", "?"}
            )
            if called and (last not in self.language.plain or last in _LOADS):
                texts = (each for each in self.arguments(at + 1)[0] if type(each) is str)
                if last not in _OF_TEXTS:
                    doubtful(self.use, texts, "")
            if not known_name and (called or self.language.name == "perl"):
                self.doubt()
            return
        if roles[0] == "fork":
            if loops:
                self.use.emit(Act.EXHAUST, "starts itself without end")
            roles = roles[1:]
            if not roles:
                return
        values, named = self.arguments(at + 1)
        if roles[0] == "connect" and any(
            each.text in {"exec", "system", "fdopen", "spawn", "dup2", "proc_open", "popen"}
            or each.text.endswith((".exec", ".execute", ".spawn", "->fdopen"))
            for each in self.tokens
        ):
            self.use.emit(Act.REMOTE_SHELL, "hands a shell to the network")
        if roles[0] == "handle":
            values, roles = self.handle(values), ("open",)
        call_roles(self.use, roles, None, values, named)

    def handle(self, values: Sequence[object]) -> list[object]:
        """Perl's `open F, "<", NAME`: the handle is no name, the mode comes first."""
        rest = list(values[1:])
        if len(rest) > 1 and isinstance(rest[0], str):
            mode = rest[0].strip().partition(":")[0].strip()
            if mode in {"-|", "|-"}:
                return [f"|{rest[1] if isinstance(rest[1], str) else HOLE}"]
            return [rest[1], {"<": "r", ">": "w", ">>": "a"}.get(mode, "r+")]
        return rest

    def word(self, at: int, reason: str) -> None:
        """A name that reveals the environment, unless it asks for one variable of no interest."""
        if reason != "environment":
            self.use.unknown(reason)
            return
        following = list(self.tokens[at + 1 : at + 4])
        for each in following[:2]:
            if each.value is not None and each.kind in {"raw", "text"}:
                if secret_name(each.value):
                    break
                return
        if (
            following
            and following[0].text in {"{", "["}
            and len(following) > 1
            and (following[1].kind == "name" and not secret_name(following[1].text))
        ):
            return
        name = self.tokens[at].text
        if name.startswith("process.env.") and not secret_name(name.rpartition(".")[2]):
            return
        self.use.emit(Act.REVEAL, "prints the environment, which may hold secrets")

    def ahead(self, at: int) -> str:
        """The text of a token."""
        return self.tokens[at].text if at < len(self.tokens) else ""

    def before(self, at: int) -> str:
        """The text of the token before."""
        return self.tokens[at - 1].text if at else ""

    def until(self, at: int) -> list[_Token]:
        """The tokens up to the end of an expression."""
        end = at
        while end < len(self.tokens) and self.tokens[end].text not in {";", ")", "}", "]"}:
            end += 1
        return self.tokens[at:end]

    def arguments(self, at: int) -> tuple[list[object], dict[str, object]]:
        """The arguments behind a call's name, each folded if it is a constant."""
        paren = self.ahead(at) == "("
        at += paren
        groups: list[list[_Token]] = [[]]
        depth = 0
        while at < len(self.tokens):
            text = self.tokens[at].text
            if text in {"(", "[", "{"}:
                depth += 1
            elif text in {")", "]", "}"}:
                if depth == 0:
                    break
                depth -= 1
            elif depth == 0 and (
                text == ";" or (not paren and text in {"if", "unless", "and", "or"})
            ):
                break
            if text == "," and depth == 0:
                groups.append([])
            else:
                groups[-1].append(self.tokens[at])
            at += 1
        named: dict[str, object] = {
            name.text: value.value
            for group in groups
            for name, colon, value in zip(group, group[1:], group[2:], strict=False)
            if colon.text == ":" and value.value is not None
        }
        return [self.folded(each) for each in groups if each], named

    def list_inside(self, tokens: Sequence[_Token]) -> object:
        """The list that an object holds (`{args: ["-rf", "/"]}`)."""
        depth = 0
        found: list[object] = []
        for each in tokens:
            depth += (each.text == "[") - (each.text == "]")
            if depth and each.value is not None:
                found.append(each.value)
        return found or None

    def folded(self, tokens: Sequence[_Token]) -> object:  # noqa: C901 - a case a kind
        """A text with holes, a list of such, or None."""
        if not tokens:
            return None
        home = next((at for at, each in enumerate(tokens) if each.text.endswith("homedir")), None)
        if home is not None:
            return self.use.look.home + "".join(each.value or "" for each in tokens[home + 1 :])
        if tokens[0].text == "{":
            return self.list_inside(tokens)
        if tokens[0].text == "[" and tokens[-1].text in {"]", "}"}:
            return [each.value for each in tokens if each.value is not None]
        pieces = []
        for each in tokens:
            if each.value is not None:
                pieces.append(each.value)
            elif each.kind == "name" and each.text.lstrip("$@%&") in self.names:
                pieces.append(self.names[each.text.lstrip("$@%&")])
            elif each.text not in _JOINS:
                pieces.append(HOLE)
        if tokens[-1].kind == "number" and tokens[-1].text.isdigit():
            sign = [each.text for each in tokens[:-1]]
            if sign in ([], ["-"]):
                return int(tokens[-1].text) * (-1 if sign else 1)
        text = "".join(pieces)
        return text if text.strip(HOLE) else None


__all__ = ["known", "other_code"]
