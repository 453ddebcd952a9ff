"""`trustfloor approvals`: see and answer, at a terminal, all that waits for a person."""

import asyncio
import sys
from typing import Annotated, Any
from urllib.parse import quote

import typer

from supervisor.cli.answered import AsJson, DataDir, answered, connected
from supervisor.cli.asking import Asker
from supervisor.cli.client import Client, Heard, Refused
from supervisor.cli.ctrl_c import CtrlC
from supervisor.cli.effects import time_left
from supervisor.cli.json_out import write_json
from supervisor.cli.keyboard import Keyboard
from supervisor.cli.lazy import Whole
from supervisor.cli.render import Screen
from supervisor.cli.short_ids import whole_id_if_any, whole_request_id
from supervisor.cli.waiting import Vigil, filtered, headline, tell_questions
from supervisor.errors import TrustfloorError

approvals = typer.Typer(
    cls=Whole, add_completion=False, invoke_without_command=True, rich_markup_mode=None
)

Session = Annotated[str | None, typer.Option(help="Of this session only.")]
Workspace = Annotated[str | None, typer.Option(help="Of this workspace only.")]
Agent = Annotated[
    str | None, typer.Option(help="Of sessions of this agent, or of sub-agents of this name.")
]
Tool = Annotated[str | None, typer.Option(help="For this tool only.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="The request, as `list` names it.")]
_LEFT = 130  # what a shell reports for a command that Ctrl-C ended


@approvals.callback()
def _approvals(  # noqa: PLR0913 - each is an option of the command
    context: typer.Context,
    *,
    session: Session = None,
    workspace: Workspace = None,
    agent: Agent = None,
    tool: Tool = None,
    data_dir: DataDir = None,
) -> None:
    """Watch what waits for a person in all sessions, and answer it.

    Without a terminal it only tells. Ctrl-C, or the end of the input, leaves all as it is.
    """
    if context.invoked_subcommand is not None:
        return
    screen = Screen(sys.stdout)
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    keyboard = Keyboard(sys.stdin.fileno()) if interactive else None
    narrowed = {"workspace": workspace, "agent": agent, "tool": tool}

    async def watch(ctrl_c: CtrlC) -> None:
        async with connected(data_dir) as client:
            one = await whole_id_if_any(client, session)
            path = filtered("/api/permissions/stream", session=one, **narrowed)
            asker = None if keyboard is None else Asker(client, screen, keyboard, leaves=True)
            await Vigil(client, screen, asker).keep(path, ctrl_c)

    with CtrlC() as ctrl_c:
        try:
            asyncio.run(watch(ctrl_c))
        except TrustfloorError as error:
            screen.problem(error)
            raise typer.Exit(1) from None
    raise typer.Exit(_LEFT)


@approvals.command("list")
def list_waiting(  # noqa: PLR0913 - each is an option of the command
    *,
    session: Session = None,
    workspace: Workspace = None,
    agent: Agent = None,
    tool: Tool = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List what waits now, the oldest first."""

    async def asked(client: Client) -> dict[str, Any]:
        one = await whole_id_if_any(client, session)
        narrowed = {"session": one, "workspace": workspace, "agent": agent}
        permissions = await client.get(filtered("/api/permissions", **narrowed, tool=tool))
        questions = await client.get(filtered("/api/questions", **narrowed))
        return {**permissions, **questions}

    found = answered(asked, data_dir)
    if as_json:
        write_json(found)
        return
    screen = Screen(sys.stdout)
    for each in found["permissions"]:
        screen.line(f"{each['id']}  {_first_line(each)}")
        screen.show(Heard(-1, "permission_request", each))
    for each in found["questions"]:
        screen.line(f"{each['requestId']}  {_first_line(each)}")
        tell_questions(screen, each)
    if not found["permissions"] and not found["questions"]:
        screen.line("nothing waits", "dim")


@approvals.command("grant")
def grant(
    request: Id,
    *,
    content_hash: Annotated[
        str | None, typer.Option("--hash", help="Of the request that you saw; don't ask me.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Let one call run, this once: shown, and asked about, unless its hash says that you saw it."""

    async def granted(client: Client) -> Any:
        path = await _path(client, request)
        shown = content_hash or await _confirmed(client, path)
        return await client.post(f"{path}/grant", {"contentHash": shown})

    _told(granted, data_dir)
    Screen(sys.stdout).line("granted")


@approvals.command("deny")
def deny(
    request: Id,
    *,
    message: Annotated[str | None, typer.Option(help="What the agent is told.")] = None,
    stop: Annotated[bool, typer.Option("--stop", help="End the turn as well.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Refuse one call; with --stop its turn ends too."""
    body = {"stop": stop, **({} if message is None else {"message": message})}

    async def denied(client: Client) -> Any:
        return await client.post(f"{await _path(client, request)}/deny", body)

    said = _told(denied, data_dir)
    Screen(sys.stdout).line("denied, and the turn stopped" if said["stopped"] else "denied")


async def _confirmed(client: Client, path: str) -> str:
    shown = await client.get(path)
    screen = Screen(sys.stdout)
    screen.line(headline(shown), "dim")
    screen.show(Heard(-1, "permission_request", shown))
    try:
        allowed = typer.confirm("Allow this?")
    except typer.Abort:
        raise TrustfloorError(
            "nobody said yes",
            remedy=f"say it at a terminal, or with what was shown: --hash {shown['contentHash']}",
        ) from None
    if not allowed:
        raise typer.Abort
    return str(shown["contentHash"])


def _first_line(request: dict[str, Any]) -> str:
    return f"{headline(request)} · {time_left(request['secondsLeft'])} left"


async def _path(client: Client, request: str) -> str:
    return f"/api/permissions/{quote(await whole_request_id(client, request), safe='')}"


def _told(asked: Any, data_dir: Any) -> Any:
    async def told(client: Client) -> Any:
        try:
            return await asked(client)
        except Refused as refused:
            if refused.problem.get("code") == "not_found":
                remedy = "`trustfloor approvals list` shows the ids of those that wait"
                raise TrustfloorError(refused.message, where=refused.where, remedy=remedy) from None
            raise

    return answered(told, data_dir)
