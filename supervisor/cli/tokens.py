"""`trustfloor tokens`: let other programs and devices in, for what they need, and shut them out."""

import re
import sys
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from supervisor.access.holder import LONGEST_TOKEN_SECONDS, Scope
from supervisor.cli.answered import DataDir, answered
from supervisor.cli.choices import choice, one_part
from supervisor.cli.client import Client
from supervisor.cli.json_out import write_json
from supervisor.cli.lazy import Listing
from supervisor.cli.moments import told_moment
from supervisor.cli.render import Screen
from supervisor.cli.short_ids import whole_token_id

tokens = typer.Typer(
    cls=Listing, add_completion=False, invoke_without_command=True, rich_markup_mode=None
)

_UNITS: Final = {"m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d{1,6})([mhdw])", text.strip().lower())
    if found is None or int(found[1]) == 0:
        raise typer.BadParameter(f"{text!r} is no span of time: write it as 45m, 12h, 30d or 8w")
    seconds = int(found[1]) * _UNITS[found[2]]
    if seconds > LONGEST_TOKEN_SECONDS:
        most = LONGEST_TOKEN_SECONDS // _UNITS["d"]
        raise typer.BadParameter(f"{text!r} is too long: {most}d at most; left out, it never ends")
    return float(seconds)


@tokens.callback()
def _tokens(context: typer.Context) -> None:
    """List, make and revoke tokens: without a subcommand, their list.

    The owner's token is the file `token` of the data folder; it isn't listed and doesn't end.
    """
    if context.invoked_subcommand is None:
        list_tokens()


@tokens.command("list")
def list_tokens(
    *,
    ended: Annotated[bool, typer.Option("--ended", help="Those that ended as well.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, as the API has it.")] = False,
    data_dir: DataDir = None,
) -> None:
    """List the tokens, the newest first."""
    found = answered(lambda client: client.get("/api/tokens"), data_dir)
    if as_json:
        write_json(found)
        return
    screen = Screen(sys.stdout)
    shown = [each for each in found["tokens"] if ended or not each["revokedAt"]]
    for each in shown:
        screen.line(f"{each['id']}  {each['name']}")
        screen.line(f"    {_what(each)} · made {told_moment(each['createdAt'])}{_end(each)}", "dim")
    if not shown:
        screen.line("no tokens beside the owner's", "dim")


@tokens.command("create")
def create(  # noqa: PLR0913 - each is an option of the command
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is for, e.g. phone.")],
    *,
    scope: Annotated[list[Scope], choice(Scope, help="What it is good for; may be repeated.")],
    workspace: Annotated[
        list[str] | None, typer.Option(help="For this workspace only; may be repeated.")
    ] = None,
    expires: Annotated[
        float | None,
        typer.Option(
            parser=_seconds,
            metavar="SPAN",
            help="After how long it ends: 12h, 30d, 8w. Left out: never.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, as the API has it.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Make a token and show it, this once."""
    body: dict[str, Any] = {"name": name, "scopes": [each.value for each in scope]}
    if workspace:
        body["workspaces"] = workspace
    if expires is not None:
        body["expiresIn"] = expires
    made = answered(lambda client: client.post("/api/tokens", body), data_dir)
    if as_json:
        write_json(made)
        return
    screen = Screen(sys.stdout)
    screen.line(made["token"], "bold")
    screen.line(f"{made['id']}  {made['name']} · {_what(made)}{_end(made)}", "dim")
    screen.line("it is shown this once: keep it where the program finds it", "dim")


@tokens.command("revoke")
def revoke(
    token: Annotated[
        str, typer.Argument(metavar="ID", callback=one_part, help="The token, as `list` names it.")
    ],
    data_dir: DataDir = None,
) -> None:
    """End a token now: its streams, the tokens made with it, and its logins too."""

    async def revoked(client: Client) -> Any:
        whole = await whole_token_id(client, token)
        return await client.delete(f"/api/tokens/{quote(whole, safe='')}")

    ended = answered(revoked, data_dir)
    Screen(sys.stdout).line(f"revoked: {ended['name']} ({ended['id']})")


def _what(token: dict[str, Any]) -> str:
    scopes = ", ".join(token["scopes"])
    slugs = token["workspaces"]
    return scopes if slugs is None else f"{scopes} in {', '.join(slugs)}"


def _end(token: dict[str, Any]) -> str:
    if token["revokedAt"]:
        return f" · revoked {told_moment(token['revokedAt'])}"
    return f" · until {told_moment(token['expiresAt'])}" if token["expiresAt"] else ""
