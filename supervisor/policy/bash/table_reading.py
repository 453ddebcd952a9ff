"""The table's text → the compiled table; what is wrong in it is said with its place."""

from functools import cache
from importlib import resources
from typing import Final

import yaml

from supervisor.errors import ConfigurationError
from supervisor.policy.bash.command_notes import LIKE, mapping_of, named, role_of
from supervisor.policy.bash.entries import command_of
from supervisor.policy.bash.table import Command, CommandTable, Language, Variable

LANGUAGE: Final = (
    "calls", "plain", "words", "modules", "quote-runs", "bare-calls", "long-texts",
    "comment",
)  # fmt: skip
PARTS: Final = ("programs", "variables", "languages", "folders")
VARIABLE: Final = ("is", "why", "for", "fine", "holding")


@cache
def shipped_table() -> CommandTable:
    """The table that the package brings, read once in a process."""
    text = resources.files("supervisor.policy.bash").joinpath("commands.yaml").read_text("utf-8")
    return read_table(text, "commands.yaml")


def read_table(text: str, where: str) -> CommandTable:
    """Compiles a table.

    Raises:
        ConfigurationError: with the dotted place of what is wrong, and what was expected.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        mapping = yaml.load(text, Loader=loader)  # noqa: S506 - both are the safe loader
    except yaml.YAMLError as error:
        raise ConfigurationError(f"not YAML: {error}", where=where) from error
    empty = CommandTable({}, (), {}, (), {}, frozenset())
    return extend(empty, mapping, where)


def extend(table: CommandTable, mapping: object, where: str) -> CommandTable:
    """A table with more: what the mapping names again takes the place of what was there.

    Raises:
        ConfigurationError: with the dotted place of what is wrong, and what was expected.
    """
    parts = mapping_of(mapping, where, PARTS)
    commands = dict(table.commands)
    prefixes = dict(table.prefixes)
    seen: dict[str, str] = {}
    for theme, entries in mapping_of(parts.get("programs", {}), f"{where} programs").items():
        place = f"{where} programs.{theme}"
        for names, entry in mapping_of(entries, place).items():
            _program(names, entry, f"{place}.{names}", (commands, prefixes, seen))
    variables, starts = dict(table.variables), dict(table.variable_prefixes)
    ends = dict(table.variable_suffixes)
    for names, entry in mapping_of(parts.get("variables", {}), f"{where} variables").items():
        variable = _variable(entry, f"{where} variables.{names}")
        for name in names.split():
            if name.endswith("*"):
                starts[name[:-1]] = variable
            elif name.startswith("*"):
                ends[name[1:]] = variable
            else:
                variables[name] = variable
    languages = dict(table.languages)
    for name, entry in mapping_of(parts.get("languages", {}), f"{where} languages").items():
        languages[name] = _language(name, entry, f"{where} languages.{name}")
    folders = frozenset(named(parts.get("folders", ""), f"{where} folders"))
    return CommandTable(
        commands,
        tuple(sorted(prefixes.items(), key=lambda each: -len(each[0]))),
        variables,
        tuple(sorted(starts.items(), key=lambda each: -len(each[0]))),
        languages,
        table.folders | folders,
        tuple(sorted(ends.items(), key=lambda each: -len(each[0]))),
    )


def _program(
    names: str,
    entry: object,
    place: str,
    into: tuple[dict[str, Command], dict[str, Command], dict[str, str]],
) -> None:
    commands, prefixes, seen = into
    command: Command | None = None
    for name in names.split():
        if name in seen:
            raise ConfigurationError(
                f"expected each program once; {name} came before", where=place, remedy=seen[name]
            )
        seen[name] = f"see {place}"
        if isinstance(entry, str) and entry.startswith(LIKE):
            other = entry.removeprefix(LIKE)
            if other not in commands:
                raise ConfigurationError(f"expected a program named before: {other}", where=place)
            command = commands[other]
        elif command is None:
            command = command_of(entry, place)
        if name.endswith("*"):
            prefixes[name[:-1]] = command
        else:
            commands[name] = command


def _variable(entry: object, place: str) -> Variable:
    given = mapping_of(entry, place, VARIABLE)
    return Variable(
        role=role_of(str(given.get("is", "text")), f"{place}.is"),
        reason=str(given.get("why", "makes programs run code")),
        programs=frozenset(named(given.get("for", ""), f"{place}.for")),
        fine=frozenset(named(given.get("fine", ""), f"{place}.fine")),
        holding=named(given.get("holding", ""), f"{place}.holding"),
    )


def _language(name: str, entry: object, place: str) -> Language:
    given = mapping_of(entry, place, LANGUAGE)
    calls: dict[str, tuple[str, ...]] = {}
    for names, roles in mapping_of(given.get("calls", {}), f"{place}.calls").items():
        calls.update(dict.fromkeys(str(names).split(), tuple(str(roles).split())))
    words: dict[str, str] = {}
    for names, reason in mapping_of(given.get("words", {}), f"{place}.words").items():
        words.update(dict.fromkeys(str(names).split(), str(reason)))
    return Language(
        name,
        calls,
        frozenset(named(given.get("plain", ""), f"{place}.plain")),
        words,
        frozenset(named(given.get("modules", ""), f"{place}.modules")),
        bool(given.get("quote-runs")),
        bool(given.get("bare-calls")),
        bool(given.get("long-texts")),
        named(given.get("comment", "#"), f"{place}.comment"),
    )
