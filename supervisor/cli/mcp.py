"""`trustfloor mcp`: the vault's MCP servers, as the admin sees and sets them."""

import asyncio
import logging
import socket
import sys
from collections.abc import Mapping
from typing import Annotated, Any
from urllib.parse import quote

import typer

from supervisor.cli.answered import AsJson, DataDir, answered, connected
from supervisor.cli.broken import tell_broken
from supervisor.cli.choices import one_part
from supervisor.cli.client import Client, Refused, find_token
from supervisor.cli.in_the_image import why_not_in_the_image
from supervisor.cli.json_out import write_json
from supervisor.cli.lazy import Listing
from supervisor.cli.render import Screen
from supervisor.errors import AlreadyThere, TrustfloorError
from supervisor.observability.logs import configure_logs
from supervisor.policy.mcp_names import tool_name

mcp = typer.Typer(cls=Listing, add_completion=False, rich_markup_mode=None)

Name = Annotated[str, typer.Argument(metavar="NAME", callback=one_part, help="The server's name.")]
Pairs = Annotated[
    list[str] | None, typer.Option(metavar="NAME=VALUE", help="Secrets as ${NAME}; repeatable.")
]


@mcp.callback(invoke_without_command=True)
def _mcp(context: typer.Context) -> None:
    """List the vault's MCP servers, set and allow them; or be one for other programs.

    Without a subcommand: at a terminal their list; elsewhere, where another program has started it,
    `serve`.
    """
    if context.invoked_subcommand is not None:
        return
    if sys.stdin.isatty():
        list_servers(as_json=False, data_dir=None)
    else:
        serve()


