"""Walks a script as the shell would run it: which commands start, where, with what around them."""

from typing import Final

from supervisor.policy.bash.invocation import Stdin
from supervisor.policy.bash.shell.algebra import DATA, EMPTY, blurred, literal, union
from supervisor.policy.bash.shell.arithmetic import evaluated
from supervisor.policy.bash.shell.expand import scalar, word_value
from supervisor.policy.bash.shell.globbing import groups, matched, pattern_of
from supervisor.policy.bash.shell.grammar import Grammar
from supervisor.policy.bash.shell.loops import Loops
from supervisor.policy.bash.shell.names import changes, programs
from supervisor.policy.bash.shell.scope import Scope, merged
from supervisor.policy.bash.shell.sink import Sink
from supervisor.policy.bash.shell.streams import redirected
from supervisor.policy.bash.shell.syntax import (
    AndOr,
    Calculation,
    Case,
    Command,
    Condition,
    Coprocess,
    Count,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Script,
    Sequence,
    Simple,
    While,
)
from supervisor.policy.bash.value import UNKNOWN, Value

_PARTS_OF_HEAD: Final = 3
_MOST_COUNTED: Final = 40
_FUNCTION: Final = "BASH_FUNC_"
"""What the name of a variable that holds an exported function begins with."""

_CALLED_BY_SHELL: Final = frozenset({"command_not_found_handle", "command_not_found_handler"})
_HIGHEST_DESCRIPTOR: Final = 63
_ARITHMETIC_TESTS: Final = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})


