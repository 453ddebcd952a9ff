"""`trustfloor sessions`: list, read, rename, put away and delete sessions."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from supervisor.cli.answered import AsJson, DataDir, answered
from supervisor.cli.be_sure import be_sure
from supervisor.cli.choices import chosen_argument, not_blank
from supervisor.cli.client import Client
from supervisor.cli.counted import counted
from supervisor.cli.json_out import write_json
from supervisor.cli.lazy import Listing
from supervisor.cli.moments import told_moment
from supervisor.cli.neutral import one_line
from supervisor.cli.render import Screen
from supervisor.cli.short_ids import whole_id
from supervisor.storage.session_source import SessionSource
from supervisor.trust.levels import TrustLevel

_LONGEST = 1_000
"""Characters of a call's input, and of why one failed."""
_LONGEST_LINE = 120

sessions = typer.Typer(cls=Listing, add_completion=False, rich_markup_mode=None)

Id = Annotated[
    str, typer.Argument(metavar="ID", help="The session: its id, or enough of how it begins.")
]


@sessions.callback(invoke_without_command=True)
def _sessions(context: typer.Context) -> None:
    """Look at sessions and tidy them up; without a subcommand, the last used."""
    if context.invoked_subcommand is None:
        list_sessions()


@sessions.command("list")
def list_sessions(  # noqa: PLR0913 - each is an option of the command
    *,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many.")] = 20,
    before: Annotated[str | None, typer.Option(help="Those after the page that ended so.")] = None,
    workspace: Annotated[str | None, typer.Option(help="Of this workspace only.")] = None,
    agent: Annotated[str | None, typer.Option(help="Of the agent of this name only.")] = None,
    tag: Annotated[str | None, typer.Option(help="With this tag only.")] = None,
    archived: Annotated[bool, typer.Option("--archived", help="Those put away.")] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List sessions, the last used first."""
    wanted = {
        "limit": str(limit),
        "before": before,
        "workspace": workspace,
        "agent": agent,
        "tag": tag,
        "archived": "true" if archived else "false",
    }
    query = urlencode({key: value for key, value in wanted.items() if value is not None})
    found = answered(lambda client: client.get(f"/api/chat/sessions?{query}"), data_dir)
    if as_json:
        write_json(found)
        return
    screen = Screen(sys.stdout)
    for each in found["sessions"]:
        screen.line(f"{each['id']}  {each['title'] or 'no title'}")
        screen.line(f"    {_facts(each)}", "dim")
    if found["next"]:
        screen.line(f"more: the same with --before '{found['next']}'", "dim")
    if not found["sessions"]:
        screen.line("no sessions", "dim")


@sessions.command("show")
def show(
    session: Id,
    *,
    limit: Annotated[int, typer.Option(min=0, max=500, help="How many messages.")] = 100,
    before: Annotated[str | None, typer.Option(help="The messages before this cursor.")] = None,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show a session and what was said in it."""
    query = urlencode({"limit": limit, **({"before": before} if before else {})})

    async def asked(client: Client) -> Any:
        return await client.get(f"{await _path(client, session)}?{query}")

    found = answered(asked, data_dir)
    if as_json:
        write_json(found)
        return
    screen = Screen(sys.stdout)
    screen.line(found["title"] or "no title")
    screen.line(_facts(found), "dim")
    if found["before"]:
        earlier = f"trustfloor sessions show {found['id']} --before {found['before']}"
        screen.line(f"earlier: {earlier}", "dim")
    for message in found["messages"]:
        _say(screen, message)
    for note in found["notes"]:
        screen.line(f"not all of the transcript could be read: {note}", "yellow")


@sessions.command("rename")
def rename(
    session: Id,
    title: Annotated[
        str, typer.Argument(metavar="TITLE", callback=not_blank, help="The new title.")
    ],
    *,
    data_dir: DataDir = None,
) -> None:
    """Give a session another title."""

    async def renamed(client: Client) -> None:
        await client.patch(await _path(client, session), {"title": title})

    answered(renamed, data_dir)
    Screen(sys.stdout).line(f"renamed: {title}")


@sessions.command("trust")
def trust(
    session: Id,
    level: Annotated[
        TrustLevel | None,
        chosen_argument(
            TrustLevel, metavar="LEVEL", help="What it is to run at from its next message on."
        ),
    ] = None,
    *,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show at which level a session runs and who demands it, or ask for another level."""

    async def asked(client: Client) -> Any:
        path = f"/api/sessions/{await whole_id(client, session)}/trust"
        if level is None:
            return await client.get(path)
        return await client.put(path, {"trustLevel": level.value})

    found = answered(asked, data_dir)
    if as_json:
        write_json(found)
        return
    screen = Screen(sys.stdout)
    screen.line(f"runs at {found['effective']}")
    asked, *demands, _ = found["trace"]
    screen.line(f"    {asked}", "dim")
    for floor, said in zip(found["floors"], demands, strict=True):
        if floor["level"] != TrustLevel.FULL:  # the loosest one demands nothing
            screen.line(f"    {said}", "dim")


@sessions.command("fork")
def fork(session: Id, *, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """Begin a new session that goes on from this one, which stays as it is."""
    made = _done_to(session, "fork", data_dir)
    if as_json:
        write_json(made)
        return
    screen = Screen(sys.stdout)
    screen.line(f"{made['id']}  {made['title'] or 'no title'}")
    screen.line(f"    go on: trustfloor chat --session {made['id']} '…'", "dim")


@sessions.command("stop")
def stop(
    session: Id,
    *,
    reason: Annotated[
        str, typer.Option(callback=not_blank, help="Why, as the turn's last event tells it.")
    ] = "stopped at a terminal",
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Stop the turn that runs in a session; where none runs, that is told, and no fault."""

    async def stopped(client: Client) -> Any:
        return await client.post(f"{await _path(client, session)}/abort", {"reason": reason})

    found = answered(stopped, data_dir)
    if as_json:
        write_json(found)
        return
    Screen(sys.stdout).line("stopped" if found["aborted"] else "no turn runs in it")


@sessions.command("archive")
def archive(session: Id, *, data_dir: DataDir = None) -> None:
    """Put a session away; nothing of it is deleted."""
    _done_to(session, "archive", data_dir)
    Screen(sys.stdout).line("archived")


@sessions.command("unarchive")
def unarchive(session: Id, *, data_dir: DataDir = None) -> None:
    """Take a session back that was put away."""
    _done_to(session, "unarchive", data_dir)
    Screen(sys.stdout).line("unarchived")


@sessions.command("delete")
def delete(
    session: Id,
    *,
    transcript: Annotated[
        bool, typer.Option("--transcript", help="What was said as well.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Delete a session for good; its transcript stays unless you say so."""

    async def looked_at(client: Client) -> Any:
        return await client.get(f"{await _path(client, session)}?limit=0")

    found = answered(looked_at, data_dir)  # what isn't there is told before anything is asked
    if not yes:
        stays = "with what was said" if transcript else "what was said stays in the vault"
        named = f"“{one_line(found['title'] or 'no title')}” ({found['id']}, {stays})"
        be_sure(f"Delete {named} for good?")
    path = f"/api/chat/session/{found['id']}" + ("?transcript=true" if transcript else "")
    gone = answered(lambda client: client.delete(path), data_dir)
    too = ", its transcript too" if gone["transcriptDeleted"] else ""
    Screen(sys.stdout).line(f"deleted{too}")


async def _path(client: Client, session: str) -> str:
    return f"/api/chat/session/{await whole_id(client, session)}"


def _done_to(session: str, what: str, data_dir: Path | None) -> Any:
    async def done(client: Client) -> Any:
        return await client.post(f"{await _path(client, session)}/{what}")

    return answered(done, data_dir)


def _facts(session: dict[str, Any]) -> str:
    parts = [
        told_moment(session["lastAccessed"]),
        session["trustLevel"],
        f"workspace {session['workspace']}",
        counted(session["messageCount"], "message"),
    ]
    if session["source"] != SessionSource.PARACHUTE:
        parts.append(f"from {session['source']}")
    if session["agentPath"]:
        parts.append(session["agentPath"])
    if session["tags"]:
        parts.append("tags " + ", ".join(session["tags"]))
    if session["active"]:
        parts.append("a turn runs")
    return " · ".join(parts)


def _say(screen: Screen, message: dict[str, Any]) -> None:
    blocks = message["blocks"]
    # What tools gave comes in messages of the user's role; the person hasn't said it.
    if not all(block["type"] == "tool_result" for block in blocks):
        screen.line("")
        screen.line(f"{message['role']}  {told_moment(message['timestamp'])}", "dim")
    for block in blocks:
        match block["type"]:
            case "text":
                screen.lines(block["text"])
            case "tool_use":
                given = json.dumps(block.get("input"), ensure_ascii=False)
                screen.line(f"  ▸ {one_line(block['name'])} {one_line(_cut(given))}", "cyan")
            case "tool_result":
                _tell_result(screen, block)
            case "image":
                screen.line("  (a picture)", "dim")


def _tell_result(screen: Screen, block: dict[str, Any]) -> None:
    lines = block["content"].splitlines() or [""]
    if block["isError"]:  # why it failed or was refused, whole
        first, _, rest = _cut("\n".join(lines)).partition("\n")
        screen.line(f"  ✗ {first}", "red")
        if rest:
            screen.lines(rest, "red", indent="    ")
        return
    more = f" (and {len(lines) - 1} more lines)" if len(lines) > 1 else ""
    screen.line(f"  → {lines[0][:_LONGEST_LINE]}{more}", "dim")


def _cut(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}… ({len(text) - _LONGEST} more characters)"
