"""Reads what starts with `$` or a backtick, and what stands in it."""

import re
from abc import ABC, abstractmethod
from typing import Final

from supervisor.policy.bash.shell.cursor import Broken, Cursor
from supervisor.policy.bash.shell.escapes import ansi_c
from supervisor.policy.bash.shell.syntax import (
    Arithmetic,
    Literal,
    Parameter,
    Parts,
    Piece,
    Process,
    Script,
    Substitution,
    Variable,
)

_IN_EXPRESSION: Final = re.compile(r"[^'\"$`\\()\[\]]+")
_ANSI: Final = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_BACKTICKS: Final = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
_CONTINUED: Final = re.compile(r"\$(?:\\\n)+")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SPECIAL: Final = frozenset("@*#?-$!0123456789")
_PARAMETER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_OPERATOR: Final = re.compile(r":[-=+?]|[-=+?]|##?|%%?|//?|\^\^?|,,?|~~?|@|:")
NAMES: Final = "names"
"""Stands for the operator of `${!prefix*}`, which gives the names of variables."""

_ENDS: Final = {"/": "/}", "//": "/}", ":": ":}"}
"""What ends the first operand of an operator that takes two."""


def flush(plain: list[str], found: list[Piece]) -> None:
    """Make a piece of the unquoted characters so far."""
    if plain:
        found.append(Literal("".join(plain), quoted=False))
        plain.clear()


