"""How much a reader looks at before it gives up: counters, no clock, so that it is repeatable."""

from dataclasses import dataclass
from typing import Final

LONGEST: Final = 128 * 1024
"""Characters of a command, bodies of here-documents not counted."""

LONGEST_WITH_DOCUMENTS: Final = 512 * 1024
"""Characters of a command with its here-documents."""


@dataclass(slots=True)
class Budget:
    """What is left for a call and all the texts in it.

    `nodes` counts words and commands, `pieces` quotes, escapes and expansions in them,
    `steps` what is walked (so that a text that is cut short is still looked at up to there),
    `invocations` what is reported, `parses` the texts inside the text, `characters` their length,
    `nesting` how deep texts and structures may still go
    (a level of Python's stack each; the interpreter's limit is 1,000 frames), `guesses` the
    programs of which it is worked out what they print.
    """

    nodes: int = 6_000
    pieces: int = 30_000
    steps: int = 6_000
    invocations: int = 1_500
    parses: int = 150
    characters: int = 128 * 1024
    nesting: int = 28
    guesses: int = 200
    exhausted: str = ""
    """What was used up first, if anything was."""

    def spend(self, nodes: int = 1) -> bool:
        """Take from the nodes; False if there are none left."""
        self.nodes -= nodes
        if self.nodes < 0:
            self.exhaust("it has too many parts")
            return False
        return True

    def step(self) -> bool:
        """Take one from the steps; False if there are none left."""
        self.steps -= 1
        if self.steps < 0:
            self.exhaust("it does too much")
            return False
        return True

    def piece(self) -> bool:
        """Take one from the pieces; False if there are none left."""
        self.pieces -= 1
        if self.pieces < 0:
            self.exhaust("it has too many parts")
            return False
        return True

    def open_text(self, length: int) -> bool:
        """Take one parse of a text of this length; False if it would be too much."""
        self.parses -= 1
        self.characters -= length
        if self.parses < 0 or self.characters < 0:
            self.exhaust("it holds too many texts that are commands themselves")
            return False
        return True

    def guess(self) -> bool:
        """Take one from the guesses; False if there are none left."""
        self.guesses -= 1
        if self.guesses < 0:
            self.exhaust("it makes too many texts")
            return False
        return True

    def exhaust(self, what: str) -> None:
        """Note what was used up; the first one stays."""
        self.exhausted = self.exhausted or what
