"""What goes wrong with a command, on standard error: what, where, and what to do."""

import sys

from supervisor.cli.neutral import neutral


def complain(message: str, where: str | None = None, remedy: str | None = None) -> None:
    """A line, and what belongs to it; nothing that is told can move a terminal's cursor."""
    lines = [message]
    if where:
        lines.append(f"  where: {where}")
    if remedy:
        lines.append(f"  {remedy}" if remedy.startswith("did you") else f"  what to do: {remedy}")
    sys.stderr.write("".join(neutral(line) + "\n" for line in lines))


def complain_of_error(message: str, where: str | None = None, remedy: str | None = None) -> None:
    """The same, called an error."""
    complain(f"error: {message}", where, remedy)
