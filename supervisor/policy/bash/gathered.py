"""What the analysis of one call has seen and found so far."""

from collections.abc import Callable
from operator import itemgetter
from typing import Final

from supervisor.policy.bash.effect import Act, Effect, ShellContext
from supervisor.policy.bash.invocation import Fixed, Invocation, Part
from supervisor.policy.bash.kept_scripts import KeptScripts
from supervisor.policy.bash.memory import Memory
from supervisor.policy.bash.read import Budget
from supervisor.policy.bash.renamed import Renamed
from supervisor.policy.bash.table import CommandTable
from supervisor.policy.bash.value import HOLE, Text, Value

_MOST_FEEDERS: Final = 8
_READS: Final = frozenset({"read", "mapfile", "readarray"})
_MAGIC: Final = frozenset("*?[")


def _matched(word: Value) -> Value:
    """What the shell matches of a word that isn't known whole: up to its end, if only that isn't.

    `"$f: $(wc -l < "$f")"` in a loop over `docs/*.md` is matched as `docs/*.md: `.
    """
    found: list[Text] = []
    for each in word.texts:
        if each.pattern is not None:
            start, _, end = each.pattern.partition(HOLE)
            open_end = not each.known and _MAGIC.isdisjoint(end)
            found.append(Text(each.text.partition(HOLE)[0], start) if open_end else each)
    return Value(tuple(found), word.from_data)


class Gathered:
    """The commands and effects of one call, and what readers of commands ask about them."""

    def __init__(
        self, context: ShellContext, table: CommandTable, memory: Memory | None = None
    ) -> None:
        self.table = table
        self.memory = memory
        self.context = context
        self.home = context.home
        self.start = context.cwd
        self.budget = Budget()
        self.effects: list[Effect] = []
        self.seen: list[Invocation] = []
        self.complete = True
        self.repeats = False
        """Whether the same command may have been looked at more than once."""
        self.notes: list[str] = []
        self.asked = 0
        """How often more was asked for than a command's own words, or what it starts, tell."""
        self._cwd: Value | None = None
        self._place: str | None = None
        """The folder of the last command, and what it is as part of a key."""
        self._kept = KeptScripts()
        self._renamed = Renamed(self._kept, table, self._before)
        self._indexed = 0
        self.followed: dict[str, list[bool]] = {}
        """Scripts of the call's own that are being followed, and how they start themselves."""
        self._by_name: dict[str, list[tuple[int, Invocation]]] = {}
        """What was seen, up to the command `_indexed`, by the first word and with its number."""
        self._reading: Invocation | None = None
        self._depth = 0

    @property
    def kept(self) -> KeptScripts:
        """What the call has put into files so far."""
        self.asked += not self._kept.empty
        return self._kept

    def add(self, effect: Effect) -> None:
        """Adds an effect."""
        self.effects.append(effect)

    def matched(self, invocation: Invocation) -> None:
        """What a builtin is given by a glob: the names in the folders that it looks through."""
        if type(invocation.argv) is Fixed:
            return
        for word in invocation.argv[1:]:
            if any(each.pattern is not None and "/" in each.text for each in word.texts):
                name = invocation.argv[0].texts[0].text
                found = word if word.known else _matched(word)
                self.add(
                    Effect(Act.LIST, name, invocation.part, "is looked for", found, invocation.cwd)
                )

    def feeders(self, invocation: Invocation) -> list[Invocation]:
        """The commands of this call that feed this one, in the order of their text."""
        self.asked += 1
        stdin = invocation.stdin
        if stdin is None:
            return []
        self._index()
        found = [
            (number, each)
            for name in set(stdin.sources)
            for number, each in self._by_name.get(name, ())[-_MOST_FEEDERS - 1 :]
            if invocation is not each
        ]
        found.sort(key=itemgetter(0))
        return [each for _, each in found[-_MOST_FEEDERS:]]

    def _before(self, invocation: Invocation) -> list[Invocation]:
        """The commands that feed one, or stand in its `<(…)`."""
        inner = self.within(invocation.part) if invocation.substitutions else []
        return [*self.feeders(invocation), *inner]

    def reading(self) -> Invocation | None:
        """The last `read` that gets what a command prints through a pipe."""
        self.asked += 1
        self._index()
        return self._reading

    def within(self, part: Part) -> list[Invocation]:
        """The commands that stand inside of a part of the call, in the order of their text."""
        self.asked += 1
        return [
            each
            for each in self.seen[-_MOST_FEEDERS:]
            if each.argv and part.start < each.part.start and each.part.end < part.end
        ]

    def gathered(self, do: Callable[[], None]) -> list[Effect]:
        """The effects of `do`, which are then nowhere else."""
        before, self.effects = self.effects, []
        try:
            do()
            return self.effects
        finally:
            self.effects = before

    def limit(self, part: Part, reason: str) -> None:
        """Says once that the look was cut short."""
        self.asked += 1
        if self.complete:
            self.complete = False
            self.add(Effect(Act.UNKNOWN, "", part, reason))

    def _index(self) -> None:
        """Sorts in what was seen since the last time: most calls never ask."""
        for number in range(self._indexed, len(self.seen)):
            invocation = self.seen[number]
            if invocation.argv:
                name = invocation.argv[0].texts[0].text
                self._by_name.setdefault(name, []).append((number, invocation))
                stdin = invocation.stdin
                if name in _READS and stdin is not None and stdin.sources:
                    self._reading = invocation
        self._indexed = len(self.seen)
