"""`$x` and `${…}`: what a parameter holds, and what the operators make of it."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from supervisor.policy.bash.shell.algebra import EMPTY, blurred, join, literal, mapped, of, union
from supervisor.policy.bash.shell.arithmetic import evaluated
from supervisor.policy.bash.shell.escapes import ansi_c
from supervisor.policy.bash.shell.expansions import NAMES
from supervisor.policy.bash.shell.globbing import pattern_of, removed, replaced
from supervisor.policy.bash.shell.syntax import Literal, Parameter, Variable
from supervisor.policy.bash.value import HOLE, UNKNOWN, Value

if TYPE_CHECKING:
    from supervisor.policy.bash.shell.expand import Machine

DEFAULTS: Final = frozenset({":-", "-", ":=", "=", ":+", "+", ":?", "?"})
"""Operators that put a word in a parameter's place."""

_RUNTIME: Final = frozenset("?$!-")
_DIGITS: Final = 6
_NUMBER: Final = re.compile(r"\s*-?[0-9]+\s*")
_PROMPTING: Final = re.compile(r"[\\$`!]")
_SAFE: Final = re.compile(r"[A-Za-z0-9_./:@%+,=-]+")


def _positional(machine: "Machine", name: str) -> Value | None:
    scope = machine.scope
    number = int(name[:_DIGITS])
    if not number:
        return scope.name
    if scope.positional is None:
        return scope.arrays.get("@", {}).get("@")
    return scope.positional[number - 1] if number <= len(scope.positional) else EMPTY


def _between(machine: "Machine") -> Value:
    """What stands between the elements of `"$*"`."""
    given = machine.scope.variables.get("IFS")
    only = given.only if given is not None else None
    return literal(" " if only is None else only[:1])


def ordered(array: dict[str, Value]) -> list[Value]:
    """The elements of an array by their places; those of one with names as they came."""
    if not all(key.isdigit() and len(key) <= _DIGITS for key in array):
        return list(array.values())
    return [array[key] for key in sorted(array, key=int)]


def held(machine: "Machine", name: str) -> Value | None:  # noqa: PLR0911 - a table of the special ones
    """What a parameter holds; None if the call doesn't say."""
    scope = machine.scope
    if name[0].isdigit():
        return _positional(machine, name)
    if name in _RUNTIME:
        return UNKNOWN
    if name == "#":
        return None if scope.positional is None else literal(str(len(scope.positional)))
    if name == "_":
        return scope.last
    if name in ("@", "*"):
        if scope.positional is None:
            return scope.arrays.get("@", {}).get("@")
        between = _between(machine) if name == "*" else literal(" ")
        separated: list[Value] = []
        for each in scope.positional:
            separated += [between, each]
        return join(separated[1:]) if separated else EMPTY
    return scope.get(name)


def variable(machine: "Machine", name: str) -> Value:
    """`$name` as one text."""
    value = machine.scope.variables.get(name)
    if value is not None:
        return value
    return held(machine, name) or UNKNOWN


def listed(piece: Variable | Parameter) -> bool:
    """Whether an expansion gives a list: `$@`, `${a[@]}`."""
    if isinstance(piece, Parameter):
        if piece.length:
            return False
        if piece.operator == NAMES:
            return True
        if piece.index is not None:
            first = piece.index[0] if len(piece.index) == 1 else None
            return isinstance(first, Literal) and first.text in ("@", "*")
        if piece.operator in DEFAULTS:
            return False
        return piece.name in ("@", "*") and not piece.indirect
    return piece.name in ("@", "*")


def elements(machine: "Machine", piece: Variable | Parameter) -> list[Value] | None:
    """The elements of a list; None if they aren't known."""
    scope = machine.scope
    found: list[Value] | None
    if isinstance(piece, Parameter) and piece.operator == NAMES:
        names = {*scope.variables, *scope.arrays}
        told = [literal(each) for each in sorted(names) if each.startswith(piece.name)]
        return told or [UNKNOWN]  # those that the shell was started with
    name = scope.resolved(piece.name) if scope.references else piece.name
    if name in ("@", "*"):
        found = None if scope.positional is None else list(scope.positional)
    elif name in scope.arrays:
        array = scope.arrays[name]
        if "@" in array:
            return None
        if isinstance(piece, Parameter) and piece.indirect:
            return [literal(key) for key in array]
        found = ordered(array)
    elif name in scope.unset and name not in scope.variables:
        found = []
    else:
        value = scope.get(name)
        found = None if value is None else [value]
    if found is None or not isinstance(piece, Parameter) or not piece.operator:
        if isinstance(piece, Parameter) and found is None:
            _arguments(machine, piece)
        return found
    if piece.operator == ":":
        return _cut(machine, piece, found)
    return [_operated(machine, piece, each) for each in found]


