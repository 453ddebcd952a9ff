"""`trustfloor captures`: put documents into the vault, list, read and delete them."""

import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from supervisor.captures.names import LARGEST, stored_name
from supervisor.cli.answered import AsJson, DataDir, answered
from supervisor.cli.be_sure import be_sure
from supervisor.cli.choices import one_part
from supervisor.cli.client import Client
from supervisor.cli.files import content_of
from supervisor.cli.json_out import write_json
from supervisor.cli.lazy import Listing
from supervisor.cli.lines import read_on
from supervisor.cli.moments import told_moment
from supervisor.cli.neutral import one_line
from supervisor.cli.render import Screen
from supervisor.errors import NotFound

captures = typer.Typer(cls=Listing, add_completion=False, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", callback=one_part, help="The capture's name.")]


@captures.callback(invoke_without_command=True)
def _captures(context: typer.Context) -> None:
    """Documents in the vault's folder captures/; without a subcommand, their list."""
    if context.invoked_subcommand is None:
        list_captures(as_json=False, data_dir=None)


@captures.command("list")
def list_captures(
    *,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List the captures, the latest first."""
    found = answered(lambda client: client.get("/api/captures"), data_dir)
    if as_json:
        write_json(found)
        return
    screen = Screen(sys.stdout)
    for each in found["captures"]:
        title = f"  {each['title']}" if each["title"] else ""
        screen.line(f"{each['filename']}{title}")
        screen.line(f"    {each['size']} bytes · {told_moment(each['capturedAt'])}", "dim")
    if not found["captures"]:
        screen.line("no captures", "dim")


@captures.command("add")
def add(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", exists=True, dir_okay=False, readable=True, help="The file to add."
        ),
    ],
    *,
    name: Annotated[str | None, typer.Option(help="Another name than the file's.")] = None,
    title: Annotated[str | None, typer.Option(help="A title.")] = None,
    context: Annotated[str | None, typer.Option(help="A note beside it.")] = None,
    data_dir: DataDir = None,
) -> None:
    """Put a document into the vault; it says as what it is stored."""
    content, fields = content_of(file, LARGEST), {"title": title, "context": context}
    made = answered(
        lambda client: client.upload("/api/captures", name or file.name, content, fields), data_dir
    )
    Screen(sys.stdout).line(f"stored as {made['path']}")


@captures.command("get")
def get(
    name: Name,
    *,
    data_dir: DataDir = None,
) -> None:
    """Write a capture's bytes to standard output."""
    path = _path(name)
    content = answered(lambda client: client.read(path), data_dir)
    with read_on():
        sys.stdout.buffer.write(content)


async def _named(client: Client, name: str) -> str:
    """Which one is meant, so that nobody is asked about what isn't there, or what it isn't."""
    there = {each["filename"]: each for each in (await client.get("/api/captures"))["captures"]}
    found = there.get(name) or there.get(stored_name(name))
    if found is None:
        raise NotFound(
            "no capture has this name", where=name, remedy="list them: trustfloor captures"
        )
    title = f" “{found['title']}”" if found["title"] else ""
    return one_line(f"{found['filename']}{title} ({found['size']} bytes)")


@captures.command("delete")
def delete(
    name: Name,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Delete a capture for good."""
    if not yes:
        named = answered(lambda client: _named(client, name), data_dir)
        be_sure(f"Delete the capture {named} for good?")
    gone = answered(lambda client: client.delete(_path(name)), data_dir)
    Screen(sys.stdout).line(f"deleted {gone['path']}")


def _path(name: str) -> str:
    return f"/api/captures/{quote(name, safe='')}"
