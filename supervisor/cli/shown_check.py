"""How a check is shown at a terminal: how it came out, what was found, and what to do."""

from typing import Final

from rich.console import Console
from rich.text import Text

from supervisor.cli.neutral import neutral
from supervisor.cli.remedies import at_a_terminal
from supervisor.observability.health import Check

_WORDS: Final = {True: ("ok", "green"), False: ("problem", "bold red"), None: ("info", "dim")}


def show(screen: Console, check: Check) -> None:
    """Show one."""
    word, style = _WORDS[check.ok]
    line = Text.assemble((f"{word:8}", style), neutral(f"{check.name}: {check.detail}"))
    screen.print(line, soft_wrap=True)
    if check.remedy and check.ok is not True:
        what = f"        what to do: {neutral(at_a_terminal(check.remedy))}"
        screen.print(Text(what), soft_wrap=True)
