"""Code of Perl, Ruby, JavaScript, PHP, Lua and the like → effects, by its texts and calls."""

import re
from collections.abc import Sequence
from typing import Final

from supervisor.policy.bash.code_flow import (
    LOADS,
    OF_TEXTS,
    PARTS,
    Unsure,
    any_named,
    function_meant,
    is_quiet,
    last_part,
    name_modules,
    renamed,
    roles_of,
)
from supervisor.policy.bash.code_loops import STARTS, goes_on, spins
from supervisor.policy.bash.code_network import hands_shell
from supervisor.policy.bash.code_tokens import Token, Tokens
from supervisor.policy.bash.code_values import Values
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.literals import doubtful, literals
from supervisor.policy.bash.perl_code import opened, perl
from supervisor.policy.bash.roles_of_code import call_roles, secret_name
from supervisor.policy.bash.table import Language
from supervisor.policy.bash.use import IN_DOUBT, Use
from supervisor.policy.bash.value import HOLE, known

_INDIRECT: Final = frozenset(
    """send public_send __send__ call_user_func call_user_func_array array_map array_walk method
    pcall lapply sapply vapply map Map do.call forward_static_call invoke usort""".split()  # noqa: SIM905
)
"""Calls of a function that an argument names."""
_EVALUATES: Final = re.compile(
    r"(?:^|\W)(?:eval|Function|runIn\w*Context|Script|Worker|instance_eval|class_eval|assert|load"
    r"|loadstring|create_function|evaluate|compile\w*)$"
)
"""Calls of code in a text."""
_GROWS: Final = frozenset({"push", "append", "concat"})
_LONGEST_NAME: Final = 24
"""Tokens between brackets that may make the name of a function."""
_MOST_ASSIGNED: Final = 512
"""Assignments that are looked at; beyond, the code can't be read whole."""
_DEEPEST: Final = 3
_MOST_CODES: Final = 8
"""Codes within codes."""
_LOAD_REASON: Final = "loads code"


def other_code(use: Use, name: str, code: str, depth: int = 0) -> None:
    """What code of one of the table's languages does; `depth` counts the codes around it."""
    language = use.look.table.languages.get(name)
    if language is None:
        use.unknown("runs code that can't be read here")
        literals(use, code)
        return
    _Reading(use, language, code, depth).all()


_APPENDS: Final = frozenset({("+", "="), (".", "="), ("<", "<")})
"""Signs behind a name by which its text gets more behind it."""
_LONGEST_APPENDED: Final = 4_096


