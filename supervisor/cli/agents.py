"""`trustfloor agents`: the vault's agents and skills, and what is wrong with the broken ones."""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NoReturn
from urllib.parse import quote

import typer

from supervisor.cli.answered import AsJson, DataDir, answered
from supervisor.cli.json_out import write_json
from supervisor.cli.lazy import Whole
from supervisor.cli.render import Screen

agents = typer.Typer(cls=Whole, add_completion=False, rich_markup_mode=None)


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
    agent: Annotated[str, typer.Argument(help="The agent's path or name.")],
    *,
    data_dir: DataDir = None,
) -> None:
    """Show one agent as it is understood, with its prompt."""
    path = quote(agent, safe="/")
    found = answered(lambda client: client.get(f"/api/agents/{path}"), data_dir)
    prompt = found.pop("systemPrompt", None)
    screen = Screen(sys.stdout)
    for key, value in found.items():
        if value not in (None, [], ""):
            told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            screen.line(f"{key}: {told}")
    if prompt:
        screen.line("")
        screen.line(prompt)


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
        _broken(screen, found["broken"])
    raise typer.Exit(1 if found["broken"] else 0)


def _limits(agent: Mapping[str, Any]) -> str:
    parts = []
    if agent["trustLevel"]:
        parts.append(f"at least {agent['trustLevel']}")
    if agent["tools"] is not None:
        parts.append("tools: " + (", ".join(agent["tools"]) or "none"))
    return f"  ({'; '.join(parts)})" if parts else ""


def _broken(screen: Screen, faults: list[dict[str, Any]]) -> None:
    for each in faults:
        steps = (each["file"], each["line"], each["column"])
        where = ":".join(str(step) for step in steps if step is not None)
        screen.line(f"broken: {where}: {each['reason']}", "red")
        if each["remedy"]:
            screen.line(f"    {each['remedy']}", "dim")
