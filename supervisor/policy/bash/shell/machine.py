"""A shell at work: its state, what it has been seen to start, and the texts it runs."""

from abc import ABC, abstractmethod
from typing import Final

from supervisor.policy.bash.invocation import Invocation, Part, Stdin, Unresolved
from supervisor.policy.bash.shell.algebra import DATA, EMPTY, literal
from supervisor.policy.bash.shell.expand import Machine, scalar
from supervisor.policy.bash.shell.grammar import Grammar
from supervisor.policy.bash.shell.limits import Budget
from supervisor.policy.bash.shell.names import programs
from supervisor.policy.bash.shell.scope import Scope
from supervisor.policy.bash.shell.sink import Sink
from supervisor.policy.bash.shell.streams import content
from supervisor.policy.bash.shell.syntax import (
    Command,
    Function,
    Group,
    Parts,
    Process,
    Redirection,
    Script,
    Sequence,
    Simple,
    Word,
)
from supervisor.policy.bash.value import HOLE, Text, Value

MOST_TEXTS_RUN: Final = 8
"""Alternatives of a text that are walked."""

_HIGHEST_DESCRIPTOR: Final = 1_063
_DESCRIPTOR: Final = Value((Text(f"/dev/fd/{HOLE}"),))


class Work(ABC, Machine):
    """What all parts of the walk share.

    `produced` is what the last `<(…)` gives, `outward` the programs behind `>(…)` in the command
    at hand and `listeners` what stands in them, `heard` what listens to its output, `prefix` the
    assignments before it. `coprocesses` are those that listen, by their descriptors. `calms` counts
    commands that keep a loop from starting processes without end, and `forked` says that the
    function at hand has started a process since it was called; `altered`, that what can't be told
    may have changed any variable.
    """

    def __init__(
        self, scope: Scope, budget: Budget, stdin: Stdin | None, whole: Part | None
    ) -> None:
        self.scope = scope
        self.budget = budget
        self.stdin = stdin
        self.whole = whole
        self.invocations: list[Invocation] = []
        self.unresolved: list[Unresolved] = []
        self.bombs: list[Part] = []
        self.sink: Sink | None = None
        self.feeds: tuple[str, ...] = ()
        self.background = self.endless = self.conditional = self.forked = False
        self.repeats = False
        self.leaves = False
        self.calms = 0
        self.spawned = 0
        """How many commands were put into the background so far."""
        self.apart = False
        """Whether the innermost loop runs in the background: what rests beside it calms nothing."""
        self.calls: list[tuple[Function, int]] = []
        """The functions that run, and with how many words each was called."""
        self.locals: list[dict[str, Value | None]] = []
        self.node: Command = Simple(0, 0)
        self.produced: Stdin | None = None
        self.streams: dict[str, Stdin] = {}
        """What `<(…)` give whose paths are kept in variables, by these paths."""
        self.outward: tuple[str, ...] = ()
        self.outs: dict[str, Sink] = {}
        """Files that descriptors lead to (`exec 3> FILE`), as they are filled."""
        self.coprocesses: dict[str, Command] = {}
        self.heard: Command | None = None
        self.listeners: tuple[Command, ...] = ()
        self.at_exit: list[Value] = []
        """Texts of traps that run as the shell ends, and have variables in them."""
        self.told_late: list[tuple[Command, Sink]] = []
        """Commands that get all that the shell says from some place on (`exec > >(…)`)."""
        self.altered = False
        self.prefix: tuple[tuple[str, Value], ...] = ()

    @abstractmethod
    def sequence(self, node: Sequence) -> None:
        """Walk lists."""

    @abstractmethod
    def command(self, node: Command) -> None:
        """Walk one command."""

    @abstractmethod
    def keeps(self, path: Value) -> None:
        """Note a file that the shell itself adds to as it ends."""

    # What is reported

    def part(self, node: Command | Redirection | Script) -> Part:
        """Where something stands in the call's command."""
        return self.whole or Part(node.start, node.end)

    def doubt(self, reason: str, node: Command | Script | None = None) -> None:
        """Note what can't be told."""
        self.unresolved.append(Unresolved(reason, self.part(node or self.node)))

    def bomb(self, node: Command) -> None:
        """Note what starts itself without end."""
        self.bombs.append(self.part(node))

    def deeper(self) -> bool:
        """Go a level deeper; False if the budget ends here."""
        if self.budget.nesting <= 0 or not self.budget.step():
            self.budget.exhaust("it is nested too deeply")
            return False
        self.budget.nesting -= 1
        return True

    # Texts that are commands

    def text(self, value: Value, what: str) -> None:
        """Walk a text that the shell runs, in its present state."""
        if not value.known:
            self.altered = True
            self.doubt(f"a piece of what {what} runs can't be known")
        for each in value.texts[:MOST_TEXTS_RUN]:
            if each.text == HOLE or not each.text.strip():
                continue
            if not self.budget.open_text(len(each.text)) or not self.deeper():
                return
            place = (self.node.start, self.node.end)
            script = Grammar(each.text, self.budget, place).whole()
            self.troubles(script)
            kept = self.node
            self.sequence(script.body)
            self.node = kept
            self.budget.nesting += 1
        if len(value.texts) > MOST_TEXTS_RUN:
            self.doubt(f"what {what} runs may be too many things")

    def aside(self, value: Value, what: str) -> None:
        """Walk a text that runs later or elsewhere: this shell's state stays as it is."""
        kept, self.scope = self.scope, self.scope.copy()
        self.text(value, what)
        self.scope = kept

    def troubles(self, script: Script) -> None:
        """Note what kept a text from being read as the shell would."""
        for trouble in script.troubles:
            part = self.whole or Part(trouble.start, trouble.end)
            self.unresolved.append(
                Unresolved(f"the shell's text is malformed: {trouble.reason}", part)
            )

    def hidden(self, text: Value, *, prompt: bool = False) -> None:
        """Substitutions in a text that the shell evaluates again (subscripts, prompts)."""
        for each in text.texts:
            source = each.text
            if "$(" not in source and "`" not in source and "${" not in source:
                if prompt and HOLE in source:
                    self.doubt("a piece of a prompt can't be known")
                continue
            if not self.budget.open_text(len(source)) or not self.deeper():
                return
            grammar = Grammar(source, self.budget, (self.node.start, self.node.end))
            parts = grammar.documented()
            self.troubles(Script(Sequence(), grammar.troubles))
            scalar(self, parts)
            self.budget.nesting += 1

    # Substitutions

    def scalar(self, parts: Parts) -> Value:
        """The parts as one text, neither split nor matched."""
        return scalar(self, parts) if parts else EMPTY

    def captured(self, script: Script) -> Value:
        """Walk a script in a subshell; what it prints."""
        if not self.deeper():
            return DATA
        self.troubles(script)
        kept = (self.scope, self.sink, self.feeds, self.node, self.leaves, self.produced)
        self.scope = self.scope.copy()
        self.sink = sink = Sink()
        self.feeds = ()
        only = script.body.items[0].links[0][1].stages if len(script.body.items) == 1 else []
        self.sequence(script.body)
        if (
            len(only) == 1
            and isinstance(only[0], Simple)
            and not only[0].words
            and any(each.operator == "<" for each in only[0].redirects)
        ):
            for each in only[0].redirects:
                path = each.target.value if isinstance(each.target, Word) else None
                sink.write(DATA if path is None else content(self, path))
        self.scope, self.sink, self.feeds, self.node, self.leaves, self.produced = kept
        self.budget.nesting += 1
        return sink.result

    def substitute(self, script: Script) -> Value:
        """`$(…)`: the output without the newlines at its end."""
        value = self.captured(script)
        if value is DATA:
            return DATA
        return Value(
            tuple(
                dict.fromkeys(
                    Text(
                        each.text.rstrip("\n").replace("\0\n", HOLE),
                        None if each.pattern is None else each.pattern.rstrip("\n"),
                    )
                    for each in value.texts
                )
            ),
            value.from_data,
        )

    def process(self, piece: Process) -> Value:
        """`<(…)` and `>(…)`: a path under /dev/fd."""
        if piece.direction == "<":
            names = tuple(
                dict.fromkeys(
                    name
                    for item in piece.script.body.items
                    for _, pipeline in item.links
                    for stage in pipeline.stages
                    for name in programs(stage)
                )
            )
            self.produced = Stdin(self.captured(piece.script), names)
        else:
            kept = self.stdin
            self.stdin = Stdin(DATA, (self._program(),))
            self.captured(piece.script)
            self.stdin = kept
            listener = Group(0, 0, [], piece.script.body)
            self.listeners = (*self.listeners, listener)
            self.outward += programs(listener)
        return _DESCRIPTOR

    def kept_stream(self, value: Value) -> Value:
        """The path of a `<(…)` that is kept in a variable, so that it can be told from others."""
        produced, self.produced = self.produced, None
        if produced is None or len(value.texts) != 1:
            return value
        path = f"/dev/fd/{_HIGHEST_DESCRIPTOR - len(self.streams)}"
        self.streams[path] = produced
        return literal(value.texts[0].text.replace(f"/dev/fd/{HOLE}", path))

    def _program(self) -> str:
        found = programs(self.node)
        return found[0] if found else ""
