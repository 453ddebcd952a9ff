"""A group of commands, each loaded only when it is asked for."""

import importlib
from collections.abc import Mapping
from typing import Any

import typer
from typer.core import TyperGroup


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

    return Lazy
