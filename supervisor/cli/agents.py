"""`trustfloor agents`: the vault's agents and skills, and what is wrong with the broken ones."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Final, NoReturn
from urllib.parse import quote

import typer

from supervisor.cli.answered import AsJson, DataDir, answered
from supervisor.cli.broken import tell_broken
from supervisor.cli.choices import not_blank
from supervisor.cli.json_out import write_json
from supervisor.cli.lazy import Listing
from supervisor.cli.neutral import one_line
from supervisor.cli.render import Screen

_USUAL: Final = "chatbot"
"""The type of an agent whose file names none."""

agents = typer.Typer(cls=Listing, add_completion=False, rich_markup_mode=None)


@agents.callback(invoke_without_command=True)
def _agents(context: typer.Context) -> None:
    """List the vault's agents and skills; without a subcommand, the agents."""
    if context.invoked_subcommand is None:
        list_agents(as_json=False, data_dir=None)


@agents.command("list")
def list_agents(*, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """List the agents. Status 1 if one is broken."""
    found = answered(lambda client: client.get("/api/agents"), data_dir)

    def told(screen: Screen) -> None:
        for each in found["agents"]:
            screen.line(f"{each['path']}  {each['name']}{_limits(each)}")
            if each["description"]:
                screen.line(f"    {each['description']}", "dim")
        if not found["agents"]:
            screen.line("no agents; put one into the vault's folder agents/", "dim")

    _listed(found, told, as_json=as_json)


@agents.command("show")
def show_agent(
    agent: Annotated[
        str, typer.Argument(metavar="AGENT", callback=not_blank, help="The agent's path or name.")
    ],
    *,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show one agent as it is understood, with its prompt."""
    path = quote(agent, safe="/")
    found = answered(lambda client: client.get(f"/api/agents/{path}"), data_dir)
    if as_json:
        write_json(found)
        return
    screen = Screen(sys.stdout)
    screen.line(f"{one_line(found['name'])}  {one_line(found['path'])}", "bold")
    if found["description"]:
        screen.line(found["description"])
    screen.line("")
    for what, told in _understood(found):
        screen.line(f"{what:12}{one_line(told)}")
    screen.line("")
    if found["systemPrompt"]:
        screen.line("its prompt:", "bold")
        screen.lines(found["systemPrompt"])
    else:
        screen.line("it has no prompt of its own", "dim")


def _understood(agent: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What the file says of the agent, and what it leaves open, each in words."""
    level = agent["trustLevel"]
    yield "trust", f"at least {level}" if level else "as the session asks"
    yield "model", agent["model"] or "as the session asks"
    yield "tools", _names(agent["tools"], "all that there are")
    bounds = agent["permissions"]
    yield "reads", _names(bounds["read"], "what its level may")
    yield "writes", _names(bounds["write"], "what its level may")
    bash = bounds["bash"]
    words = {None: "what its level may", True: "what its level may", False: "nothing"}
    yield "commands", _names(bash, "") if isinstance(bash, list) else words[bash]
    if agent["mcpServers"]:
        yield "MCP servers", ", ".join(agent["mcpServers"])
    if agent["spawns"]:
        yield "spawns", f"{', '.join(agent['spawns'])}; at most {agent['maxSpawns']}"
    if agent["timeoutSeconds"] is not None:
        yield "time", f"{agent['timeoutSeconds']:g} s a turn"
    if agent["type"] != _USUAL:
        yield "type", agent["type"]


def _names(names: Sequence[str] | None, otherwise: str) -> str:
    return otherwise if names is None else ", ".join(names) or "none"


@agents.command("skills")
def list_skills(*, as_json: AsJson = False, data_dir: DataDir = None) -> None:
    """List the skills. Status 1 if one is broken."""
    found = answered(lambda client: client.get("/api/skills"), data_dir)

    def told(screen: Screen) -> None:
        for each in found["skills"]:
            screen.line(f"{each['name']}  {each['path']}")
            screen.line(f"    {each['description']}", "dim")
        if not found["skills"]:
            screen.line("no skills; they lie in the vault's folder .claude/skills/", "dim")

    _listed(found, told, as_json=as_json)


def _listed(found: Mapping[str, Any], told: Callable[[Screen], None], *, as_json: bool) -> NoReturn:
    """Print a list and what is broken of it, which is the exit status too."""
    if as_json:
        write_json(found)
    else:
        screen = Screen(sys.stdout)
        told(screen)
        tell_broken(screen, found["broken"])
    raise typer.Exit(1 if found["broken"] else 0)


def _limits(agent: Mapping[str, Any]) -> str:
    parts = []
    if agent["trustLevel"]:
        parts.append(f"at least {agent['trustLevel']}")
    if agent["tools"] is not None:
        parts.append("tools: " + (", ".join(agent["tools"]) or "none"))
    return f"  ({'; '.join(parts)})" if parts else ""
