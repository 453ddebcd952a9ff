"""A group of commands, each loaded only when it is asked for; not even to tell what it does."""

import ast
import gc
import importlib
import inspect
from collections.abc import Mapping
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import typer
from typer.core import TyperGroup

from supervisor.cli.typed import note_run


class Whole(TyperGroup):
    """A group that tells of each command all that the first paragraph of its help says."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, over as many lines as they take."""
        rows = [(name, _first_paragraph(text)) for name, text in self.told(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first word names; for one that is none, the nearest are told."""
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-"):
            near = _INSTEAD.get(args[0]) or " or ".join(
                f"'{each}'" for each in get_close_matches(args[0].lower(), known, n=2)
            )
            ctx.fail(f"No such command {args[0]!r}." + (f" Did you mean {near}?" if near else ""))
        name, command, words = super().resolve_command(ctx, args)
        note_run(command, words)
        return name, command, words

    def told(self, ctx: Any) -> list[tuple[str, str]]:
        """Each command and its help."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        return [(name, each.help or "") for name, each in found if each and not each.hidden]


class Listing(Whole):
    """One whose options without a command are those of `list`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `list` where a word that isn't about the group itself has none before it."""
        if args and args[0].startswith("-") and args[0] not in ctx.help_option_names:
            args = ["list", *args]
        return super().parse_args(ctx, args)


_INSTEAD: Final = {"help": "'--help'", "version": "'--version'"}


def lazy(commands: Mapping[str, str]) -> type[TyperGroup]:
    """A group of these commands: each name and the module that has it, as `module:name`.

    What the module has (under the command's name, if none is given) is a function, or a
    `typer.Typer` with commands of its own.
    """

    class Lazy(Whole):
        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
            return list(commands)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
            if cmd_name not in commands:
                return None
            module, _, name = commands[cmd_name].partition(":")
            found = getattr(_loaded(module), name or cmd_name)
            if isinstance(found, typer.Typer):
                return typer.main.get_command(found)
            single = typer.Typer(add_completion=False, rich_markup_mode=None)
            single.command(cmd_name)(found)
            return typer.main.get_command(single)

        def told(self, ctx: Any) -> list[tuple[str, str]]:  # noqa: ARG002
            return [(name, about(name, target)) for name, target in commands.items()]

    return Lazy


def _loaded(module: str) -> ModuleType:
    """Import it, and look for no garbage meanwhile, nor ever among what it has made.

    That stays to the end. To look through it costs a sixth of the loading, and would later hold up
    a supervisor with all its turns for a tenth of a second each time.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return importlib.import_module(module)
    finally:
        gc.freeze()
        if collects:
            gc.enable()


def about(command: str, target: str) -> str:
    """What the docstring of a command says, read from its source: nothing is imported for it.

    A `typer.Typer` says it in its callback, which is named as it is, behind a `_`.
    """
    module, _, name = target.partition(":")
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        return ""
    tree = ast.parse(Path(spec.origin).read_text("utf-8"))
    names = {name or command, f"_{name or command}"}
    told = (
        ast.get_docstring(each)
        for each in tree.body
        if isinstance(each, ast.FunctionDef) and each.name in names
    )
    return next(filter(None, told), "")


def _first_paragraph(text: str) -> str:
    return " ".join(inspect.cleandoc(text).split("\n\n", 1)[0].split())
