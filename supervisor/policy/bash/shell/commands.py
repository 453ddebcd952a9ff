"""Runs simple commands: their words and circumstances, and what they leave."""

from collections.abc import Sequence
from typing import Final

from supervisor.policy.bash.invocation import Direction, Fixed, Invocation, Part, Redirect, Stdin
from supervisor.policy.bash.prints.made import makes
from supervisor.policy.bash.shell.algebra import alone, telling
from supervisor.policy.bash.shell.assignments import assigned, declared
from supervisor.policy.bash.shell.called import Called, Environment, Row
from supervisor.policy.bash.shell.expand import scalar
from supervisor.policy.bash.shell.fields import fields, values
from supervisor.policy.bash.shell.hints import NETWORK, comes_from_network
from supervisor.policy.bash.shell.leaving import LEAVES
from supervisor.policy.bash.shell.names import programs
from supervisor.policy.bash.shell.parameters import listed
from supervisor.policy.bash.shell.printing import write_output
from supervisor.policy.bash.shell.secrets import (
    POSITIONAL,
    prints_input,
    prints_words,
    shown_secret,
)
from supervisor.policy.bash.shell.shell_builtins import BUILTINS, DESCRIPTOR, HANDLERS, PREFIXES
from supervisor.policy.bash.shell.sink import Sink
from supervisor.policy.bash.shell.streams import redirected
from supervisor.policy.bash.shell.syntax import (
    Assignment,
    Command,
    Literal,
    Parameter,
    Piece,
    Process,
    Simple,
    Variable,
    Word,
)
from supervisor.policy.bash.value import HOLE, Text, Value

_MOST_ROWS: Final = 8
_MOST_TOLD: Final = 32
_FIRST_WORDS: Final = 4
_TAKES_FILES: Final = frozenset({"sh", "bash", "zsh", "dash", "ksh", ".", "source"})
_ANYTHING: Final = Value((Text(HOLE, many=True),))
_CALMING: Final = frozenset({"wait", "sleep", "break", "exit", "return", "read"})
_LEAVING: Final = frozenset({"exit", "return", "break", "continue"})
_NOTED: Final = _CALMING | _LEAVING
_KEEPERS: Final = frozenset({"history", "fc"})
"""Builtins that heed a variable of the shell, exported or not."""

Given = tuple[tuple[int, Stdin], ...]


