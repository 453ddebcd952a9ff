"""`trustfloor workspaces`: named parts of the vault, each with its trust floor."""

import sys
from typing import Annotated, Any
from urllib.parse import quote

import typer

from supervisor.cli.answered import AsJson, DataDir, answered
from supervisor.cli.choices import choice, one_part
from supervisor.cli.json_out import write_json
from supervisor.cli.lazy import Listing
from supervisor.cli.render import Screen
from supervisor.trust.levels import TrustLevel

workspaces = typer.Typer(
    cls=Listing, add_completion=False, invoke_without_command=True, rich_markup_mode=None
)

Slug = Annotated[
    str,
    typer.Argument(metavar="SLUG", callback=one_part, help="The workspace, as `list` names it."),
]


@workspaces.callback()
def _workspaces(context: typer.Context) -> None:
    """List workspaces, make and change them. Without a command it lists them."""
    if context.invoked_subcommand is None:
        list_workspaces()


@workspaces.command("list")
def list_workspaces(*, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """List all workspaces."""
    found = answered(lambda client: client.get("/api/workspaces"), data_dir)
    if as_json:
        write_json(found)
        return
    screen = Screen(sys.stdout)
    for each in found["workspaces"]:
        _show(screen, each)


@workspaces.command("set")
def set_workspace(
    slug: Slug,
    *,
    name: Annotated[str | None, typer.Option(help="What people call it.")] = None,
    folder: Annotated[str | None, typer.Option(help="Its folder, relative to the vault.")] = None,
    floor: Annotated[
        TrustLevel | None, choice(TrustLevel, help="No session in it runs at a looser level.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Make a workspace (a new one needs --floor), or change what is given and nothing else."""
    given = {"name": name, "folder": folder, "floor": floor and floor.value}
    body = {key: value for key, value in given.items() if value is not None}
    made = answered(lambda client: client.put(_path(slug), body), data_dir)
    _show(Screen(sys.stdout), made)


@workspaces.command("remove")
def remove(slug: Slug, *, data_dir: DataDir = None) -> None:
    """Remove a workspace that has no sessions; its folder stays."""
    answered(lambda client: client.delete(_path(slug)), data_dir)
    Screen(sys.stdout).line("removed")


def _path(slug: str) -> str:
    return f"/api/workspaces/{quote(slug, safe='')}"


def _show(screen: Screen, workspace: dict[str, Any]) -> None:
    screen.line(f"{workspace['slug']}  {workspace['name']}")
    screen.line(f"    {workspace['folder'] or '.'} · floor {workspace['floor']}", "dim")