def _cut(machine: "Machine", piece: Parameter, found: list[Value]) -> list[Value] | None:
    """`${@:offset:length}` and `${a[@]:offset:length}`; positional ones count from `$0`."""
    offset, length = _range(machine, piece)
    if offset is None:
        return None
    if piece.name in ("@", "*"):
        found = [machine.scope.name, *found] if not offset else found
        offset = offset - 1 if offset > 0 else offset
    return found[offset : len(found) if length is None else offset + length]


def _arguments(machine: "Machine", piece: Parameter) -> None:
    """Expand the operands for what runs in them."""
    machine.scalar(piece.argument)
    if piece.second:
        machine.scalar(piece.second)


def _range(machine: "Machine", piece: Parameter) -> tuple[int | None, int | None]:
    offset = evaluated(machine, machine.scalar(piece.argument)).only
    length = None
    if piece.second is not None:
        length = evaluated(machine, machine.scalar(piece.second)).only
        if length is None or not _NUMBER.fullmatch(length):
            return None, None
    if offset is None or not _NUMBER.fullmatch(offset):
        return None, None
    return int(offset), None if length is None else int(length)


def _indexed(machine: "Machine", piece: Parameter) -> Value | None:
    """An element of an array, or the variable itself."""
    if piece.index is None:
        return held(machine, piece.name)
    index = machine.scalar(piece.index)
    name = machine.scope.resolved(piece.name) if machine.scope.references else piece.name
    array = machine.scope.arrays.get(name)
    machine.hidden(index)
    if array is None:
        return held(machine, piece.name) if index.only in ("0", "@", "*") else None
    if "@" in array:
        return union(array.values())
    key = index.only
    if key in ("@", "*"):
        between = _between(machine) if key == "*" else literal(" ")
        separated: list[Value] = []
        for each in ordered(array):
            separated += [between, each]
        return join(separated[1:]) if separated else EMPTY
    if key is not None and key not in array:
        key = evaluated(machine, index).only
        if key is not None and key.startswith("-") and _NUMBER.fullmatch(key):
            key = (
                str(max(int(each) for each in array if each.isdigit()) + 1 + int(key))
                if any(each.isdigit() for each in array)
                else key
            )
    if key is None:
        return union([*array.values(), EMPTY]) if array else EMPTY
    return array.get(key, EMPTY)


def parameter(machine: "Machine", piece: Parameter) -> Value:  # noqa: PLR0911 - one for each form
    """`${…}` as one text."""
    if piece.indirect:
        return _indirect(machine, piece)
    operator = piece.operator
    if operator in DEFAULTS and not piece.length:
        return _defaulted(machine, piece)
    value = _indexed(machine, piece)
    if piece.length:
        if piece.index is not None or piece.name in ("@", "*"):
            array = machine.scope.arrays.get(piece.name)
            if piece.index is not None and array is not None and "@" not in array:
                return literal(str(len(array)))
            return UNKNOWN if piece.name not in ("@", "*") else held(machine, "#") or UNKNOWN
        return mapped(value, lambda text: str(len(text))) if value is not None else UNKNOWN
    if value is None and operator != "@":
        _arguments(machine, piece)
        return UNKNOWN
    value = value or UNKNOWN
    return _operated(machine, piece, value) if operator else value


def _indirect(machine: "Machine", piece: Parameter) -> Value:
    targets = machine.scope.references.get(piece.name)
    value = held(machine, piece.name)
    _arguments(machine, piece)
    if targets:
        return of(targets)
    if value is None or not value.known or piece.index is not None:
        return UNKNOWN
    found = [held(machine, each.text) if each.text else None for each in value.texts]
    return union([each if each is not None else UNKNOWN for each in found])