class Walker(Loops):
    """The shell, as far as its structure goes."""

    def inherit(self, place: tuple[int, int]) -> None:
        """Take over the functions that a shell above has exported."""
        scope = self.scope
        for name, value in list(scope.variables.items()):
            if not name.startswith(_FUNCTION) or not name.endswith("%%"):
                continue
            text = value.only or ""
            if text.startswith("()") and self.budget.open_text(len(text)):
                script = Grammar(name[len(_FUNCTION) : -2] + text, self.budget, place).whole()
                for item in script.body.items[:1]:
                    stage = item.links[0][1].stages[:1]
                    if stage and isinstance(stage[0], Function):
                        scope.functions[stage[0].name] = stage[0]
                        scope.export(name)

    def script(self, node: Script) -> None:
        """A whole text."""
        self.troubles(node)
        self.sequence(node.body)
        for text in self.at_exit:  # with the variables that are there by then
            self.aside(text, "trap")
        for listener, said in self.told_late:
            self.tell(listener, Stdin(said.result))

    def sequence(self, node: Sequence) -> None:
        """Lists one after the other."""
        for item in node.items:
            if len(item.links) == 1 and not item.background:
                stages = item.links[0][1].stages
                if len(stages) == 1 and type(stages[0]) is Simple:
                    self.simple(stages[0])
                    continue
            if not self.budget.step():
                return
            self.and_or(item)

    def and_or(self, node: AndOr) -> None:
        """Pipelines joined by `&&` and `||`."""
        if node.background:
            self._background(node)
        elif len(node.links) == 1:
            self.pipeline(node.links[0][1])
        else:
            self._links(node)

    def _background(self, node: AndOr) -> None:
        before = self.background, self.forked
        self.background = self.forked = True
        self.spawned += 1
        kept, self.scope = self.scope, self.scope.copy()
        if len(node.links) == 1:
            self.pipeline(node.links[0][1])
        else:
            self._links(node)
        self.scope = kept
        self.background, self.forked = before

    def _links(self, node: AndOr) -> None:
        """What stands after `&&` finds what came before done; after `||`, as it was before."""
        before: Scope | None = None
        links = node.links
        conditional = self.conditional
        for place, (operator, pipeline) in enumerate(links):
            self.conditional = conditional or place > 0
            following = links[place + 1][0] if place + 1 < len(links) else ""
            if operator != "||":
                if following == "||" or (place and changes(pipeline)):
                    before = self.scope.copy()
                self.pipeline(pipeline)
                if operator == "&&" and before is not None and changes(pipeline):
                    cwd = self.scope.cwd
                    if self.scope.variables != before.variables and not self.certain(links[:place]):
                        self.scope = merged(self.scope, before)
                        self.scope.cwd = cwd
                continue
            done = self.scope
            sink = self.sink
            printed = sink.value if sink is not None else EMPTY
            self.scope = before if before is not None else done.copy()
            before = self.scope.copy()
            self.leaves = False
            self.pipeline(pipeline)
            if sink is not None:
                sink.value = union((printed, sink.value))
            self.scope = done if self.leaves else merged(done, self.scope)
            self.leaves = False
        self.conditional = conditional

    @staticmethod
    def certain(links: list[tuple[str, Pipeline]]) -> bool:
        """Whether these can't fail: assignments only."""
        return all(
            len(pipeline.stages) == 1
            and isinstance(stage := pipeline.stages[0], Simple)
            and not stage.words
            for _, pipeline in links
        )

    def pipeline(self, node: Pipeline) -> None:
        """One command, or several that feed each other."""
        stages = node.stages
        if len(stages) == 1:
            self.command(stages[0])
            return
        names = [programs(stage) for stage in stages]
        following = [self.feeds]
        for some in reversed(names[1:]):
            following.append(tuple(dict.fromkeys((*some, *following[-1]))))
        following.reverse()
        stdin, sink, feeds, scope = self.stdin, self.sink, self.feeds, self.scope
        forked = self.forked
        self.forked = True
        last = len(stages) - 1
        sources: tuple[str, ...] = stdin.sources if stdin is not None else ()
        for place, stage in enumerate(stages):
            self.feeds = following[place]
            current = Sink() if place < last else sink
            self.sink = current
            if not isinstance(stage, Simple) or changes(stage):
                self.scope = scope.copy()
            self.command(stage)
            self.scope = scope
            if place < last and current is not None:
                sources = tuple(dict.fromkeys((*sources, *names[place])))
                self.stdin = Stdin(current.result, sources)
        self.stdin, self.sink, self.feeds, self.forked = stdin, sink, feeds, forked

    def command(self, node: Command) -> None:
        """One command of any kind."""
        if isinstance(node, Simple):
            self.simple(node)
            return
        if not self.deeper():
            return
        stdin, sink, files = self.stdin, self.sink, self.scope.files
        heard, self.heard = self.heard, None
        if node.redirects and not isinstance(node, Function):
            self.node = node
            if redirects := redirected(self, node):
                self.aside_files(node, redirects)
        self._compound(node)
        if node.redirects:
            said, listener = self.sink, self.heard
            self.stdin, self.sink, self.scope.files = stdin, sink, files
            if listener is not None and said is not None and said is not sink:
                self.tell(listener, Stdin(said.result, programs(node)))
        self.heard = heard
        self.budget.nesting += 1

    def _compound(self, node: Command) -> None:  # noqa: C901 - a table of the kinds there are
        """What stands between a command's keywords."""
        match node:
            case Group():
                self._group(node)
            case If():
                self._if(node)
            case For():
                self.for_each(node)
            case While():
                self.repeat(node)
            case Case():
                self._case(node)
            case Condition():
                self._condition(node)
            case Calculation():
                self.calculation(scalar(self, node.parts))
            case Count():
                self.counted(scalar(self, node.parts))
                self.loop(node.body, node, endless=node.endless)
            case Function():
                self.scope.functions[node.name] = node
                if node.name in _CALLED_BY_SHELL and node.body is not None:
                    self._at_any_word(node.body)
                if self.scope.exports_all:
                    self.scope.export_function(node.name)
            case Coprocess() if node.body is not None:
                self._coprocess(node, node.body)

    def _at_any_word(self, body: Command) -> None:
        """A function that the shell itself calls, for a command that isn't there."""
        kept, self.scope = self.scope, self.scope.copy()
        self.scope.positional = None
        self.command(body)
        self.scope = kept

    def _group(self, node: Group) -> None:
        if not node.subshell:
            self.sequence(node.body)
            return
        kept, sink, self.scope = self.scope, self.sink, self.scope.copy()
        forked, self.forked = self.forked, True
        self.sequence(node.body)
        self.scope, self.sink, self.forked = kept, sink, forked

    def _coprocess(self, node: Coprocess, body: Command) -> None:
        written = str(_HIGHEST_DESCRIPTOR - len(self.coprocesses))
        said = f"1{written}"
        self.coprocesses[written] = body
        self.scope.fill_array(node.name, {"0": literal(said), "1": literal(written)})
        before = self.background, self.forked
        self.background = self.forked = True
        self.spawned += 1
        kept, self.scope = self.scope, self.scope.copy()
        outer, self.sink = self.sink, Sink()
        self.command(body)
        text = self.sink.result if self.sink is not None else DATA
        self.scope, self.sink = kept, outer
        self.scope.files = {**kept.files, said: Stdin(blurred(text), programs(body))}
        self.background, self.forked = before

    def branches(self, bodies: list[Sequence | None]) -> None:
        """Ways of which one is gone; None is doing nothing."""
        start, sink = self.scope, self.sink
        conditional, self.conditional = self.conditional, True
        printed = sink.value if sink is not None else EMPTY
        ends: list[Scope] = []
        outputs: list[Value] = []
        for body in bodies:
            self.scope = start.copy()
            self.leaves = False
            if sink is not None:
                sink.value = printed
            if body is not None:
                self.sequence(body)
            if sink is not None:
                outputs.append(sink.value)
            if not self.leaves:
                ends.append(self.scope)
            self.leaves = False
        if sink is not None:
            sink.value = union(outputs)
        self.scope = ends[0] if ends else start
        for end in ends[1:]:
            self.scope = merged(self.scope, end)
        self.conditional = conditional

    def _if(self, node: If) -> None:
        bodies: list[Sequence | None] = []
        for condition, body in node.branches:
            self.sequence(condition)
            bodies.append(body)
        bodies.append(node.otherwise)
        self.branches(bodies)

    def _case(self, node: Case) -> None:
        value = word_value(self, node.word)
        word = value.only if not (node.falls or self.altered) else None
        bodies: list[Sequence | None] = []
        for patterns, body in node.items:
            fits: bool | None = False
            for pattern in patterns:
                glob = pattern.plain
                if glob is None:
                    scalar(self, pattern.parts)
                    glob = pattern_of(self, pattern.parts) if word is not None else None
                fit = None if word is None or glob is None else matched(word, glob)
                fits = True if fits or fit else None if fits is None or fit is None else False
            if fits is not False:
                bodies.append(body)
            if fits:
                break
        else:
            bodies.append(None)
        self.branches(bodies)

    def counted(self, text: Value) -> None:
        """The head of `for ((a; b; c))`: its variables may be whatever the rounds make of them."""
        parts = (text.only or "").split(";")
        if len(parts) != _PARTS_OF_HEAD:
            self.calculation(text)
            return
        before = dict(self.scope.variables)
        evaluated(self, literal(parts[0]))
        found: dict[str, list[Value]] = {}
        for _ in range(_MOST_COUNTED):
            going = evaluated(self, literal(parts[1])).only if parts[1].strip() else None
            for name, value in self.scope.variables.items():
                if before.get(name) != value:
                    found.setdefault(name, []).append(value)
            if going in (None, "0"):
                break
            evaluated(self, literal(parts[2]))
        for name, values in found.items():
            self.scope.assign(name, union(values if going == "0" else [*values, UNKNOWN]))

    def calculation(self, text: Value) -> None:
        """`(( … ))`: variables may change, and a subscript may run something."""
        only = text.only
        if only is None:
            self.hidden(text)
            return
        for each in only.split(";"):
            evaluated(self, literal(each))

    def _condition(self, node: Condition) -> None:
        found = [word_value(self, word) for word in node.words]
        for place, word in enumerate(node.words[1:-1], 1):
            if word.plain == "=~":
                self.scope.arrays["BASH_REMATCH"] = groups(found[place - 1], found[place + 1])
        for place, word in enumerate(node.words):
            if word.plain in _ARITHMETIC_TESTS:
                for value in found[max(place - 1, 0) : place + 2]:
                    self.hidden(value)
                    named = self.scope.get(value.only) if value.only else None
                    if named is not None:
                        self.hidden(named)
            elif word.plain == "-v" and place + 1 < len(found):
                self.hidden(found[place + 1])
