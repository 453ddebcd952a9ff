"""Programs with subcommands: the words down to the last of them."""

from collections.abc import Sequence

from supervisor.policy.bash.options import Parsed, parse
from supervisor.policy.bash.table import Command, Operands, Role
from supervisor.policy.bash.use import GUESSED, Use
from supervisor.policy.bash.value import HOLE, Value


def descend(use: Use, command: Command, argv: Sequence[Value], at: int = 1) -> None:
    """Parses the words down to the last subcommand."""
    if not command.commands:
        use.parsed = parse(command, argv, at)
        return
    values = []
    tags: set[str] = set()
    doubts: list[Value] = []
    puts: list[Value] = []
    reports: list[Value] = []
    loose = False
    other: Command | None = None
    while True:
        parsed = parse(command, argv, at, style="stop" if command.commands else None)
        values.extend(parsed.values)
        doubts.extend(parsed.doubts)
        puts.extend(parsed.puts)
        reports.extend(parsed.reports)
        tags |= parsed.tags
        if not command.commands or not parsed.operands or "help" in tags:
            break
        text = parsed.operands[0].texts[0].text
        other = command.commands.get("*") or other
        child = command.commands.get(text)
        whole = child is None and other is not None and "whole" in other.tags
        if child is None:
            child = other
            tags.add(GUESSED)
            if "." in text or "/" in text or "@" in text:
                doubts.append(parsed.operands[0])
        if child is None:
            if HOLE in text:
                loose = True
            child = Command(Operands(middle=Role("doubt")), command.options)
        at = len(argv) - len(parsed.operands) + (0 if whole else 1)
        command = child
    use.command, use.at = command, at
    use.parsed = Parsed(
        values,
        parsed.operands,
        tags,
        parsed.before,
        parsed.loose or loose,
        doubts,
        puts,
        reports,
    )
    if loose:
        use.unknown("which of its subcommands runs can't be told before it runs")
