"""Tells the tour on a terminal or into a file, for newcomers; nothing that a terminal obeys."""

from collections.abc import Sequence
from typing import Final, TextIO

from rich.console import Console
from rich.text import Text

from supervisor.cli.neutral import neutral
from supervisor.cli.tour.claims import Act, Claim, shortened
from supervisor.errors import TrustfloorError

_SUBJECT_WIDTH: Final = 100
_LINE_WIDTH: Final = 90
_COMMAND_LINES: Final = 16
_MARGIN: Final = " " * 12
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
        lines = act.subject.strip().splitlines()
        if len(lines) <= 1:
            self.line(f"   agent    {act.tool}: {shortened(act.subject, _SUBJECT_WIDTH)}", "cyan")
            return
        title = act.input.get("description") or "a script"
        self.line(f"   agent    {act.tool}: {shortened(str(title), _SUBJECT_WIDTH)}", "cyan")
        self._block(lines)

    def note(self, text: str) -> None:
        """Something else that happened."""
        self.line(f"   tour     {text}", "yellow")

    def asks(self, tool: str, display: str) -> None:
        """A request for approval, as it is shown to the person."""
        self.line(f"   asks     {tool} needs the person's approval. What would run:", "yellow")
        self._block(display.strip().splitlines())

    def decides(self, verdict: str) -> None:
        """What the person says to it."""
        self.line(f"   person   {verdict}", "cyan")

    def failure(self, error: Exception) -> None:
        """Why there is no tour, and what to do."""
        self.line(f"error: {error or type(error).__name__}", "bold red")
        if isinstance(error, TrustfloorError):
            if error.where:
                self.line(f"  where: {error.where}", "red")
            if error.remedy:
                self.line(f"  what to do: {error.remedy}", "red")

    def answer(self, text: str) -> None:
        """What the agent says in the end."""
        self.line(f"   agent    “{shortened(text)}”", "cyan")

    def claim(self, claim: Claim) -> None:
        """A claim with what it is judged by, beside it where both are short."""
        text = Text(f"   {_WORDS[claim.held]:<8} ", style=_STYLES[claim.held])
        text.append(neutral(claim.sentence), style="")
        beside = len(claim.sentence) + len(claim.evidence) <= _LINE_WIDTH
        text.append(": " if beside else f"\n{_MARGIN}", style="dim")
        text.append(neutral(claim.evidence), style="dim")
        self._console.print(text, soft_wrap=True)

    def _block(self, lines: Sequence[str]) -> None:
        for line in lines[:_COMMAND_LINES]:
            self.line(f"{_MARGIN}{line}", "dim")
        if len(lines) > _COMMAND_LINES:
            self.line(f"{_MARGIN}… and {len(lines) - _COMMAND_LINES} more lines", "dim")
