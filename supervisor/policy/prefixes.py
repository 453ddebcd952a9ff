"""Which leading words of a command say enough of what it does to be granted."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.table import Command, Operands, Role
from supervisor.policy.bash.use import RUN
from supervisor.policy.bash.value import HOLE
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.grant_pattern import MOST_WORDS, bare_program

_RUNS: Final = frozenset({"shell", "line", "command", "argument", "program", "script", "source"})
"""Roles of operands that are run: what such a command does isn't in its first words."""
_INTERPRETERS: Final = frozenset({"interpreter", "shell"})
_MODULE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
_SOMEWHERE: Final = ("/", "/root")
"""A folder, and a home, of which nothing depends."""
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
    """make just yarn rake mvn mvnw gradle gradlew nx turbo task sbt mage npm·run pnpm·run yarn·run
    nx·run turbo·run""".split()  # noqa: SIM905  (a table to read)
)
"""Commands whose next word names what is done."""
_WHERE: Final = frozenset({"repository", "host"})
"""Roles of a first operand that says where something goes."""
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_:-]*\Z")
_MOST_UNKNOWN: Final = 2
"""Words of a program that isn't known, of which the second may be a subcommand."""


def prefixes(
    words: Sequence[str], policy: CompiledPolicy, *, starts_others: bool = False
) -> tuple[tuple[str, ...], ...]:
    """Leading words that could be granted, the most first; none where they would mean anything.

    What is run must stand in them: of a launcher (`npx`, `uv run`) they hold the program that it
    starts, of an interpreter the script or module. `starts_others`: this command starts another
    one, as `find -exec` does.
    """
    if not words or HOLE in words[0] or not words[0].strip():
        return ()
    program = bare_program(words[0])
    whole = (program, *words[1:])
    command = policy.commands.find(program)
    if command is not None and _is_launcher(command, words[1:]):
        return _through(whole, policy)
    if command is not None and "/" not in program and _carries(command):
        named = _up_to_target(whole, policy, Act.READ, RUN)
        return (named,) if named and command.reader in _INTERPRETERS else ()
    if starts_others or program in _RUN_AT_ONCE or ("/" in program and not _is_local(program)):
        return ()
    leading = tuple(_leading(program, words[1:], command))[:MOST_WORDS]
    reached = _up_to_target(whole, policy, Act.SEND)
    found = [leading[:count] for count in range(len(leading), 0, -1)]
    return tuple(dict.fromkeys([reached, *found] if len(reached) > len(leading) else found))


def _is_local(program: str) -> bool:
    return not program.startswith(("/", "~")) and ".." not in program.split("/")


def _is_launcher(command: Command, rest: Sequence[str]) -> bool:
    """Whether its operands are the words of a program that it runs here."""
    for word in rest:
        below = command.commands.get(word)
        if below is None:
            break
        command = below
    operands = command.operands
    kinds = {role.kind for role in _roles(operands)}
    return (
        kinds == {"command"}
        and command.reader is None
        and not (command.elsewhere or command.harmless)
    )


def _through(words: tuple[str, ...], policy: CompiledPolicy) -> tuple[tuple[str, ...], ...]:
    """The words of a launcher with those of what it starts."""
    if any(HOLE in word for word in words):
        return ()
    for effect in policy.effects_of(words, *_SOMEWHERE)[1:]:
        count = len(words) - len(effect.words)
        if effect.act is Act.EXECUTE and count > 0 and effect.words == words[count:]:
            return tuple((*words[:count], *each) for each in prefixes(effect.words, policy))
    return ()


def _up_to_target(
    words: tuple[str, ...], policy: CompiledPolicy, act: Act, reason: str = ""
) -> tuple[str, ...]:
    """The words up to the first that names the script that is run, or the host that is reached."""
    known = words[: next((at for at, each in enumerate(words) if HOLE in each), len(words))]
    for effect in policy.effects_of(known, *_SOMEWHERE):
        target = effect.target.only if effect.target is not None else None
        if effect.act is act and (not reason or effect.reason == reason) and target in known[1:]:
            leading = known[: known.index(target, 1) + 1]
            return leading if len(leading) <= MOST_WORDS else ()
    if known[1:2] == ("-m",) and len(known) > 2 and act is Act.READ:  # noqa: PLR2004
        return known[:3] if _MODULE.match(known[2]) else ()
    return ()


def _leading(program: str, rest: Iterable[str], command: Command | None) -> Iterator[str]:
    said = [program]
    yield program
    guesses = _MOST_UNKNOWN if command is None or _has_groups(command) else 1
    for word in rest:
        if _PLAIN.match(word) is None:
            return
        below = command.commands.get(word) if command is not None else None
        if below is None:
            guesses -= 1
            if not _may_say(tuple(said), command, guesses):
                return
        elif _carries(below):
            return
        said.append(word)
        yield word
        command = below if below is not None else command
        if below is None and guesses == 0:
            return


def _may_say(said: tuple[str, ...], command: Command | None, guesses: int) -> bool:
    """Whether a word that isn't in the table may be a subcommand, or names what is done."""
    if "·".join((said[0].rpartition("/")[2], *said[1:])) in _TARGETED:
        return True
    if command is None:
        return guesses > 0
    if command.commands:
        other = command.commands.get("*")
        return guesses >= 0 and not (other is not None and _carries(other))
    return bool(command.operands.front) and command.operands.front[0].kind in _WHERE


def _has_groups(command: Command) -> bool:
    return any(each.commands for each in command.commands.values())


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
