"""Which leading words of a command say enough of what it does to be granted."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from supervisor.policy.bash.table import Command, CommandTable, Operands, Role
from supervisor.policy.bash.value import HOLE
from supervisor.policy.grant_pattern import MOST_WORDS, bare_program

_RUNS: Final = frozenset({"shell", "line", "command", "argument", "program", "script", "source"})
"""Roles of operands that are run: what such a command does isn't in its first words."""
_LITTLE: Final = frozenset({"sed", "jq"})
"""Languages whose programs are looked through, and run nothing by themselves."""
_CARRIERS: Final = frozenset(
    """env interpreter parallel shell ssh xargs docker-run escalate awk busybox expect gdb
    loader tmux trap""".split()  # noqa: SIM905  (a table to read)
)
"""Readers of programs that run what their words name."""
_RUN_AT_ONCE: Final = frozenset(
    """bunx dlx eval exec npx pipx source uvx .""".split()  # noqa: SIM905  (a table to read)
)
_TARGETED: Final = frozenset(
    [("make",), ("just",), ("npm", "run"), ("pnpm", "run"), ("yarn",), ("yarn", "run")]
)
"""Commands whose next word names what is done."""
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_:-]*\Z")
_MOST_UNKNOWN: Final = 2
"""Words of a program that isn't known, of which the second may be a subcommand."""


def prefixes(
    words: Sequence[str], table: CommandTable, *, starts_others: bool = False
) -> tuple[tuple[str, ...], ...]:
    """Leading words that could be granted, the most first; none where they would mean anything.

    `starts_others`: this command starts another one, as `find -exec` does.
    """
    if not words or HOLE in words[0]:
        return ()
    program = bare_program(words[0])
    if "/" in program or not program.strip() or program in _RUN_AT_ONCE:
        return ()  # a program that lies somewhere is another one in another folder
    command = table.find(program)
    if starts_others or (command is not None and _carries(command)):
        return ()
    leading = tuple(_leading(program, words[1:], command))[:MOST_WORDS]
    return tuple(leading[:count] for count in range(len(leading), 0, -1))


def _leading(program: str, rest: Iterable[str], command: Command | None) -> Iterator[str]:
    said = [program]
    yield program
    for word in rest:
        if _PLAIN.match(word) is None:
            return
        below = command.commands.get(word) if command is not None else None
        if below is not None and _carries(below):
            return
        guessed = command is None and len(said) < _MOST_UNKNOWN
        if below is None and not guessed and tuple(said) not in _TARGETED:
            return
        said.append(word)
        yield word
        if below is None:
            return
        command = below


def _carries(command: Command) -> bool:
    if command.reader in _CARRIERS or command.elsewhere:
        return True
    return any(
        role.kind in _RUNS or (role.kind == "code" and role.detail not in _LITTLE)
        for operands in _all_operands(command)
        for role in _roles(operands)
    )


def _all_operands(command: Command) -> Iterator[Operands]:
    yield command.operands
    for overlay in command.when:
        if overlay.operands is not None:
            yield overlay.operands


def _roles(operands: Operands) -> Iterator[Role]:
    yield from operands.front
    if operands.middle is not None:
        yield operands.middle
    yield from operands.back
