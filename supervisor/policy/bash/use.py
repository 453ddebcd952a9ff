"""One command that is being looked at: its words, its circumstances, and where its effects go."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Final, Protocol

from supervisor.policy.bash.effect import Act, Effect
from supervisor.policy.bash.invocation import Invocation, Part, Stdin
from supervisor.policy.bash.kept_scripts import KeptScripts
from supervisor.policy.bash.options import Parsed
from supervisor.policy.bash.places import Found, below
from supervisor.policy.bash.table import Command, CommandTable
from supervisor.policy.bash.value import HOLE, Text, Value, known

NOTHING: Final = Stdin(known(""))
"""The input of what `xargs` and recipes start."""

IN_DOUBT: Final = "may be meant as a file"
"""The reason of a READ or WRITE that is only likely: it counts for what is denied, and is no
ground to ask."""

PUT: Final = "may be where something is put"
"""The reason of a WRITE of what a program keeps aside (a report, a cache): it counts for what is
denied, and for nothing else."""

UNTRACKED: Final = "loses what isn't tracked"
"""The reason of a DELETE below a folder of which a repository's own files stay."""

RUN: Final = "is run as a script"
"""The reason of a READ of a file that an interpreter runs."""

GUESSED: Final = "subcommand not listed"
"""The tag of a command whose subcommand isn't in the table, so what its operands mean is open."""

SENT: Final = "is sent"
"""The reason of a READ of a file whose content goes to another machine."""

NO_FILES: Final = frozenset(
    {"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero",
     "/dev/urandom", "/dev/random", "/dev/full", "/dev/ptmx"}
)  # fmt: skip
"""Devices that hold nothing, keep nothing and show nothing of others."""


_CHANGES: Final = frozenset({Act.WRITE, Act.DELETE, Act.CHANGE_MODE})
_INSIDE: Final = re.compile(rf"(?<=[\w.]){HOLE}+(?=\w[^/]*\Z)")
"""What can't be known, between the letters of a file's name."""


class Look(Protocol):
    """What a command's reader may ask of the analysis that it is part of."""

    table: CommandTable
    home: str
    start: str
    """The folder that the call begins in."""

    @property
    def kept(self) -> KeptScripts:
        """What the call has put into files so far."""

    def run(self, invocation: Invocation) -> None:
        """Looks at a command that this one starts."""

    def script(self, text: Value, around: Invocation, shell: str = "bash") -> None:
        """Looks at text that a shell runs, in the circumstances of the command around it."""

    def follow(
        self, use: "Use", place: Value, text: Value, words: tuple[Value, ...], shell: str = "bash"
    ) -> None:
        """Looks at a script that the call itself has put at a place."""

    def add(self, effect: Effect) -> None:
        """Adds an effect."""

    def feeders(self, invocation: Invocation) -> list[Invocation]:
        """The commands of this call that feed this one, in the order of their text."""

    def within(self, part: Part) -> list[Invocation]:
        """The commands that stand inside of a part of the call, in the order of their text."""

    def reading(self) -> Invocation | None:
        """The last `read` that gets what a command prints through a pipe."""

    def gathered(self, do: Callable[[], None]) -> list[Effect]:
        """The effects of `do`, which are then nowhere else."""