def defaulted(machine: "Machine", piece: Parameter, other: Value) -> tuple[Value | None, bool]:
    """`${x:-word}` and its kin: what of the parameter may stand there, and whether the word may."""
    value = _indexed(machine, piece)
    colon = piece.operator.startswith(":")
    sign = piece.operator[-1]
    named = piece.index is None and not piece.name[0].isdigit()
    if value is None:
        if sign == "=" and named:
            machine.scope.assign(piece.name, union([UNKNOWN, other]))
        return (EMPTY, True) if sign == "+" else (UNKNOWN, sign != "?")
    isset = piece.name not in machine.scope.unset and not _missing(machine, piece.name)
    full = tuple(each for each in value.texts if isset and (each.text or not colon))
    if sign == "+":
        unsure = colon and any(HOLE in each.text for each in full)
        return EMPTY if unsure or len(full) < len(value.texts) else None, bool(full)
    kept = Value(full, value.from_data) if full else None
    # What isn't known may turn out to be nothing.
    maybe = colon and any(not each.text.strip(HOLE) for each in value.texts)
    used = maybe or len(full) < len(value.texts)
    if used and sign == "=" and named:
        machine.scope.assign(piece.name, union([other] if kept is None else [kept, other]))
    return kept, used


def _missing(machine: "Machine", name: str) -> bool:
    """Whether this is a positional parameter that isn't there."""
    given = machine.scope.positional
    return name.isdigit() and given is not None and int(name[:_DIGITS]) > len(given)


def _defaulted(machine: "Machine", piece: Parameter) -> Value:
    # What stands there may run something whether or not it is used, so it is always looked at.
    other = machine.scalar(piece.argument)
    kept, used = defaulted(machine, piece, other)
    return union([each for each in (kept, other if used else None) if each is not None])


_CASES: Final[dict[str, Callable[[str], str]]] = {
    "^^": str.upper, ",,": str.lower, "~~": str.swapcase,
    "^": lambda text: text[:1].upper() + text[1:], ",": lambda text: text[:1].lower() + text[1:],
    "~": lambda text: text[:1].swapcase() + text[1:],
}  # fmt: skip
_TRANSFORMS: Final[dict[str, Callable[[str], str]]] = {
    "U": str.upper, "L": str.lower, "u": lambda text: text[:1].upper() + text[1:], "E": ansi_c,
    "Q": lambda text: text if _SAFE.fullmatch(text) else "'" + text.replace("'", "'\\''") + "'",
}  # fmt: skip


def _operated(machine: "Machine", piece: Parameter, value: Value) -> Value:  # noqa: PLR0911 - one for each operator
    """The value after an operator that changes its text."""
    operator = piece.operator
    if operator == "@":
        letter = machine.scalar(piece.argument).only or ""
        if letter == "P":
            return _prompted(machine, value)
        if letter == "A" and piece.index is None:
            return mapped(value, lambda text: f"{piece.name}='" + text.replace("'", "'\\''") + "'")
        change = _TRANSFORMS.get(letter)
        return mapped(value, change) if change is not None else UNKNOWN
    if operator == ":":
        offset, length = _range(machine, piece)
        if offset is None:
            return blurred(value)
        return mapped(value, lambda text: _sliced(text, offset, length))
    if operator in _CASES:
        pattern = machine.scalar(piece.argument)
        return mapped(value, _CASES[operator]) if pattern.only == "" else UNKNOWN
    pattern_text = pattern_of(machine, piece.argument)
    second = machine.scalar(piece.second) if piece.second else EMPTY
    new = second.only
    if pattern_text is None or new is None:
        found = blurred(value)
        return Value(found.texts, value.from_data or second.from_data)
    glob = pattern_text
    if operator in ("/", "//"):
        return mapped(
            value, lambda text: replaced(text, glob, new, every=operator == "//"), patterns=True
        )
    return mapped(value, lambda text: removed(text, glob, operator), patterns=True)


def _prompted(machine: "Machine", value: Value) -> Value:
    """`${x@P}`: what hides in it is run; without anything a prompt expands it stays as it is."""
    machine.hidden(value, prompt=True)
    return mapped(value, lambda text: HOLE if _PROMPTING.search(text) else text)


def _sliced(text: str, offset: int, length: int | None) -> str:
    start = offset if offset >= 0 else max(len(text) + offset, 0)
    if length is None:
        return text[start:]
    return text[start : start + length] if length >= 0 else text[start : len(text) + length]