class Expansions(Cursor, ABC):
    """Reads expansions; words and commands are its heirs' matter."""

    @abstractmethod
    def script(self, closer: str) -> Script:
        """Read commands up to `closer` and step over it."""

    @abstractmethod
    def inner(self, text: str, place: tuple[int, int]) -> Script:
        """Read a text that stood at this place."""

    @abstractmethod
    def special(self, here: str, found: list[Piece], plain: list[str]) -> None:
        """Read a quote or an expansion outside of double quotes."""

    @abstractmethod
    def quoted(self, found: list[Piece]) -> None:
        """Read up to the closing double quote."""

    def expansion(  # noqa: C901, PLR0911 - a table of what may follow a dollar
        self, *, quoted: bool
    ) -> Piece | list[Piece] | None:
        """What starts with `$` or a backtick; None (one step on) for a mere `$`."""
        text, at = self.text, self.at
        if text[at] == "`":
            return self._backticks(quoted=quoted)
        if text.startswith("\\\n", at + 1) and (joined := _CONTINUED.match(text, at)):
            self.at = joined.end() - 1
            at = self.at
        after = text[at + 1 : at + 2]
        if after == "(":
            return self._dollar_parenthesis(quoted=quoted)
        if after == "{":
            return self._braces(quoted=quoted)
        if after == "[":
            self.at = at + 2
            return Arithmetic(self.bracketed("]"), quoted)
        name = _NAME.match(text, at + 1)
        if name is not None:
            self.at = name.end()
            return Variable(name[0], quoted)
        if after and after in _SPECIAL:
            self.at = at + 2
            return Variable(after, quoted)
        if not quoted and after == "'":
            match = _ANSI.match(text, at)
            if match is None:
                raise Broken("a quote is never closed", at)
            self.at = match.end()
            return Literal(ansi_c(match[1]), quoted=True)
        if not quoted and after == '"':
            self.at = at + 2
            found: list[Piece] = []
            self.quoted(found)
            return found
        self.at = at + 1
        return None

    def _backticks(self, *, quoted: bool) -> Piece:
        match = _BACKTICKS.match(self.text, self.at)
        if match is None:
            raise Broken("a backtick is never closed", self.at)
        place = self.place(self.at, match.end())
        self.at = match.end()
        inner = re.sub(r'\\([$`\\"])' if quoted else r"\\([$`\\])", r"\1", match[1])
        return Substitution(self.inner(inner, place), quoted)

    def _dollar_parenthesis(self, *, quoted: bool) -> Piece:
        start = self.at
        if self.text.startswith("((", start + 1):
            parts = self.calculation(start + 3)
            if parts is not None:
                return Arithmetic(parts, quoted)
        self.at = start + 2
        return Substitution(self.script(")"), quoted)

    def process(self, direction: str) -> Piece:
        """`<(…)` or `>(…)`."""
        self.at += 2
        return Process(direction, self.script(")"))

    def calculation(self, start: int) -> Parts | None:
        """The expression between `((` and `))`; None (and no step) if it is something else."""
        kept, troubles, budget = self.at, len(self.troubles), self.budget.nesting
        self.at = start
        try:
            parts = self.bracketed(")")
        except Broken as problem:
            if problem.fatal:
                raise
            self.budget.nesting = budget
            parts = ()
            self.at = self.size
        if self.at < self.size and self.text[self.at] == ")":
            self.at += 1
            return parts
        self.at = kept
        del self.troubles[troubles:]
        return None

    def bracketed(self, closer: str) -> Parts:
        """An expression up to the closer that matches, with the expansions in it."""
        self.nest()
        text, size = self.text, self.size
        opener = "(" if closer == ")" else "["
        found: list[Piece] = []
        plain: list[str] = []
        depth = 0
        start = self.at
        while self.at < size:
            here = text[self.at]
            if here == closer and not depth:
                self.at += 1
                flush(plain, found)
                self.budget.nesting += 1
                return tuple(found)
            if here in "'\"$`\\":
                self.special(here, found, plain)
                continue
            if (run := _IN_EXPRESSION.match(text, self.at)) is not None:
                plain.append(run[0])
                self.at = run.end()
                continue
            self.count()
            depth += (here == opener) - (here == closer)
            plain.append(here)
            self.at += 1
        raise Broken("an expression is never closed", start)

    def _braces(self, *, quoted: bool) -> Piece:
        """`${…}`."""
        self.nest()
        start = self.at
        piece = self._parameter(start, quoted=quoted)
        if self.peek() == "[":
            self.at += 1
            piece.index = self.bracketed("]")
        operator = _OPERATOR.match(self.text, self.at)
        if self.peek() == "}":
            self.at += 1
        elif piece.indirect and self.text.startswith(("*}", "@}"), self.at):
            piece.operator = NAMES
            self.at += 2
        elif operator is None:
            raise Broken("this expansion isn't one that bash knows", start)
        else:
            piece.operator = operator[0]
            self.at = operator.end()
            self._operands(piece, start)
        self.budget.nesting += 1
        return piece

    def _parameter(self, start: int, *, quoted: bool) -> Parameter:
        """The name in `${…}`, with the `#` or `!` before it."""
        text = self.text
        self.at += 2
        length = indirect = False
        if text.startswith("#", self.at) and not text.startswith(("}", "#}"), self.at + 1):
            match = _PARAMETER.match(text, self.at + 1)
            length = match is not None and text[match.end() : match.end() + 1] in ("}", "[")
        elif text.startswith("!", self.at):
            indirect = _PARAMETER.match(text, self.at + 1) is not None
        self.at += length or indirect
        match = _PARAMETER.match(text, self.at)
        if match is None:
            raise Broken("this expansion has no name", start)
        self.at = match.end()
        return Parameter(match[0], quoted, length=length, indirect=indirect)

    def _operands(self, piece: Parameter, start: int) -> None:
        """What follows the operator, up to the closing brace."""
        ends = _ENDS.get(piece.operator, "}")
        piece.argument = self.argument(ends, quoted=piece.quoted, operator=piece.operator)
        if self.peek() == ends[0] != "}":
            self.at += 1
            piece.second = self.argument("}", quoted=piece.quoted, operator=piece.operator)
        if self.peek() != "}":
            raise Broken("an expansion is never closed", start)
        self.at += 1

    def argument(self, ends: str, *, quoted: bool, operator: str) -> Parts:
        """The word inside `${…}` up to one of `ends`."""
        text, size = self.text, self.size
        found: list[Piece] = []
        plain: list[str] = []
        single = not quoted or operator[0] in "#%/^,~"
        start = self.at
        depth = 0
        while self.at < size:
            here = text[self.at]
            if here in ends and not depth and (here != "/" or self.at > start):
                break
            if here in '"$`\\' or (here == "'" and single):
                self.special(here, found, plain)
                continue
            self.count()
            depth += here == "{"
            depth -= here == "}"
            plain.append(here)
            self.at += 1
        flush(plain, found)
        return tuple(found)
