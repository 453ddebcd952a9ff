"""`trustfloor login`: a one-time code for the console, and what is logged in."""

import sys
from typing import Annotated, Any
from urllib.parse import quote

import typer

from supervisor.cli.answered import DataDir, answered
from supervisor.cli.choices import one_part
from supervisor.cli.client import Client, find_url
from supervisor.cli.json_out import write_json
from supervisor.cli.moments import told_moment
from supervisor.cli.render import Screen
from supervisor.cli.short_ids import whole_login_id
from trustfloor.private_socket import socket_of


def login(
    *,
    listed: Annotated[bool, typer.Option("--list", help="List the logins instead.")] = False,
    end: Annotated[
        str | None,
        typer.Option(
            metavar="ID", callback=one_part, help="End this login instead, as --list names it."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, as the API has it.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Show a code with which a browser logs in to the console, once, within 5 minutes."""
    screen = Screen(sys.stdout)
    if end is not None:
        named = end

        async def ended(client: Client) -> Any:
            whole = await whole_login_id(client, named)
            return await client.delete(f"/api/logins/{quote(whole, safe='')}")

        gone = answered(ended, data_dir)
        screen.line(f"ended: {gone['id']}")
        return
    if listed:
        _list(screen, as_json=as_json, data_dir=data_dir)
        return
    made = answered(lambda client: client.post("/api/logins/codes"), data_dir)
    if as_json:
        write_json(made)
        return
    screen.line(f"open   {_console(made['address'])}/")
    screen.line(f"code   {made['code']}", "bold")
    screen.line(f"good once, until {made['expiresAt'][11:16]} UTC; type it in there", "dim")


def _console(address: str | None) -> str:
    """Where a browser finds it: as it was named here, else as the supervisor knows it."""
    named = find_url()
    return named.rstrip("/") if socket_of(named) is None else address or "its address"


def _list(screen: Screen, *, as_json: bool, data_dir: DataDir) -> None:
    found = answered(lambda client: client.get("/api/logins"), data_dir)
    if as_json:
        write_json(found)
        return
    for each in found["logins"]:
        screen.line(f"{each['id']}  {', '.join(each['scopes'])}")
        screen.line(
            f"    since {told_moment(each['createdAt'])}, last used {told_moment(each['usedAt'])}"
            f" · by a code of {each['tokenId']}",
            "dim",
        )
    if not found["logins"]:
        screen.line("nobody is logged in", "dim")
