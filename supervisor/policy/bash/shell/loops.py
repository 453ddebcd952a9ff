"""Loops: walked round by round where the words are known, else from any state that may come."""

from typing import Final

from supervisor.policy.bash.shell.algebra import DATA, EMPTY, join, telling, union
from supervisor.policy.bash.shell.commands import Commands
from supervisor.policy.bash.shell.names import programs
from supervisor.policy.bash.shell.scope import Scope, merged
from supervisor.policy.bash.shell.secrets import shown_secret
from supervisor.policy.bash.shell.syntax import Command, For, Sequence, Simple, While
from supervisor.policy.bash.value import MOST_TEXTS, Value

MOST_ROUNDS: Final = 24
"""Rounds of a loop that are walked one by one."""

_MOST_ROWS: Final = 8
_MOST_TOLD: Final = 512
_ALWAYS: Final = ((":",), ("true",))
_NEVER: Final = (("false",),)


class Loops(Commands):
    """The shell, as far as its loops go.

    `within_rest` says that the words of a loop around are looked at that are too many.
    """

    within_rest = False

    def for_each(self, node: For) -> None:
        """`for` and `select`: all words at once if the rounds are alike, else one by one."""
        given = self._given(node)
        found = max(given, key=len)
        if not found:
            return
        alone = len(found) == 1 and len(given) == 1
        if node.words is None:
            hold = "@" in self.scope.secrets
        else:
            hold = shown_secret(node.words, self.scope) is not None
        if hold:
            self.scope.secrets |= {node.name}
        everything = found[0] if alone else union(value for row in given for value in row)
        if node.select:
            self.scope.assign(node.name, everything)
            self.loop(node.body, node)
            return
        conditional = self.conditional
        self.conditional = conditional or any(
            each.pattern is not None or each.many for each in everything.texts
        )
        self._rounds(node, given, found, everything)
        if sum(map(len, given)) > MOST_TEXTS and not self.within_rest:
            self._rest(node, given, everything)
        self.conditional = conditional

    def _rest(self, node: For, given: list[tuple[Value, ...]], everything: Value) -> None:
        """Walk the body for words that are too many to be looked at together."""
        texts = (each for row in given for value in row for each in value.texts)
        seen = frozenset(everything.texts)
        rest = [each for each in telling(texts, _MOST_TOLD) if each not in seen]
        self.within_rest = True
        for place in range(0, len(rest), MOST_TEXTS):
            self.scope.assign(node.name, Value(tuple(rest[place : place + MOST_TEXTS])))
            self.sequence(node.body)
        self.within_rest = False

    def _rounds(
        self, node: For, given: list[tuple[Value, ...]], found: tuple[Value, ...], everything: Value
    ) -> None:
        """Walk the body for the words."""
        start, mark, sink = self.scope, len(self.invocations), self.sink
        printed = sink.value if sink is not None else EMPTY
        self.scope = start.copy()
        self.scope.assign(node.name, everything)
        changed = self._round(node.body, start, node.name)
        if (len(found) == 1 and len(given) == 1) or (not changed and sink is None):
            return
        if len(given) == 1 and len(found) <= MOST_ROUNDS:
            together = self.invocations[mark:]
            del self.invocations[mark:]
            self.scope = start
            if sink is not None:
                sink.value = printed
            for value in found:
                self.scope.assign(node.name, value)
                self.sequence(node.body)
            if self.budget.exhausted:
                self.invocations[mark:mark] = together
            return
        if sink is not None:
            sink.value = join((printed, DATA))
        self._again(node.body, start, node.name, everything)

    def _given(self, node: For) -> list[tuple[Value, ...]]:
        """The words of the loop, for each number of words that there may be."""
        if node.words is None:
            return [self.scope.positional if self.scope.positional is not None else (DATA,)]
        given: list[list[Value]] = [[]]
        for word in node.words:
            rows = self.word_rows(word) if word.value is None else [(word.value,)]
            if len(rows) == 1:
                for each in given:
                    each.extend(rows[0])
            else:
                given = [[*before, *row] for before in given for row in rows][:_MOST_ROWS]
        return [tuple(each) for each in given]

    def _round(self, body: Sequence, start: Scope, name: str = "") -> bool:
        """Walk a loop's body once; whether it changed what later rounds see."""
        before = dict(self.scope.variables)
        self.sequence(body)
        after = self.scope.variables
        if self.scope.cwd != start.cwd or self.scope.arrays != start.arrays:
            return True
        return before != after and any(
            before.get(each) != after.get(each) for each in before.keys() | after.keys() - {name}
        )

    def _again(
        self, body: Sequence, start: Scope, name: str = "", value: Value | None = None
    ) -> None:
        """Walk a body again from any state that a round may leave."""
        self.scope = merged(start, self.scope)
        if value is not None:
            self.scope.assign(name, value)
        for each, held in list(self.scope.variables.items()):
            if each != name and start.variables.get(each) != held:
                self.scope.variables[each] = union((held, DATA))
        self.sequence(body)
        self.scope = merged(start, self.scope)

    def loop(self, body: Sequence, node: Command, *, endless: bool = False) -> None:
        """A loop of which nobody knows how often it runs."""
        before, self.endless = self.endless, self.endless or endless
        conditional, self.conditional = self.conditional, self.conditional or not endless
        start, sink = self.scope, self.sink
        printed = sink.value if sink is not None else EMPTY
        calms, spawned = self.calms, self.spawned
        apart, self.apart = self.apart, self.background
        self.scope = start.copy()
        changed = self._round(body, start)
        self.apart = apart
        if endless and self.calms == calms and self.spawned > spawned:
            self.bomb(node)
        if changed:
            self._again(body, start)
        else:
            self.scope = merged(start, self.scope)
        if sink is not None:
            sink.value = join((printed, DATA))
        self.endless, self.conditional = before, conditional

    def repeat(self, node: While) -> None:
        """`while` and `until`."""
        first = node.condition.items[0] if len(node.condition.items) == 1 else None
        always = False
        if first is not None and len(first.links) == 1 and len(first.links[0][1].stages) == 1:
            names = programs(first.links[0][1].stages[0])
            always = names in (_NEVER if node.until else _ALWAYS)
        kept, self.repeats = self.repeats, True
        apart, self.apart = self.apart, self.background
        self.sequence(node.condition)
        self.apart = apart
        before = dict(self.scope.variables)
        compound = any(
            not isinstance(stage, Simple)
            for item in node.condition.items
            for _, pipeline in item.links
            for stage in pipeline.stages
        )
        self.loop(node.body, node, endless=always)
        if compound and self.scope.variables != before:
            self.sequence(node.condition)
        self.repeats = kept
