"""What a shell would start: one simple command with its words, redirects and circumstances."""

from dataclasses import field, replace
from enum import StrEnum

from supervisor.policy.bash.value import Value
from supervisor.policy.record import record


@record
class Part:
    """The part of the call's command that something came from: offsets into its text.

    A text inside a text (`bash -c '…'`) reports the outer word that holds it.
    """

    start: int
    end: int


class Direction(StrEnum):
    """What a redirect does with its target."""

    READ = "read"
    WRITE = "write"
    APPEND = "append"
    BOTH = "both"


@record
class Redirect:
    """A file that the shell opens for a command (here-documents are `Invocation.stdin`)."""

    direction: Direction
    target: Value
    part: Part
    descriptor: int | None = None


@record
class Stdin:
    """What a command may read from its standard input, where that isn't the terminal's.

    `text` is all of it, as far as it can be told; `sources` are the programs that feed it through
    a pipe or a substitution, `path` the file behind `<`. `secret` says why it may hold one, where
    the call puts a variable of the environment in.
    """

    text: Value
    sources: tuple[str, ...] = ()
    path: Value | None = None
    secret: str = ""


class Fixed(tuple[Value, ...]):
    """Words in which nothing was expanded: each is one text that is known, and no pattern."""

    __slots__ = ()


@record
class Invocation:
    """One simple command.

    `argv[0]` is the program; `argv` is empty where there are only assignments and redirects.
    `environment` are the assignments before it and the exported variables of the call.
    `cwd` is where it runs: absolute, or with a hole if it can't be told. `feeds` are the programs
    that read its output. `builtin` says that the shell itself does it, and that the reader has
    taken its effect on the shell into account (`cd`, `export`, `set`, …).
    `substitutions` tells for a place in `argv` that holds a `<(…)` what is read from it, `streams`
    the same by the path, where that is kept in a variable.
    """

    argv: tuple[Value, ...]
    cwd: Value
    part: Part
    redirects: tuple[Redirect, ...] = ()
    environment: tuple[tuple[str, Value], ...] = ()
    stdin: Stdin | None = None
    feeds: tuple[str, ...] = ()
    builtin: bool = False
    background: bool = False
    in_endless_loop: bool = False
    substitutions: tuple[tuple[int, Stdin], ...] = ()
    streams: tuple[tuple[str, Stdin], ...] = ()


@record
class Unresolved:
    """Something in a command that can't be told without running it, and where it stands."""

    reason: str
    part: Part


@record
class Reading:
    """All that a script would start, as far as it can be told.

    `unresolved` is what can't be told; `bombs` are the parts that start themselves without end.
    """

    invocations: tuple[Invocation, ...] = ()
    unresolved: tuple[Unresolved, ...] = ()
    bombs: tuple[Part, ...] = field(default=())
    written: tuple[tuple[str, Value], ...] = ()
    """What it puts into files, by their names, as far as that is known."""


def inside(invocation: Invocation, around: Invocation) -> Invocation:
    """A command of a nested text, with what it inherits from the command around it."""
    if not (around.feeds or around.background or around.in_endless_loop):
        return invocation
    return replace(
        invocation,
        feeds=invocation.feeds or around.feeds,
        background=invocation.background or around.background,
        in_endless_loop=invocation.in_endless_loop or around.in_endless_loop,
    )
