"""Assignments: of texts, of arrays, and those that declarations hold as words."""

from typing import TYPE_CHECKING, Final

from supervisor.policy.bash.shell.algebra import DATA, EMPTY, alone, join, literal
from supervisor.policy.bash.shell.arithmetic import evaluated
from supervisor.policy.bash.shell.expand import scalar, word_value
from supervisor.policy.bash.shell.fields import fields
from supervisor.policy.bash.shell.scope import CALLED
from supervisor.policy.bash.shell.secrets import takes_secret
from supervisor.policy.bash.shell.syntax import Assignment, Element, Word
from supervisor.policy.bash.value import HOLE, MOST_TEXTS, Text, Value

if TYPE_CHECKING:
    from supervisor.policy.bash.shell.machine import Work

ANY: Final = "@"
"""The key of elements whose place isn't known."""

_DIGITS: Final = 8
_PROMPTS: Final = frozenset({"PS0", "PS1", "PS2", "PS4"})


def assigned_specially(shell: "Work", name: str, value: Value) -> None:
    """Variables whose content the shell runs, or that name a file which it writes as it ends."""
    if name in _PROMPTS:
        shell.hidden(value, prompt=True)
    elif name == "PROMPT_COMMAND":
        shell.aside(value, "PROMPT_COMMAND")
    elif name == "HISTFILE":
        shell.keeps(value)


def assigned(shell: "Work", node: Assignment) -> tuple[str, Value]:
    """Make an assignment; its name and value."""
    value, place = _evaluated(shell, node)
    assigned_specially(shell, node.name, value)
    takes_secret(node, shell.scope)
    _keep(shell, node, value, place)
    return node.name, value


def declared(shell: "Work", node: Assignment) -> Value:
    """`export name=value`: the word as the program gets it, which makes the assignment."""
    value, place = _evaluated(shell, node)
    takes_secret(node, shell.scope)
    if place is not None:
        _keep(shell, node, value, place)
    return join((literal(f"{node.name}="), value))


def _evaluated(shell: "Work", node: Assignment) -> tuple[Value, Value | None]:
    """The value, and the subscript if there is one."""
    place = None
    if node.index is not None:
        place = scalar(shell, node.index)
        shell.hidden(place)
    if not isinstance(node.value, Word):
        return _array(shell, node, node.value), place
    shell.produced = None
    value = word_value(shell, node.value, assignment=True)
    if shell.produced is not None:
        value = shell.kept_stream(value)
    if node.append and node.index is None:
        value = join((shell.scope.get(node.name) or DATA, value))
    return value, place


def _array(shell: "Work", node: Assignment, elements: tuple[Element, ...]) -> Value:
    """`name=(…)`: keeps the elements; its first one is the value."""
    found: dict[str, Value] = {}
    if node.append:
        found.update(shell.scope.arrays.get(node.name, {}))
        if not found and node.name in shell.scope.variables:
            found["0"] = shell.scope.variables[node.name]
    following = len(found)
    for element in elements:
        if element.key is not None:
            key = scalar(shell, element.key)
            shell.hidden(key)
            place = alone(key)
            found[ANY if place is None else place] = word_value(
                shell, element.value, assignment=True
            )
            if place is not None and place.isdigit() and len(place) <= _DIGITS:
                following = int(place) + 1
            continue
        if element.value.value is not None:
            found[str(following)] = element.value.value
            following += 1
            continue
        ways, from_data = fields(shell, element.value)
        if len(ways) > 1 or any(each.many for each in ways[0]):
            texts = tuple(dict.fromkeys(each for way in ways for each in way))[:MOST_TEXTS]
            found[ANY] = Value(texts or (Text(HOLE),), from_data)
            continue
        for each in ways[0]:
            found[str(following)] = Value((each,), from_data)
            following += 1
    shell.scope.fill_array(node.name, found)
    if node.name in CALLED:
        _called(shell, found)
    return found.get("0", EMPTY)


def _keep(shell: "Work", node: Assignment, value: Value, place: Value | None) -> None:
    """Put a value into the shell's state."""
    scope = shell.scope
    if scope.shapes and "i" in scope.shapes.get(node.name, ""):
        value = evaluated(shell, value)
    if scope.references and not isinstance(node.value, Word):
        scope.fill_array(scope.resolved(node.name), scope.arrays.pop(node.name, {}))
        return
    if node.index is not None:
        key = alone(place) if place is not None else None
        name = scope.resolved(node.name)
        before = scope.arrays.get(name)
        if before is None:
            scalar_value = scope.variables.get(name)
            before = {} if scalar_value is None else {"0": scalar_value}
        added = {ANY if key is None else key: value}
        scope.fill_array(name, {**before, **added})
        if name in CALLED:
            _called(shell, added)
    elif isinstance(node.value, Word):
        scope.assign(node.name, value)
    else:
        scope.variables.pop(node.name, None)
        scope.fill_array(node.name, scope.arrays.get(node.name, {}))


def _called(shell: "Work", elements: dict[str, Value]) -> None:
    """Doubt names of commands of which it can't be told what they stand for."""
    if any(name == ANY or value.only is None for name, value in elements.items()):
        shell.doubt("a program gets another one's name")
