"""Arithmetic: the value of an expression of constants and known variables; else a hole."""

import operator
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from supervisor.policy.bash.shell.algebra import literal
from supervisor.policy.bash.value import HOLE, UNKNOWN, Value

if TYPE_CHECKING:
    from supervisor.policy.bash.shell.expand import Machine

_TOKEN: Final = re.compile(
    r"\s*(?:([0-9]+#[0-9A-Za-z@_]+|0[xX][0-9A-Fa-f]+|[0-9]+)|([A-Za-z_][A-Za-z0-9_]*)"
    r"|(\*\*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%<>!~&|^?:(),=]))"
)
_LEVELS: Final = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7,
    ">=": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10, "**": 11,
}  # fmt: skip
_STEP: Final = re.compile(
    r"\s*(?:(\+\+|--)?\s*([A-Za-z_][A-Za-z0-9_]*)\s*(\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))?)"
)
_DEEPEST: Final = 12
_LONGEST: Final = 400
_SHIFTS: Final = range(64)
_NESTED: Final = 40
"""Levels of an expression's operators."""


class _Unknown(Exception):
    """The expression has no known value."""


def evaluated(machine: "Machine", expression: Value) -> Value:
    """The number an expression comes to, as text; what hides in it is looked at."""
    text = expression.only
    if text is None:
        machine.hidden(expression)
        return Value(UNKNOWN.texts, expression.from_data)
    if "[" in text or "`" in text:
        machine.hidden(expression)
        return UNKNOWN
    try:
        return literal(str(_evaluate(machine, text, _DEEPEST)))
    except _Unknown:
        return Value(UNKNOWN.texts, expression.from_data)


def _evaluate(machine: "Machine", text: str, deepest: int) -> int:
    if len(text) > _LONGEST or deepest <= 0:
        raise _Unknown
    result = 0
    for part in text.split(","):
        match = _STEP.match(part)
        if match is not None and (match[3] or match[1]):
            result = _step(machine, match, part[match.end() :], deepest)
        elif part.strip() or "," not in text:
            reader = _Reader(machine, part, deepest)
            result = reader.expression(0)
            reader.finish()
    return result


def _step(machine: "Machine", match: re.Match[str], rest: str, deepest: int) -> int:
    """`x = …`, `x += …`, `x++`: changes the variable as the shell would."""
    before, name, sign = match.groups()
    if before or sign in ("++", "--"):
        if rest.strip():
            machine.scope.assign(name, UNKNOWN)
            raise _Unknown
        try:
            old = _number(machine, name, deepest)
        except _Unknown:
            machine.scope.assign(name, UNKNOWN)
            raise
        new = old + (1 if (before or sign) == "++" else -1)
        machine.scope.assign(name, literal(str(new)))
        return new if before else old
    try:
        if sign == "=":
            result = _evaluate(machine, rest, deepest - 1)
        else:
            result = _evaluate(machine, f"{name} {sign[:-1]} ({rest})", deepest - 1)
    except _Unknown:
        machine.scope.assign(name, UNKNOWN)
        raise
    machine.scope.assign(name, literal(str(result)))
    return result


def _number(machine: "Machine", name: str, deepest: int) -> int:
    value = machine.scope.get(name)
    if value is None:
        raise _Unknown
    text = value.only
    if text is None:
        machine.hidden(value)
        raise _Unknown
    if not text:
        return 0
    if re.fullmatch(r"\s*-?[0-9]{1,18}\s*", text):
        return _constant(text.strip())
    if "[" in text or "`" in text or "$" in text:
        machine.hidden(value)
        raise _Unknown
    return _evaluate(machine, text, deepest - 1)


def _constant(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    text = text.lstrip("-")
    try:
        if "#" in text:
            base, _, digits = text.partition("#")
            return sign * int(digits, int(base))
        if text[:2] in ("0x", "0X"):
            return sign * int(text, 16)
        return sign * int(text, 8 if text.startswith("0") and len(text) > 1 else 10)
    except ValueError:
        raise _Unknown from None


class _Reader:
    """Reads an expression by the precedence of its operators."""

    def __init__(self, machine: "Machine", text: str, deepest: int) -> None:
        self.machine = machine
        self.deepest = deepest
        self.tokens: list[tuple[str, str, str]] = []
        self.at = 0
        self.levels = 0
        place = 0
        while place < len(text.rstrip()):
            match = _TOKEN.match(text, place)
            if match is None:
                raise _Unknown
            self.tokens.append((match[1] or "", match[2] or "", match[3] or ""))
            place = match.end()
        if HOLE in text:
            raise _Unknown

    def finish(self) -> None:
        """There must be nothing left."""
        if self.at < len(self.tokens):
            raise _Unknown

    def _operator(self) -> str:
        return self.tokens[self.at][2] if self.at < len(self.tokens) else ""

    def expression(self, level: int) -> int:
        """Operators of at least this level."""
        self.levels += 1
        if self.levels > _NESTED:
            raise _Unknown
        left = self.primary()
        while True:
            sign = self._operator()
            if sign == "?" and level == 0:
                self.at += 1
                yes = self.expression(0)
                if self._operator() != ":":
                    raise _Unknown
                self.at += 1
                no = self.expression(0)
                left = yes if left else no
                continue
            binding = _LEVELS.get(sign)
            if binding is None or binding <= level:
                self.levels -= 1
                return left
            self.at += 1
            right = self.expression(binding - (sign == "**"))
            left = _applied(sign, left, right)

    def primary(self) -> int:
        """A number, a variable, a sign, a parenthesis."""
        if self.at >= len(self.tokens):
            if self.tokens:
                raise _Unknown
            return 0
        number, name, sign = self.tokens[self.at]
        self.at += 1
        if number:
            return _constant(number)
        if name:
            return _number(self.machine, name, self.deepest)
        if sign in ("-", "+", "!", "~"):
            value = self.expression(11)
            return {"-": -value, "+": value, "!": int(not value), "~": ~value}[sign]
        if sign == "(":
            value = self.expression(0)
            if self._operator() != ")":
                raise _Unknown
            self.at += 1
            return value
        raise _Unknown


def _divided(left: int, right: int) -> int:
    """Division towards zero, as C has it."""
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


_APPLY: Final[Mapping[str, Callable[[int, int], int]]] = {
    "||": lambda left, right: int(bool(left or right)),
    "&&": lambda left, right: int(bool(left and right)),
    "|": operator.or_, "^": operator.xor, "&": operator.and_, "==": operator.eq,
    "!=": operator.ne, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
    "<<": operator.lshift, ">>": operator.rshift, "+": operator.add, "-": operator.sub,
    "*": operator.mul, "/": _divided, "**": operator.pow,
    "%": lambda left, right: left - _divided(left, right) * right,
}  # fmt: skip


def _applied(sign: str, left: int, right: int) -> int:
    if sign in ("/", "%") and not right:
        raise _Unknown
    if sign in ("**", "<<", ">>") and right not in _SHIFTS:
        raise _Unknown
    result = int(_APPLY[sign](left, right))
    if not -(2**63) <= result < 2**63:
        raise _Unknown
    return result
