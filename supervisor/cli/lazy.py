"""A group of commands, each loaded only when it is asked for; not even to tell what it does."""

import ast
import importlib
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


def lazy(commands: Mapping[str, str]) -> type[TyperGroup]:
    """A group of these commands: each name and the module that has it, as `module:name`.

    What the module has (under the command's name, if none is given) is a function, or a
    `typer.Typer` with commands of its own.
    """

    class Lazy(TyperGroup):
        def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
            return list(commands)

        def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
            if cmd_name not in commands:
                return None
            module, _, name = commands[cmd_name].partition(":")
            found = getattr(importlib.import_module(module), name or cmd_name)
            if isinstance(found, typer.Typer):
                return typer.main.get_command(found)
            single = typer.Typer(add_completion=False, rich_markup_mode=None)
            single.command(cmd_name)(found)
            return typer.main.get_command(single)

        def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
            limit = formatter.width - 6 - max(map(len, commands))
            rows = [
                (name, TyperCommand(name, help=about(name, target)).get_short_help_str(limit))
                for name, target in commands.items()
            ]
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    return Lazy


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
