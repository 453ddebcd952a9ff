"""An entry of the table → a compiled command with its subcommands."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from supervisor.errors import ConfigurationError
from supervisor.policy.bash.command_notes import (
    does_of,
    mapping_of,
    named,
    one_of,
    operands_of,
    option_of,
    role_of,
)
from supervisor.policy.bash.table import Command, Operands, Option, Overlay, Role

STYLES: Final = frozenset({"gnu", "stop", "single", "equals", "keys", "bundle"})
READERS: Final = frozenset(
    """ansible api bwrap chmod cloud cmake compiler crontab dialogue docker-run editor env
    escalate fd fetched find fzf git-batch git-clean git-config goals httpie interpreter kill
    kubectl-get later letters link listing make orders parallel parted patch printenv ps quoting
    redis requests root scp scripts served shell sqlite ssh ssh-keygen start-stop tar test tftp
    xargs""".split()  # noqa: SIM905
)
"""Programs with a little language of their own: `readers.py` knows them by these names."""

FIELDS: Final = (
    "operands", "options", "style", "tags", "when", "does", "commands", "reader", "default",
    "harmless", "elsewhere", "anywhere",
)  # fmt: skip
WHEN: Final = ("operands", "default", "does", "turn")
_PLAIN: Final = frozenset(
    {"text", "list", "read", "tree", "write", "edit", "delete", "move", "mode", "link", "disk",
     "dest", "into", "fill", "only", "pid", "signal", "doubt", "either"}
)  # fmt: skip
_RUNS: Final = frozenset(
    {"shell", "line", "command", "argument", "program", "code", "source", "setting", "reverse",
     "write", "module"}
)  # fmt: skip
_DOUBT: Final = Operands(middle=Role("doubt"))
_NONE: Final[Mapping[str, Command]] = {}


def command_of(entry: object, place: str, inherited: Mapping[str, Option] | None = None) -> Command:
    """An entry, compiled; `inherited` are options of the program that count behind it too.

    Raises:
        ConfigurationError: with the dotted place of what is wrong, and what was expected.
    """
    if isinstance(entry, str):
        entry = {"operands": entry}
    given = mapping_of({} if entry is None else entry, place, FIELDS)
    options = dict(inherited or {})
    for note, names in mapping_of(given.get("options", {}), f"{place}.options").items():
        option = option_of(note, f"{place}.options.{note}")
        options.update(dict.fromkeys(named(names, f"{place}.options.{note}"), option))
    style = one_of(given.get("style", "gnu"), STYLES, f"{place}.style")
    operands = operands_of(given.get("operands", "text"), f"{place}.operands")
    when = tuple(
        _overlay(tags, change, f"{place}.when.{tags}")
        for tags, change in mapping_of(given.get("when", {}), f"{place}.when").items()
    )
    passed = options if given.get("anywhere") else {}
    commands = _subcommands(given.get("commands", {}), f"{place}.commands", passed)
    does = does_of(given.get("does", {}), f"{place}.does")
    reader = given.get("reader")
    roles = [each.role for each in options.values() if each.role]
    sorts = {each.kind for each in (*_roles(operands), *roles)}
    return Command(
        operands=operands,
        options=options,
        longs=tuple(sorted(each for each in options if each.startswith("--"))),
        style=style,
        tags=frozenset(named(given.get("tags", ""), f"{place}.tags")),
        when=when,
        does=does,
        commands=commands,
        reader=None if reader is None else one_of(reader, READERS, f"{place}.reader"),
        default=_default(given.get("default"), f"{place}.default"),
        harmless=bool(given.get("harmless", False)),
        elsewhere=bool(given.get("elsewhere", False)),
        runs=bool(sorts & _RUNS) and not given.get("harmless", False),
        plain=not commands
        and reader is None
        and {each.kind for each in _roles(operands)} <= _PLAIN,
    )


def _subcommands(
    entries: object, place: str, options: Mapping[str, Option]
) -> Mapping[str, Command]:
    """Subcommands by their first word; `volume rm` is `rm` below `volume`."""
    if not entries:
        return _NONE
    whole: dict[str, Command] = {}
    deeper: dict[str, dict[str, Command]] = {}
    for names, entry in mapping_of(entries, place).items():
        command = command_of(entry, f"{place}.{names}", options)
        for each in str(names).split(","):
            *before, last = each.split()
            into = deeper.setdefault(" ".join(before), {}) if before else whole
            if last in into:
                raise ConfigurationError(f"expected {last} once", where=place)
            into[last] = command
    return _nested(whole, deeper, options)


def _nested(
    whole: dict[str, Command], deeper: dict[str, dict[str, Command]], options: Mapping[str, Option]
) -> Mapping[str, Command]:
    """Puts the deepest below the next, up to the first words."""
    while deeper:
        path = max(deeper, key=lambda each: each.count(" "))
        below = deeper.pop(path)
        before, _, last = path.rpartition(" ")
        into = deeper.setdefault(before, {}) if before else whole
        own = into.get(last)
        if own is None:
            own = Command(options=options, operands=_DOUBT, plain=False)
        elif "*" not in own.commands and "*" not in below:
            below["*"] = replace(own, tags=own.tags | {"whole"})  # its words, not a subcommand's
        into[last] = replace(own, commands={**own.commands, **below}, plain=False)
    return whole


def _overlay(tags: str, change: object, place: str) -> Overlay:
    given = mapping_of(change, place, WHEN)
    words = tags.split()
    turn = mapping_of(given.get("turn", {}), f"{place}.turn")
    operands = given.get("operands")
    return Overlay(
        needs=frozenset(each for each in words if not each.startswith("!")),
        without=frozenset(each[1:] for each in words if each.startswith("!")),
        operands=None if operands is None else operands_of(operands, f"{place}.operands"),
        default=_default(given.get("default"), f"{place}.default"),
        does=does_of(given.get("does", {}), f"{place}.does"),
        turn={old: role_of(str(new), f"{place}.turn.{old}") for old, new in turn.items()},
    )


def _default(note: object, place: str) -> tuple[Role, str] | None:
    if note is None:
        return None
    role, _, target = str(note).partition(" ")
    return role_of(role, place), target


def _roles(operands: Operands) -> Iterable[Role]:
    middle = () if operands.middle is None else (operands.middle,)
    return (*operands.front, *middle, *operands.back)
