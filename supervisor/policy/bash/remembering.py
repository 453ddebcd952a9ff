"""Looks at the commands of a call with what is remembered of those of other calls."""

from abc import ABC, abstractmethod
from typing import Final

from supervisor.policy.bash.gathered import Gathered
from supervisor.policy.bash.invocation import Invocation
from supervisor.policy.bash.memory import Memory, key_of, place_of, placed_at, started_by

MOST_COMMANDS: Final = 3_000
MOST_EFFECTS: Final = 20_000
_OUTERMOST: Final = 1


class Remembering(Gathered, ABC):
    """The part of a look that asks the memory first."""

    @abstractmethod
    def named(self, invocation: Invocation, name: str) -> None:
        """Looks at a command by its program's name."""

    @abstractmethod
    def certain(self, invocation: Invocation, name: str, words: tuple[str, ...]) -> None:
        """The same where each of its words is one text that is known."""

    def remembered(self, invocation: Invocation, name: str, memory: Memory) -> None:
        """A command, whose effects may be known from another call if only its words make them."""
        if invocation.cwd is not self._cwd:
            self._cwd, self._place = invocation.cwd, place_of(invocation.cwd)
        place = self._place
        key = (
            None
            if place is None or self._kept.has_programs
            else key_of(invocation, place, self.home, wrote=not self._kept.empty)
        )
        if key is None:
            self.asked += 1
            self.named(invocation, name)
            return
        effects, part = self.effects, invocation.part
        held = memory.get(key)
        if held is not None:
            done, started, _ = held
            if not started or self._may_start(len(started), len(done)):
                for each in done:
                    effects.append(placed_at(part, each))
                if started:
                    self.seen += started_by(invocation, held)
                return
        size, asked, seen = len(effects), self.asked, len(self.seen)
        self.certain(invocation, name, key.words)
        if self.asked == asked and self._kept.empty is not key.wrote:
            if len(self.seen) == seen:
                memory.hold(key, effects[size:], invocation)
            elif self._depth == _OUTERMOST:
                memory.hold(key, effects[size:], invocation, self.seen[seen:])

    def _may_start(self, commands: int, effects: int) -> bool:
        """Whether so many commands and effects meet no limit, as they didn't at the first time.

        How deep they go is known of what stands in the call's own text.
        """
        return (
            self._depth == _OUTERMOST
            and len(self.seen) + commands <= MOST_COMMANDS
            and len(self.effects) + effects <= MOST_EFFECTS
        )
