"""What was left out of a CLI process's output: counted, told of once, and bounded.

Below `wire.py`, which decides what is left out. Pure.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from supervisor.runtimes.admitted import Flooded, Objection

MAX_OBJECTIONS: Final = 1_000_000
"""Lines of a turn that were read in vain: each costs some microseconds of everybody's time."""
MAX_BLANK_LINES: Final = 1_000
"""That nobody is told of."""


class Objections:
    """Of one turn. A kind is told of when it first occurs, and its number at the end."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._read_in_vain = 0
        self._blank_lines = 0

    def to(self, code: str, what: str) -> Iterator[Objection]:
        """Object to a line that was read. Raises Flooded: that many are too many at some point."""
        yield from self.unread(code, what)
        self._read_in_vain += 1
        if self._read_in_vain > MAX_OBJECTIONS:
            raise Flooded

    def unread(self, code: str, what: str, count: int = 1) -> Iterator[Objection]:
        """Object to lines that cost nothing, as nobody read them."""
        before = self._counts[code]
        self._counts[code] += count
        if before == 0 and count:
            yield Objection(code, f"{what} from the agent process was left out")

    def blank(self, count: int) -> Iterator[Objection]:
        """Note blank lines, which are told of only where there are very many."""
        before = self._blank_lines
        self._blank_lines += count
        if before <= MAX_BLANK_LINES < self._blank_lines:
            yield Objection("blank_lines", "blank lines from the agent process are left out")

    def summary(self) -> Iterator[Objection]:
        """How many of each kind there were, where it was more than the one that was told of."""
        for code, count in self._counts.items():
            if count > 1:
                yield Objection(code, f"{count} such lines from the agent process were left out")