@mcp.command("list")
def list_servers(
    *,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List the servers of .mcp.json. Status 1 if one is broken."""
    found = answered(lambda client: client.get("/api/mcp"), data_dir)
    if as_json:
        write_json(found)
    else:
        screen = Screen(sys.stdout)
        for each in found["servers"]:
            _show(screen, each)
        tell_broken(screen, found["broken"])
        if not found["servers"] and not found["broken"]:
            screen.line("no MCP servers; add one: trustfloor mcp add NAME -- COMMAND …", "dim")
    raise typer.Exit(1 if found["broken"] else 0)


@mcp.command("add")
def add(  # noqa: PLR0913 - each is an option of the command
    name: Name,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- COMMAND", help="What starts the server."),
    ] = None,
    *,
    url: Annotated[str | None, typer.Option(help="Where it is, if it isn't started here.")] = None,
    kind: Annotated[
        str | None, typer.Option("--type", help="stdio, http or sse; http for a URL.")
    ] = None,
    env: Pairs = None,
    header: Pairs = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="In the place of the one of this name, if there is.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Add a server, which allows it as it is. Nothing is started.

    One that is there is left alone, unless --replace says otherwise.
    """
    if (url is None) == (not command):
        raise typer.BadParameter("give a command behind `--`, or a --url")
    body: dict[str, Any] = {"type": kind or ("stdio" if url is None else "http")}
    if url is not None:
        body |= {"url": url}
    elif command:
        body |= {"command": command[0], "args": command[1:]}
    body |= {"env": _pairs(env, "--env")} if env else {}
    body |= {"headers": _pairs(header, "--header")} if header else {}
    path = f"/api/mcp/{quote(name, safe='')}"

    async def put(client: Client) -> tuple[Any, bool]:
        try:
            return await client.made(path, body, only_new=not replace)
        except Refused as refused:
            if refused.code != AlreadyThere.code:
                raise
            remedy = "`trustfloor mcp list` shows it; to put this in its place, add --replace"
            raise AlreadyThere(refused.message, where=name, remedy=remedy) from None

    made, is_new = answered(put, data_dir)
    screen = Screen(sys.stdout)
    screen.line(f"{'added' if is_new else 'replaced'}:", "dim")
    _show(screen, made)


@mcp.command("remove")
def remove(name: Name, *, data_dir: DataDir = None) -> None:
    """Take a server out of .mcp.json."""
    answered(lambda client: client.delete(f"/api/mcp/{quote(name, safe='')}"), data_dir)
    Screen(sys.stdout).line(f"removed {name}")


@mcp.command("allow")
def allow(
    name: Name,
    *,
    sandboxed: Annotated[
        bool, typer.Option("--sandboxed", help="In sandboxes too: inside, or by its URL.")
    ] = False,
    agent: Annotated[
        str | None, typer.Option(help="The agent whose file describes the server.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Let turns use a server as it is now."""
    body = {"sandboxed": sandboxed, "agentPath": agent}
    path = f"/api/mcp/{quote(name, safe='')}/allow"
    allowed = answered(lambda client: client.post(path, body), data_dir)
    screen = Screen(sys.stdout)
    _show(screen, allowed)
    doubt = why_not_in_the_image(allowed["command"]) if allowed["sandboxed"] else None
    if doubt is not None:
        screen.line(f"    careful: {doubt}", "yellow")


@mcp.command("test")
def try_out(
    name: Name,
    *,
    seconds: Annotated[
        float, typer.Option(min=0.1, max=120, help="How long it is waited for.")
    ] = 20.0,
    data_dir: DataDir = None,
) -> None:
    """Start a server on this machine, list its tools, end it. Status 1 if it is of no use."""
    path = f"/api/mcp/{quote(name, safe='')}/test"
    said = {"seconds": seconds}
    found = answered(lambda client: client.post(path, said, seconds=seconds + 30), data_dir)
    screen = Screen(sys.stdout)
    if not found["ok"]:
        screen.line(f"{name} failed after {found['seconds']:.1f} s: {found['failure']}", "red")
        if found["complaint"]:
            screen.line("    it wrote:", "dim")
            screen.lines(found["complaint"], "dim", indent="      ")
        raise typer.Exit(1)
    about = " ".join(filter(None, (found["serverName"], found["serverVersion"])))
    screen.line(f"{name} answers: {about or 'no name'}, {found['seconds']:.1f} s")
    for each in found["tools"]:
        screen.line(f"  {tool_name(name, each['name'])}")
        if each["description"]:
            screen.lines(each["description"], "dim", indent="      ")
    if found["more"]:
        screen.line("  and more")


@mcp.command("serve")
def serve(
    *,
    http: Annotated[
        bool, typer.Option("--http", help="Streamable HTTP on loopback; otherwise stdio.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="With --http; 0: a free one.")] = 3334,
    data_dir: DataDir = None,
) -> None:
    """Be an MCP server: other programs list, read, begin and go on with sessions, sandboxed.

    It calls the supervisor as the other commands do, and needs its token; over HTTP the caller
    needs it too.
    """
    from supervisor.cli.mcp_server import serve_http, serve_stdio  # noqa: PLC0415 - slow to load

    def opened() -> Client:
        return connected(data_dir)

    # First: the library would set up a log of its own, which drops what our lines say.
    configure_logs(level=logging.WARNING)
    try:
        if not http:
            asyncio.run(serve_stdio(opened))
            return
        token = find_token(data_dir)
        listener = socket.create_server(("127.0.0.1", port))
        where = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        Screen(sys.stdout).line(f"listening {where}")
        sys.stdout.flush()
        asyncio.run(serve_http(opened, token, listener))
    except TrustfloorError as error:
        Screen(sys.stderr).problem(error)
        raise typer.Exit(1) from None
    except OSError as error:
        Screen(sys.stderr).failure(
            f"the port can't be listened on: {error.strerror}", str(port), "choose another --port"
        )
        raise typer.Exit(1) from None


def _pairs(said: list[str], option: str) -> dict[str, str]:
    found = {}
    for each in said:
        name, separator, value = each.partition("=")
        if not separator:  # not repeated: it may be a secret
            raise typer.BadParameter("NAME=VALUE is expected", param_hint=f"'{option}'")
        found[name] = value
    return found


def _show(screen: Screen, server: Mapping[str, Any]) -> None:
    if not server["allowed"]:
        state, style = "not allowed as it is now: trustfloor mcp allow " + server["name"], "red"
    else:
        state, style = "allowed" + (", in sandboxes too" if server["sandboxed"] else ""), "dim"
    screen.line(f"{server['name']}  ({server['type']})")
    what = server["url"] or " ".join([server["command"], *server["args"]])
    screen.line(f"    {what}")
    for key, value in {**(server["env"] or {}), **(server["headers"] or {})}.items():
        screen.line(f"    {key}={value}", "dim")
    screen.line(f"    {state}", style)
