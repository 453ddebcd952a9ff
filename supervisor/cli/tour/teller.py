"""Tells the tour on a terminal or into a file: one line a fact, nothing that a terminal obeys."""

from typing import Final, TextIO

from rich.console import Console
from rich.text import Text

from supervisor.cli.render import neutral
from supervisor.cli.tour.claims import Act, Claim, shortened

_SUBJECT_WIDTH: Final = 100
_LINE_WIDTH: Final = 90
_STYLES: Final = {True: "bold green", False: "bold red"}
_WORDS: Final = {True: "held", False: "NOT HELD"}


class Teller:
    """Writes the tour. Colours only where the file is a terminal."""

    def __init__(self, file: TextIO) -> None:
        self._console = Console(file=file, highlight=False, markup=False, emoji=False)
        self._steps = 0

    def line(self, text: str = "", style: str = "") -> None:
        """A line as it is."""
        self._console.print(Text(neutral(text), style=style), soft_wrap=True)

    def step(self, title: str) -> None:
        """A new step begins."""
        self._steps += 1
        self.line()
        self.line(f"{self._steps}. {title}", "bold")

    def message(self, text: str, session: str) -> None:
        """What the person says."""
        self.line(f"   person   {text}   [{session}]", "cyan")

    def act(self, act: Act) -> None:
        """A tool call that has been made; what came of it is told with the claims."""
        self.line(f"   agent    {act.tool}: {shortened(act.subject, _SUBJECT_WIDTH)}", "cyan")

    def note(self, text: str) -> None:
        """Something else that happened."""
        self.line(f"   tour     {text}", "yellow")

    def answer(self, text: str) -> None:
        """What the agent says in the end."""
        self.line(f"   agent    “{shortened(text)}”", "cyan")

    def claim(self, claim: Claim) -> None:
        """A claim with what it is judged by, beside it where both are short."""
        text = Text(f"   {_WORDS[claim.held]:<8} ", style=_STYLES[claim.held])
        text.append(neutral(claim.sentence), style="")
        beside = len(claim.sentence) + len(claim.evidence) <= _LINE_WIDTH
        text.append(": " if beside else "\n            ", style="dim")
        text.append(neutral(claim.evidence), style="dim")
        self._console.print(text, soft_wrap=True)
