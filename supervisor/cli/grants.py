"""`trustfloor grants`: list what was granted beyond single calls, and take it back."""

import sys
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import typer

from supervisor.cli.answered import DataDir, answered
from supervisor.cli.choices import one_part
from supervisor.cli.client import Client, Refused
from supervisor.cli.json_out import write_json
from supervisor.cli.lazy import Listing
from supervisor.cli.moments import told_moment
from supervisor.cli.render import Screen
from supervisor.cli.short_ids import whole_grant_id, whole_id_if_any
from supervisor.errors import NotFound, TrustfloorError

grants = typer.Typer(
    cls=Listing, add_completion=False, invoke_without_command=True, rich_markup_mode=None
)


@grants.callback()
def _grants(context: typer.Context) -> None:
    """List what was granted to sessions and agents, and take it back.

    Without a command it lists them.
    """
    if context.invoked_subcommand is None:
        list_grants()


@grants.command("list")
def list_grants(
    *,
    session: Annotated[str | None, typer.Option(help="Of this session only.")] = None,
    agent: Annotated[str | None, typer.Option(help="Of this agent only.")] = None,
    ended: Annotated[
        bool, typer.Option("--ended", help="Expired and revoked ones as well.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, as the API has it.")] = False,
    data_dir: DataDir = None,
) -> None:
    """List the grants that count, the newest first."""

    async def asked(client: Client) -> Any:
        whose = await whole_id_if_any(client, session)
        wanted = {"sessionId": whose, "agent": agent, "ended": "true" if ended else None}
        query = urlencode({name: value for name, value in wanted.items() if value})
        return await client.get(f"/api/grants?{query}")

    found = answered(asked, data_dir)
    if as_json:
        write_json(found)
        return
    screen = Screen(sys.stdout)
    for each in found["grants"]:
        whose = f"agent {each['agent']}" if each["agent"] else f"session {each['sessionId']}"
        screen.line(f"{each['id']}  {each['kind']} {each['pattern']}")
        screen.line(
            f"    {whose} · at trust {each['trustLevel']} · given {told_moment(each['givenAt'])}"
            f" by {each['givenBy']}{_end(each)}",
            "dim",
        )
    if not found["grants"]:
        screen.line("no grants", "dim")


@grants.command("revoke")
def revoke(
    grant: Annotated[
        str, typer.Argument(metavar="ID", callback=one_part, help="The grant, as `list` names it.")
    ],
    data_dir: DataDir = None,
) -> None:
    """Take a grant back: from the next call on it doesn't count."""

    async def revoked(client: Client) -> Any:
        try:
            whole = await whole_grant_id(client, grant)
            return await client.delete(f"/api/grants/{quote(whole, safe='')}")
        except Refused as refused:
            raise _told_here(refused) from None

    ended = answered(revoked, data_dir)
    Screen(sys.stdout).line(f"revoked: {ended['kind']} {ended['pattern']}")


def _told_here(refused: Refused) -> TrustfloorError:
    """The refusal as a person at a terminal can act upon it: it speaks of routes else."""
    if refused.problem.get("code") != NotFound.code:
        return refused
    return NotFound(
        refused.message,
        where=refused.where,
        remedy="`trustfloor grants list` shows the ids of those that count, with --ended of all",
    )


def _end(grant: dict[str, Any]) -> str:
    if grant["revokedAt"]:
        return f" · revoked {told_moment(grant['revokedAt'])} by {grant['revokedBy']}"
    return f" · until {told_moment(grant['expiresAt'])}" if grant["expiresAt"] else ""
