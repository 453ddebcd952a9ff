"""Words to values: quotes, tildes, braces, variables, substitutions, splitting, globs."""

import re
from typing import Final, Protocol

from supervisor.policy.bash.shell.algebra import join, literal
from supervisor.policy.bash.shell.arithmetic import evaluated
from supervisor.policy.bash.shell.parameters import parameter, variable
from supervisor.policy.bash.shell.scope import Scope
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
    Word,
)
from supervisor.policy.bash.value import HOLE, UNKNOWN, Text, Value

_TILDE: Final = re.compile(r"~([^/:]*)")


class Machine(Protocol):
    """What expansion needs of the shell around it."""

    scope: Scope

    def substitute(self, script: Script) -> Value:
        """Run a substitution; what it prints."""

    def process(self, piece: Process) -> Value:
        """Run a process substitution; the path that stands for it."""

    def scalar(self, parts: Parts) -> Value:
        """The parts as one text, neither split nor matched."""

    def hidden(self, text: Value, *, prompt: bool = False) -> None:
        """Look for substitutions in a text that the shell evaluates again."""


def tilde(machine: Machine, text: str, *, assignment: bool = False) -> Value | None:
    """The value of a text that starts with a tilde prefix; None if it has none."""
    match = _TILDE.match(text)
    if match is None or (":" in text[: match.end() + 1] and not assignment and not match[1]):
        return None
    name, rest = match[1], text[match.end() :]
    scope = machine.scope
    if not name:
        home = scope.home_folder()
    elif name == "+":
        home = scope.cwd
    elif name == "-":
        home = scope.previous
    elif name == "root":
        home = literal("/root")
    elif (user := scope.get("USER")) is not None and user.only == name:
        home = literal(scope.home)
    elif re.fullmatch(r"[+-][0-9]+", name):
        home = UNKNOWN
    elif name == HOLE:  # `eval rm ~$USER`
        home = literal(f"/home/{HOLE}")
    elif re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", name):  # where there is such a user
        home = Value((*UNKNOWN.texts, Text(f"/home/{name}")), UNKNOWN.from_data)
    else:
        return None
    return Value(tuple(Text(each.text + rest) for each in home.texts), home.from_data)


def value_of(machine: Machine, piece: Piece) -> Value:
    """What one piece becomes as a single text."""
    kind = type(piece)
    if kind is Literal:
        return literal(piece.text)  # type: ignore[union-attr]
    if kind is Variable:
        return variable(machine, piece.name)  # type: ignore[union-attr]
    if kind is Parameter:
        return parameter(machine, piece)  # type: ignore[arg-type]
    if kind is Substitution:
        return machine.substitute(piece.script)  # type: ignore[union-attr]
    if kind is Arithmetic:
        return evaluated(machine, scalar(machine, piece.parts))  # type: ignore[union-attr]
    return machine.process(piece)  # type: ignore[arg-type]


def scalar(machine: Machine, parts: Parts, *, assignment: bool = False) -> Value:
    """The parts as one text: no splitting, no globs (assignments, here-documents, `[[`)."""
    values: list[Value] = []
    for position, piece in enumerate(parts):
        if type(piece) is Literal:
            value = literal(piece.text)
            if not piece.quoted and "~" in piece.text:
                value = tilded(machine, piece.text, assignment=assignment, first=not position,
                                last=position == len(parts) - 1)  # fmt: skip
            values.append(value)
        else:
            values.append(value_of(machine, piece))
    return values[0] if len(values) == 1 else join(values)


def tilded(machine: Machine, text: str, *, assignment: bool, first: bool, last: bool) -> Value:
    """A text with the tildes in it that the shell expands, after colons too in assignments."""
    pieces = text.split(":") if assignment else [text]
    made: list[Value] = []
    for position, piece in enumerate(pieces):
        whole = last or position < len(pieces) - 1 or "/" in piece
        if piece.startswith("~") and (first or position) and whole:
            value = tilde(machine, piece, assignment=assignment) or literal(piece)
        else:
            value = literal(piece)
        if position:
            made.append(literal(":"))
        made.append(value)
    return join(made)


def word_value(machine: Machine, word: Word, *, assignment: bool = False) -> Value:
    """A word where the shell neither splits nor matches."""
    value = word.value
    if value is not None and not (assignment and "~" in value.texts[0].text):
        return value
    return scalar(machine, word.parts, assignment=assignment)