@dataclass(slots=True)
class Use:
    """A command in use. `argv` are its own words, from the subcommand's point of view too."""

    look: Look
    invocation: Invocation
    command: Command
    program: str
    cwd: Value
    parsed: Parsed
    only: tuple[str, ...] = ()
    environment: tuple[tuple[str, Value], ...] = ()
    at: int = 1
    implied: bool = False
    """Whether the words at hand don't stand in the command (`ls` lists `.`)."""
    aside: bool = False
    """Whether the word at hand is the value of an option."""
    outside: tuple[str, ...] = ()
    """What code at hand may get from outside: its arguments, lines of its input, variables."""
    _carrying: tuple[Invocation, bool] | None = None
    """The invocation that `carries` was last asked about, and the answer: it may be per word."""

    @property
    def argv(self) -> tuple[Value, ...]:
        """The words of the command."""
        return self.invocation.argv

    @property
    def base(self) -> str:
        """The name of the program without its folder."""
        return self.program.rpartition("/")[2]

    @property
    def tags(self) -> set[str]:
        """What options have set."""
        return self.parsed.tags

    @property
    def carries(self) -> bool:
        """Whether what it sends may hold data of this machine."""
        invocation = self.invocation
        if self._carrying is None or self._carrying[0] is not invocation:
            stdin = invocation.stdin
            fed = stdin is not None and stdin.text.only != ""
            found = fed or any(each.from_data for each in invocation.argv)
            self._carrying = invocation, found
        return self._carrying[1]

    def emit(  # noqa: PLR0913 - the fields of an effect
        self,
        act: Act,
        reason: str,
        target: Value | None = None,
        *,
        recursive: bool = False,
        severe: bool = False,
        words: tuple[str, ...] = (),
        harmless: bool = False,
        elsewhere: bool = False,
    ) -> None:
        """Adds an effect of this command."""
        only = self.only if recursive else ()
        if type(target) is Found:
            only = target.names or only
            if not only and not target.whole and act in _CHANGES:
                only = ("*",)  # all that is below the folder, not the folder itself
            if act is not Act.READ:
                self._each_found(act, reason, target, recursive=recursive)
            recursive = True
            target = target.start
        elif target is not None and HOLE in target.texts[0].text:
            target = closed(target)
        self.look.add(
            Effect(
                act, self.program, self.invocation.part, reason, target, self.cwd, recursive,
                severe, elsewhere, not self.implied, words, harmless, only, self.aside,
            )
        )  # fmt: skip

    def _each_found(self, act: Act, reason: str, found: Found, *, recursive: bool) -> None:
        """What a search for a name finds right below where it starts, and there."""
        first = found.start.texts[0].text.rstrip("/").rpartition("/")[2]
        for name in found.names:
            wild = any(sign in name for sign in "*?[\\/")
            if first.strip(".") and name.strip("*?") and fnmatchcase(first, name):
                self.emit(act, reason, found.start, recursive=recursive)
            if not wild:
                self.emit(act, reason, below(found.start, name), recursive=recursive)
            elif "/" not in name and found.start.texts[0].text.rstrip("/") == "/dev":
                path = f"/dev/{name}"
                self.emit(act, reason, Value((Text(path, path),)))

    def unknown(self, reason: str) -> None:
        """Says that something can't be told."""
        self.emit(Act.UNKNOWN, reason)

    def send(
        self,
        host: Value | None,
        reason: str = "reaches the network",
        words: tuple[str, ...] = (),
    ) -> None:
        """Says that a host is reached; its value is marked if data of this machine goes there.

        `words` name what is asked for, where it goes to the service that the program is for.
        """
        if host is not None and any(HOLE in each.text for each in host.texts):
            host = _begun(host)
        if self.carries:
            host = Value((Text(HOLE),)) if host is None else host
            host = Value(host.texts, from_data=True)
            reason = "sends data of this machine"
        self.emit(Act.SEND, reason, host, words=words)

    def start(
        self,
        argv: Sequence[Value],
        cwd: Value | None = None,
        stdin: bool = True,
        environment: tuple[tuple[str, Value], ...] = (),
    ) -> None:
        """Looks at a command that this one starts, in its place."""
        if argv:
            self.look.run(self.within(tuple(argv), cwd, stdin, environment))

    def within(
        self,
        argv: tuple[Value, ...],
        cwd: Value | None = None,
        stdin: bool = True,
        environment: tuple[tuple[str, Value], ...] = (),
    ) -> Invocation:
        """The circumstances of what this command starts."""
        own = self.invocation
        substitutions: tuple[tuple[int, Stdin], ...] = ()
        if own.substitutions:
            places = {
                id(own.argv[at]): each for at, each in own.substitutions if at < len(own.argv)
            }
            substitutions = tuple(
                (at, places[id(word)]) for at, word in enumerate(argv) if id(word) in places
            )
        return Invocation(
            argv,
            cwd or self.cwd,
            own.part,
            environment=(*own.environment, *self.environment, *environment),
            stdin=own.stdin if stdin else NOTHING,
            feeds=own.feeds,
            background=own.background,
            in_endless_loop=own.in_endless_loop,
            substitutions=substitutions,
            streams=own.streams,
        )

    def script(
        self, text: Value, shell: str = "bash", cwd: Value | None = None, *, stdin: bool = True
    ) -> None:
        """Looks at text that a shell runs; the reader has followed what builtins run."""
        if not self.invocation.builtin:
            self.look.script(text, self.within((), cwd, stdin), shell)


def substituted(use: Use, word: Value) -> Stdin | None:
    """What stands behind `<(…)`, if the word is one."""
    for path, stream in use.invocation.streams:
        if word.only == path:
            return stream
    for at, stdin in use.invocation.substitutions:
        if at < len(use.argv):
            whole, text = use.argv[at].texts[0].text, word.texts[0].text
            if use.argv[at] is word or (text and whole.endswith((f"={text}", f"@{text}"))):
                return stdin
    return None


def plain_words(argv: Sequence[Value]) -> tuple[str, ...]:
    """The words of a command, with `HOLE` for each that can't be told for sure."""
    return tuple([each.texts[0].text if len(each.texts) == 1 else HOLE for each in argv])


_HOST: Final = re.compile(rf"(?:\w+:/+)?[^/?#{HOLE}]*[\w\]](?={HOLE})")


def _begun(host: Value) -> Value:
    """An address with what else it may be: `192.0.2.1$X` is `192.0.2.1`, if `$X` is a path."""
    begun = [found[0] for each in host.texts if (found := _HOST.match(each.text))]
    return replace(host, texts=(*host.texts, *map(Text, begun))) if begun else host


def closed(target: Value) -> Value:
    """A path with what else it may be: `.e${x}nv` is `.env` too, as what nobody set is nothing."""
    closed = [_INSIDE.sub("", each.text) for each in target.texts if HOLE in each.text]
    more = [Text(text) for text in dict.fromkeys(closed) if HOLE not in text]
    return replace(target, texts=(*target.texts, *more)) if more else target