class Commands(Called):
    """The shell, as far as single commands go."""

    def simple(self, node: Simple) -> None:
        """Expand a command's words and run it."""
        if not self.budget.step() or self.budget.invocations <= 0:
            self.budget.exhaust("it starts too many commands")
            return
        self.node = node
        self.outward = ()
        self.listeners = ()
        if node.fixed and not (node.redirects or node.assignments):
            self.prefix = ()
            if node.words:
                self.run(_fixed(node), node, ())
            return
        rows, given = self._rows(node)
        if not node.redirects and not self.outward:
            redirects: tuple[Redirect, ...] = ()
            self._each(node, rows, redirects, given)
            return
        kept = self.stdin, self.sink, self.feeds
        files = self.scope.files
        heard, self.heard = self.heard, None
        redirects = redirected(self, node)
        fed, listeners = self.stdin, self.listeners
        if self.outward:
            self.feeds = (*self.feeds, *self.outward)
        self._each(node, rows, redirects, given)
        if len(rows[0]) == 1 and not given and alone(rows[0][0]) == "exec":
            self._redirected_for_good(*kept[1:])
            self.heard = heard
            return
        said = self.sink
        self.stdin, self.sink, self.feeds = kept
        self.scope.files = files
        if self.heard is not None and said is not None:
            self.tell(self.heard, Stdin(said.result, programs(node)))
        elif listeners and programs(node) == ("tee",) and fed is not None:
            for each in listeners:
                self.tell(each, fed)
        self.heard = heard

    def _redirected_for_good(self, sink: Sink | None, feeds: tuple[str, ...]) -> None:
        """`exec > …`: where all goes that the shell says from here on."""
        self.feeds = feeds
        if self.heard is not None and self.sink is not None and self.sink is not sink:
            self.told_late.append((self.heard, self.sink))

    def tell(self, body: Command, stdin: Stdin) -> None:
        """Walk a command that runs beside the shell again, with what it is sent."""
        kept, self.stdin = self.stdin, stdin
        scope, self.scope = self.scope, self.scope.copy()
        self.command(body)
        self.stdin, self.scope = kept, scope

    def _rows(self, node: Simple) -> tuple[list[Row], Given]:
        """The words that the command may have, and what its `<(…)` give."""
        if node.fixed:
            return [_fixed(node)], ()
        rows: list[list[Value]] = [[]]
        given: list[tuple[int, Stdin]] = []
        for word in node.words:
            self.produced = None
            more = self.word_rows(word)
            if self.produced is not None and _sets_variable(word):
                more = [tuple([self.kept_stream(each) for each in row]) for row in more]
            elif self.produced is not None:
                given.append((len(rows[0]), self.produced))
            if len(rows) * len(more) > _MOST_ROWS:
                texts = dict.fromkeys(each for row in more for value in row for each in value.texts)
                told = telling(texts, _MOST_TOLD)
                more = [(_ANYTHING, *(Value((each,)) for each in told))]
            if len(more) == 1:
                for row in rows:
                    row.extend(more[0])
            else:
                rows = [[*row, *extra] for row in rows for extra in more]
        if rows[0]:
            self._shown(rows[0], node)
        return [tuple(row) for row in rows], tuple(given)

    def _shown(self, row: Sequence[Value], node: Simple) -> None:
        """Note a secret that a command's words hold, where it prints or keeps them."""
        prints = prints_words(row)
        if prints or row[0].only == "set":
            why = shown_secret(node.words, self.scope)
            if why is not None and prints:
                self.doubt(why)
            elif why is not None:
                self.scope.secrets |= POSITIONAL

    def word_rows(self, word: Word | Assignment) -> list[Row]:
        """The fields that one word may become."""
        if isinstance(word, Assignment):
            return [(declared(self, word),)]
        if word.value is not None:
            return [(word.value,)]
        if _whole(word):
            return [(scalar(self, word.parts),)]
        positional = self.scope.positional
        if positional is not None and len(word.parts) == 1 and _is_all(word.parts[0]):
            return [positional]
        ways, from_data = fields(self, word)
        return values(ways, from_data=from_data)

    def _each(
        self, node: Simple, rows: list[Row], redirects: tuple[Redirect, ...], given: Given
    ) -> None:
        environment: Environment = ()
        if node.assignments:
            kept = self.scope
            if node.words:
                self.scope = kept.copy()
            environment = tuple([assigned(self, each) for each in node.assignments])
            self.scope = kept
        self.prefix = environment
        for row in rows:
            if not row:
                if redirects or environment:
                    self.aside_files(node, redirects, environment)
            elif len(row[0].texts) == 1:
                self.run(row, node, redirects, environment, given)
            else:
                for each in row[0].texts[:_MOST_ROWS]:
                    argv = (Value((each,), row[0].from_data), *row[1:])
                    self.run(argv, node, redirects, environment, given)

    def aside_files(
        self, node: Command, redirects: tuple[Redirect, ...], environment: Environment = ()
    ) -> None:
        """Report redirects and assignments that no program stands beside."""
        self.report(Invocation((), self.scope.cwd, self.part(node), redirects, environment,
                               self.stdin, self.feeds, builtin=True, background=self.background,
                               in_endless_loop=self.endless))  # fmt: skip

    def keeps(self, path: Value) -> None:
        """Note a file that the shell itself adds to as it ends."""
        if any(each.text and each.text != HOLE for each in path.texts):
            added = Redirect(Direction.APPEND, path, self.part(self.node))
            self.aside_files(self.node, (added,))

    def report(self, invocation: Invocation) -> None:
        """Add to what is started."""
        self.budget.invocations -= 1
        self.invocations.append(invocation)

    def run(
        self, argv: Row, node: Simple, redirects: tuple[Redirect, ...],
        environment: Environment = (), given: Given = (),
    ) -> None:  # fmt: skip
        """Run one command whose words are known as far as they can be."""
        scope = self.scope
        self.node = node
        first = argv[0].texts
        name = first[0].text if len(first) == 1 and HOLE not in first[0].text else None
        direct = True
        if name in PREFIXES:
            argv, given, direct = self._without_prefixes(argv, given)
            name = alone(argv[0])
        if (scope.aliases or scope.functions) and name is not None and direct:
            if name in scope.aliases:
                self.alias(name, node)
            if name in scope.functions:
                self.function(name, argv, node, redirects, environment)
                return
        if name in _NOTED:
            self.calms += name in _CALMING and self.background is self.apart
            self.leaves = self.leaves or name in _LEAVING
        if scope.files or self.streams:
            given += self._opened(argv)
        if name in _KEEPERS and "HISTFILE" in scope.variables:
            environment = (*environment, ("HISTFILE", scope.variables["HISTFILE"]))
        if scope.environment:
            if environment:
                own = dict(environment)
                others = [pair for pair in scope.environment if pair[0] not in own]
                environment = (*environment, *others)
            else:
                environment = scope.environment
        self.budget.invocations -= 1
        self.invocations.append(
            Invocation(
                argv, scope.cwd, self.whole or Part(node.start, node.end), redirects, environment,
                self.stdin, self.feeds, name in BUILTINS, self.background, self.endless, given,
                tuple(self.streams.items()) if self.streams else (),
            )
        )  # fmt: skip
        self._outcome(name, argv, given)
        self.scope.last = argv[-1]

    def _outcome(self, name: str | None, argv: Row, given: Given) -> None:
        """What a command leaves in the shell, in files and in its output, as far as it is known."""
        if self.stdin is not None and self.stdin.secret and prints_input(argv):
            self.doubt(self.stdin.secret)
        handler = HANDLERS.get(name)
        if handler is not None:
            handler(self, argv, dict(given))
        if name in LEAVES:
            LEAVES[name](self, argv)
        elif self.scope.written and (name in _TAKES_FILES or "/" in (name or "")):
            self._ordered(argv)
        if self.sink is not None:
            streams = [each for _, each in given]
            guess = name is not None and makes(name) and self.budget.guess()
            serial = len(self.invocations)
            write_output(self.sink, argv, self.stdin, self.scope, serial, streams, guess=guess)

    def _ordered(self, argv: Row) -> None:
        """A script that came through a connection is run: the other side says what."""
        for each in argv[:_FIRST_WORDS]:
            if each.only is not None and comes_from_network(each.only, self.scope):
                self.report(Invocation((Value((NETWORK,)),), self.scope.cwd, self.part(self.node)))

    def _without_prefixes(self, argv: Row, given: Given) -> tuple[Row, Given, bool]:
        """The words behind `command`, `builtin` and `exec`; whether there were none of these.

        A function called like one of them counts, as it would for any other builtin.
        """
        name, direct = alone(argv[0]), True
        while name in PREFIXES and not (direct and name in self.scope.functions):
            skipped = PREFIXES[name](argv) if len(argv) > 1 else 0
            if not skipped:
                break
            given = tuple((place - skipped, each) for place, each in given)
            argv, direct = argv[skipped:], False
            self.leaves = self.leaves or name == "exec"
            name = alone(argv[0])
        return argv, given, direct

    def _opened(self, argv: Row) -> Given:
        """What words give that name open descriptors (`/dev/fd/3`)."""
        files, streams = self.scope.files, self.streams
        found: list[tuple[int, Stdin]] = []
        for place, each in enumerate(argv):
            opened = DESCRIPTOR.fullmatch(each.texts[0].text)
            stdin = (streams.get(opened[0]) or files.get(opened[1])) if opened else None
            if stdin is not None:
                found.append((place, stdin))
        return tuple(found)


def _is_all(piece: Piece) -> bool:
    """Whether it is `"$@"`, or `"${@}"`."""
    kind = type(piece)
    if kind is Parameter and (piece.operator or piece.indirect or piece.length):  # type: ignore[union-attr]
        return False
    return kind in (Variable, Parameter) and piece.name == "@" and piece.quoted  # type: ignore[union-attr]


def _sets_variable(word: Word | Assignment) -> bool:
    """Whether a word begins like an assignment (`env NAME=<(…)`)."""
    first = word.parts[0] if isinstance(word, Word) and len(word.parts) > 1 else None
    return type(first) is Literal and "=" in first.text


def _fixed(node: Simple) -> Row:
    """The words of a command of which nothing is expanded."""
    return Fixed([word.value for word in node.words])  # type: ignore[misc]


def _whole(word: Word) -> bool:
    """Whether a word is one field whatever its expansions give: all of it is quoted."""
    for piece in word.parts:
        kind = type(piece)
        if kind is Process or not piece.quoted:  # type: ignore[union-attr]
            return False
        if kind is not Literal and kind in (Variable, Parameter) and listed(piece):  # type: ignore[arg-type]
            return False
    return bool(word.parts)
