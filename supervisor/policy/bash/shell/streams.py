"""Redirects: the files a command opens, and what its standard input and output become."""

from typing import TYPE_CHECKING, Final

from supervisor.policy.bash.invocation import Direction, Redirect, Stdin
from supervisor.policy.bash.shell.algebra import DATA, EMPTY, alone, hinted, join, literal
from supervisor.policy.bash.shell.expand import scalar, word_value
from supervisor.policy.bash.shell.fields import fields
from supervisor.policy.bash.shell.hints import NETWORK, lines_in, wholes
from supervisor.policy.bash.shell.secrets import held_secret
from supervisor.policy.bash.shell.sink import Sink
from supervisor.policy.bash.shell.syntax import Command, HereDocument, Process, Redirection, Word
from supervisor.policy.bash.value import HOLE, MOST_TEXTS, Text, Value

if TYPE_CHECKING:
    from supervisor.policy.bash.shell.machine import Work

_DIRECTIONS: Final = {
    "<": Direction.READ, ">": Direction.WRITE, ">|": Direction.WRITE, ">>": Direction.APPEND,
    "<>": Direction.BOTH, "&>": Direction.WRITE, ">&": Direction.WRITE, "&>>": Direction.APPEND,
}  # fmt: skip
_CONNECTIONS: Final = ("/dev/tcp/", "/dev/udp/")
_FIRST_FREE: Final = 10
_DIGITS: Final = 8


def redirected(shell: "Work", node: Command) -> tuple[Redirect, ...]:
    """The files that a command opens; the shell's input, output and descriptors follow."""
    found: list[Redirect] = []
    for each in node.redirects:
        _redirect(shell, each, found)
    return tuple(found)


def _redirect(shell: "Work", node: Redirection, found: list[Redirect]) -> None:
    operator, descriptor, target = node.operator, node.descriptor, node.target
    if descriptor and not descriptor.isdigit():
        used = {*shell.scope.files, *shell.outs}
        number = next(
            free for each in range(len(used) + 1) if (free := str(_FIRST_FREE + each)) not in used
        )
        shell.scope.assign(descriptor, literal(number))
        descriptor = number
    if isinstance(target, HereDocument) or operator == "<<<":
        _feed(shell, descriptor, _here(shell, target))
        return
    shell.produced = None
    if target.value is not None:
        value = target.value
    else:
        ways, from_data = fields(shell, target)
        texts = tuple(dict.fromkeys(each for way in ways for each in way))[:MOST_TEXTS]
        value = Value(texts or (Text(HOLE),), from_data)
        produced, shell.produced = shell.produced, None
        if type(target.parts[0]) is Process:
            _connect(shell, operator, descriptor, produced)
            return
    if operator in ("<&", ">&"):
        only = alone(value)
        if only is None or only == "-" or only.rstrip("-").isdigit():
            _duplicate(shell, operator, descriptor, only)
            return
    direction = _DIRECTIONS.get(operator, Direction.READ)
    if direction is Direction.READ or direction is Direction.BOTH:
        _feed(shell, descriptor, Stdin(content(shell, value), (), value))
    elif descriptor in ("", "1"):
        shell.sink = _kept(shell, value)
        shell.feeds = ()
        _answer(shell, value)
    elif (sink := _kept(shell, value)) is not None:
        shell.outs[descriptor] = sink
    number_of = int(descriptor) if descriptor and len(descriptor) <= _DIGITS else None
    found.append(Redirect(direction, value, shell.part(node), number_of))


def _here(shell: "Work", target: Word | HereDocument) -> Stdin:
    """What a here-document or a here-text gives."""
    shell.produced = None
    if isinstance(target, HereDocument):
        text = scalar(shell, target.parts) if target.parts else EMPTY
    else:
        text = join((word_value(shell, target), literal("\n")))
    return Stdin(text, secret=held_secret(target.parts, shell.scope) or "")


def _answer(shell: "Work", value: Value) -> None:
    """What a connection gets it also gives: `>/dev/tcp/… 0>&1`."""
    if any(each.text.startswith(_CONNECTIONS) for each in value.texts):
        _feed(shell, "1", Stdin(content(shell, value), (), value))


def content(shell: "Work", path: Value) -> Value:
    """What a file holds: not known, but what the call itself has put there, or the network."""
    hints: list[Text] = []
    for each in path.texts:
        if each.text.startswith(_CONNECTIONS):
            hints.append(NETWORK)
        elif (kept := shell.scope.held_by(each.text)) is not None:
            hints += wholes(kept.result)
            hints += lines_in(kept.result)
    return hinted(DATA, hints)


def _kept(shell: "Work", path: Value) -> Sink | None:
    """Where the output goes that is put into a file, if that has one name."""
    only = path.only
    if only is None or only.startswith("/dev/"):
        return None
    return shell.scope.fill(only)


def _connect(shell: "Work", operator: str, descriptor: str, produced: Stdin | None) -> None:
    """`< <(…)` and `> >(…)`: a pipe, no file."""
    if produced is not None and operator == "<":
        _feed(shell, descriptor, produced)
    elif produced is None and descriptor in ("", "1"):
        shell.heard = shell.listeners[-1] if shell.listeners else None
        shell.sink = Sink()


def _feed(shell: "Work", descriptor: str, stdin: Stdin) -> None:
    if descriptor in ("", "0"):
        shell.stdin = stdin
    else:
        shell.scope.files = {**shell.scope.files, descriptor: stdin}


def _duplicate(shell: "Work", operator: str, descriptor: str, only: str | None) -> None:
    if operator == "<&" or descriptor == "0":
        if only == "0":
            return
        _feed(shell, descriptor, shell.scope.files.get((only or "").rstrip("-"), Stdin(DATA)))
    elif descriptor in ("", "1") and only not in ("1", None):
        shell.heard = shell.coprocesses.get(only or "")
        kept = shell.outs.get(only or "")
        shell.sink = kept if shell.heard is None else Sink()
