"""A text that is being read, the place in it, and what was found wrong with it."""

import re
from typing import Final

from supervisor.policy.bash.shell.limits import Budget
from supervisor.policy.bash.shell.syntax import Trouble

_BLANKS: Final = re.compile(r"(?:[ \t]|\\\n)*")
SKIPPED: Final = frozenset(" \t\\")
"""What blanks and continued lines begin with."""


class Broken(Exception):
    """A text isn't what the shell would read; `start` is where, `fatal` that no look goes on."""

    def __init__(self, reason: str, start: int, *, fatal: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.start = start
        self.fatal = fatal


class Cursor:
    """A text and the place in it up to which it has been read.

    `fixed` is the place that all of it is said to have, for a text that stood inside another one.
    """

    def __init__(self, text: str, budget: Budget, fixed: tuple[int, int] | None = None) -> None:
        self.text = text
        self.at = 0
        self.size = len(text)
        self.budget = budget
        self.fixed = fixed
        self.troubles: list[Trouble] = []

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where something stands in the text as it was given."""
        return self.fixed or (start, end)

    def peek(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.at] if self.at < self.size else ""

    def blanks(self) -> str:
        """Step over blanks and continued lines; the character behind them."""
        at = self.at
        match = _BLANKS.match(self.text, at)
        if match is not None:
            at = self.at = match.end()
        return self.text[at] if at < self.size else ""

    def note(self, problem: Broken) -> None:
        """Keep what is wrong."""
        start, end = self.place(problem.start, self.size)
        self.troubles.append(Trouble(problem.reason, start, max(start, end)))

    def afford(self, nodes: int = 1) -> None:
        """Take from the words and commands that may be looked at."""
        if self.budget.nodes >= nodes:
            self.budget.nodes -= nodes
        elif not self.budget.spend(nodes):
            raise Broken("it has too many parts", self.at, fatal=True)

    def count(self) -> None:
        """Take one from the pieces that may be looked at."""
        if not self.budget.piece():
            raise Broken("it has too many parts", self.at, fatal=True)

    def nest(self) -> None:
        """Go one level deeper."""
        self.budget.nesting -= 1
        if self.budget.nesting < 0 or not self.budget.spend():
            self.budget.exhaust("it is nested too deeply")
            raise Broken("it is nested too deeply", self.at, fatal=True)