class _Reading:
    def __init__(self, use: Use, language: Language, code: str, depth: int) -> None:
        self.use = use
        self.language = language
        self.code = code
        self.depth = depth
        self.left = _MOST_ASSIGNED
        self.codes = _MOST_CODES
        self.assigned: set[str] = set()
        self.odd = False
        self.unsure = Unsure()
        self.spins = False
        """Whether it starts what it starts again and again, and waits for none of it."""
        self.aliases = renamed(code)
        self.text = Tokens(
            language,
            code,
            use.look.home,
            lambda inner: other_code(use, language.name, inner, depth + 1),
        )
        self.tokens = self.text.all
        self.values = Values(self.text)
        if not self.text.whole:
            self.doubt()

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
        name_modules(self.language, self.text)
        self.assignments()
        self.subscripts()
        if self.language.name == "perl":
            perl(self.use, self.code, self.text)
        loops = any(each.text in {"loop", "while", "for", "until", "redo"} for each in tokens)
        self.spins = loops and spins([each.text for each in tokens])
        for at, token in enumerate(tokens):
            if token.kind == "tick" or (token.kind == "quoted" and token.text[:2] in {"%x", "qx"}):
                if (
                    self.language.quote_runs
                    or token.kind == "quoted"
                    or self.text.text(at - 1) == "$"
                ):
                    self.unsure.note(("shell",), [token.value])
                    call_roles(self.use, ("shell",), None, [token.value], {})
            elif token.kind == "name":
                self.name(at, token.text, loops)
        self.unsure.tell(self.use, self.text)
        if self.values.left <= 0:
            self.doubt()
        if self.odd:
            found = [
                each.value
                for at, each in enumerate(tokens)
                if each.value and not is_quiet(self.text, at)
            ]
            doubtful(self.use, found, self.code)

    def assign(self, at: int, name: str) -> None:
        """A name gets a value: a text, a list, a known function, or what can't be told."""
        self.left -= 1
        if self.left < 0:
            self.doubt()
            return
        meant = function_meant(self.language, self.text, at)
        if meant is not None:
            self.aliases[name] = meant
            return
        expression = self.values.until(at)
        whole = self.values.listed(expression)
        if whole is not None:
            self.values.lists[name] = whole
        end = next(
            (place for place, each in enumerate(expression) if each.text in {",", ")"}),
            len(expression),
        )
        value = self.values.folded(expression if whole is None else expression[:end])
        if isinstance(value, str):
            self.text.learn(name, value, at)

    def assigned_at(self, at: int, name: str, sign: str) -> None:
        """The name at this place, if what stands behind it gives it a value."""
        behind = self.text.text(at + 2)
        if sign == "=" and behind not in {"=", ">", "~"}:
            self.assigned.add(name)
            self.assign(at + 2, name)
        elif (sign, behind) in _APPENDS:
            self.append(at, name)

    def append(self, at: int, name: str) -> None:
        """`c += "x"`, `$c .= "x"`, `c << "x"`: a text that is known gets longer."""
        held = self.text.names.get(name)
        more = self.values.folded(self.values.until(at + 3)) if held is not None else None
        if held is not None and self.left > 0 and len(held) < _LONGEST_APPENDED:
            self.left -= 1
            self.text.learn(name, held + (more if isinstance(more, str) else HOLE), at)

    def grows(self, at: int, name: str, last: str) -> None:
        """`list.push("x")`, `list << "x"`."""
        if last in _GROWS:
            self.values.grow(at + 1, name)
        elif self.text.text(at + 2) == "<":
            self.values.grow(at + 3, f"{name}.push")

    def indirect(self, at: int, name: str, last: str) -> bool:
        """A function that is called by a text that names it; whether that is so."""
        given = self.text.names.get(name)
        roles = any_named(self.language, given) if given else None
        if roles is not None and self.text.text(at + 1) == "(":
            self.call(roles, self.values.arguments(at + 1)[0])
            return True
        if last in _INDIRECT and self.text.text(at + 1) == "(":
            values, _ = self.values.arguments(at + 1)
            first = values[0].strip(HOLE) if values and isinstance(values[0], str) else ""
            roles = any_named(self.language, first) if first else None
            if roles is not None:
                rest = values[1:]
                self.call(roles, rest[0] if rest and isinstance(rest[0], list) else rest)
                return True
        return False

    def call(self, roles: Sequence[str], values: object) -> None:
        """A call whose function is known by another name."""
        given = values if isinstance(values, list) else [values]
        self.unsure.note(roles, given)
        if roles[0] == "handle":
            given, roles = opened(given), ("open",)
        call_roles(self.use, roles, None, given, {})

    def evaluated(self, at: int, name: str) -> None:
        """Code in a text that is run: `eval("…")`, `new Function("…")`."""
        if self.depth >= _DEEPEST or not _EVALUATES.search(name):
            return
        for each in self.values.arguments(at + 1)[0]:
            if not isinstance(each, str) or HOLE in each or not self.codes:
                continue
            if "(" in each or (self.language.bare_calls and " " in each.strip()):
                self.codes -= 1
                other_code(self.use, self.language.name, each, self.depth + 1)

    def assignments(self) -> None:
        """Texts that names get, before anything else is looked at (`m = "readFileSync"`)."""
        for at, sign in enumerate(self.tokens[1:-1]):  # `at` is the place of what's before it
            if sign.text != "=" or self.tokens[at].kind != "name":
                continue
            value = self.tokens[at + 2].value
            if value is not None and self.text.text(at + 3) in {";", ")", ",", ""}:
                self.text.names.setdefault(self.tokens[at].text.lstrip("$@%&"), value)

    def subscripts(self) -> None:
        """`fs["read" + "FileSync"](…)`: a method by a text becomes a method by its name."""
        if "[" not in self.code:
            return
        at = 1
        while at < len(self.tokens):
            if self.tokens[at].text == "[" and (
                self.tokens[at - 1].kind == "name" or self.tokens[at - 1].text in {")", "]"}
            ):
                end = at + 1
                most = min(len(self.tokens), at + _LONGEST_NAME)
                while end < most and self.tokens[end].text not in {"]", "[", ";"}:
                    end += 1
                name = self.values.folded(self.tokens[at + 1 : end])
                if self.text.text(end) == "]" and isinstance(name, str):
                    known_one = roles_of(self.language, name, method=True) or any_named(
                        self.language, name
                    )
                    if known_one is not None and HOLE not in name:
                        before = self.tokens[at - 1]
                        full = f"{before.text}.{name}" if before.kind == "name" else name
                        start = at - 1 if before.kind == "name" else at
                        dot = [] if before.kind == "name" else [Token("sign", ".")]
                        self.text.put(start, end + 1, *dot, Token("name", full))
            at += 1

    def name(self, at: int, name: str, loops: bool) -> None:  # noqa: C901, PLR0912 - a case a kind
        """A name: a call that is known, an assignment, or something to doubt."""
        bare = name.lstrip("$@%&")
        bare = self.aliases.get(bare, bare)
        if "." in bare:
            first, _, rest = bare.partition(".")
            bare = f"{self.aliases[first]}.{rest}" if first in self.aliases else bare
        after = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        if after is not None:
            self.assigned_at(at, bare, after.text)
        last = last_part(bare)
        if self.values.lists and (last in _GROWS or self.text.text(at + 1) == "<"):
            self.grows(at, bare, last)
        if self.indirect(at, bare, last):
            return
        reason = self.language.words.get(name) or self.language.words.get(bare)
        if reason:
            self.word(at, reason)
            self.evaluated(at, bare)
            return
        method = self.text.text(at - 1) in {".", ")", ":", "&"}
        roles = roles_of(self.language, bare, method=method)
        called = after is not None and after.text == "("
        if roles is not None and not called and not self.language.bare_calls:
            if self.text.text(at + 1) not in {":", "}", ",", "="}:
                self.unsure.note(roles, None)
            return
        if called:
            self.evaluated(at, bare)
        if roles is None:
            first = PARTS.split(bare)[0]
            known_name = (
                name[0] in "$@%"
                or bare in self.language.plain
                or first in self.language.plain
                or last in self.language.plain
                or first in self.assigned
                or self.text.text(at - 1)
                in {"function", "def", "sub", "local", "my", "->", ".", "|", "?"}
            )
            if called and (last not in self.language.plain or last in LOADS):
                texts = (each for each in self.values.arguments(at + 1)[0] if type(each) is str)
                if last not in OF_TEXTS:
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
        values, named = self.values.arguments(at + 1)
        if self.spins and (
            last in STARTS or bare in STARTS or any(type(e) is str and goes_on(e) for e in values)
        ):
            self.use.emit(Act.EXHAUST, "starts programs without end")
        if roles[0] == "connect" and hands_shell(self.language, self.text, self.values):
            self.use.emit(Act.REMOTE_SHELL, "hands a shell to the network")
        if roles[0] == "handle":
            values, roles = opened(values), ("open",)
        self.unsure.note(roles, values)
        own = self.values.owner(at) if roles[0][:1] == "." else None
        call_roles(self.use, roles, own, values, named)

    def word(self, at: int, reason: str) -> None:
        """A name that reveals the environment, unless it asks for one variable of no interest."""
        if reason != "environment":
            self.use.unknown(reason)
            if reason == _LOAD_REASON:
                values, _ = self.values.arguments(at + 1)
                for each in values[:1]:
                    if isinstance(each, str):
                        self.use.emit(Act.READ, IN_DOUBT, known(each))
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
