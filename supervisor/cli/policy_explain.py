"""`trustfloor policy explain`: how a call is understood, and which rule decides about it."""

import asyncio
import os
import time
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer

from supervisor.cli.choices import choice
from supervisor.cli.complaints import complain
from supervisor.cli.json_out import write_json
from supervisor.cli.policy_sources import Page, fail, open_source, read_folders
from supervisor.errors import InvalidRequest
from supervisor.gate.explaining import Asked, explain_call
from supervisor.policy.call import ToolCall
from supervisor.policy.compiled import Category, CompiledPolicy
from supervisor.policy.explain import Explanation, ShownEffect, ShownPath, nearest_tool
from supervisor.policy.permissions_reading import read_permissions
from supervisor.trust.levels import TrustLevel

_STYLES = {"allow": "bold green", "ask": "bold yellow", "deny": "bold red"}


def explain(  # noqa: PLR0913 - each is an option of the command
    tool: Annotated[
        str,
        typer.Argument(metavar="TOOL", help="The tool's name, e.g. Bash, Read, mcp__server__tool."),
    ],
    input: Annotated[
        str,
        typer.Argument(
            metavar="INPUT", help="Its input: a command, a path, or JSON as the agent gives it."
        ),
    ],
    *,
    trust: Annotated[TrustLevel, choice(TrustLevel, help="The session's trust level.")] = (
        TrustLevel.VAULT
    ),
    cwd: Annotated[str, typer.Option(help="Its working folder, relative to the vault.")] = "",
    vault: Annotated[Path | None, typer.Option(help="The folder that agents work on.")] = None,
    permissions: Annotated[
        str | None,
        typer.Option(
            help='What the session may do unasked, as JSON: {"trust_mode": false, "bash": ["git"]}.'
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            help="A session's id: as a call of its own, asked of the supervisor that runs."
        ),
    ] = None,
    policies: Annotated[
        Path | None, typer.Option(help="The folder of policy files (TRUSTFLOOR_POLICIES).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, as the API has it.")] = False,
) -> None:
    """Explain one call: how it is understood, what it would do, which rule decides and why.

    Nothing is run. The vault's files are looked at, as for a call that an agent makes now. Exit
    status 0 whatever the verdict is, 1 if the policy files are broken, 2 if the call makes no
    sense.
    """
    if session is not None:
        _of_session(session, tool, input, as_json=as_json)
        return
    named = read_folders()
    source = open_source(named, policies)
    policy = source.current
    place = str((vault or named.vault).expanduser().resolve())
    if not os.path.isdir(place):  # noqa: PTH112 - whatever can't be looked at is none
        complain(
            "error: the vault is not a folder", place, "give one with --vault or TRUSTFLOOR_VAULT"
        )
        raise typer.Exit(2)
    try:
        allowed = None if permissions is None else read_permissions(_json(permissions))
        call = ToolCall(
            tool=tool,
            input=_input(input, tool, policy),
            tool_use_id="explain",
            level=trust,
            as_seen_vault=place,
            as_seen_cwd=str(Path(place) / cwd) if cwd else place,
            as_seen_home=str(Path.home()),
        )
    except InvalidRequest as refused:
        fail(refused, status=2)
    explanation = asyncio.run(
        explain_call(Asked(call, policy, place, allowed, source.places(), time.time()))
    )
    if as_json:
        write_json(explanation.document())
        return
    _show(explanation, Page())


def _of_session(session: str, tool: str, input: str, *, as_json: bool) -> None:
    """The same for a call of a session, with its trust, folder, permissions and grants."""
    # Only this way is the supervisor asked, so only it waits for the client.
    from pydantic import TypeAdapter  # noqa: PLC0415
    from pydantic.alias_generators import to_snake  # noqa: PLC0415

    from supervisor.cli.answered import answered  # noqa: PLC0415
    from supervisor.cli.client import Client  # noqa: PLC0415
    from supervisor.cli.short_ids import whole_id  # noqa: PLC0415

    def snake(value: Any) -> Any:
        if isinstance(value, dict):
            return {to_snake(key): snake(each) for key, each in value.items()}
        return [snake(each) for each in value] if isinstance(value, list) else value

    source = open_source(read_folders(), None)
    try:
        given = _input(input, tool, source.current)
    except InvalidRequest as refused:
        fail(refused, status=2)

    async def explained(client: Client) -> Any:
        body = {"tool": tool, "input": given, "sessionId": await whole_id(client, session)}
        return await client.post("/api/policy/explain", body)

    found = answered(explained, None)
    if as_json:
        write_json(found)
        return
    _show(TypeAdapter(Explanation).validate_python(snake(found)), Page())


def _input(text: str, tool: str, policy: CompiledPolicy) -> dict[str, Any]:
    category = policy.category(tool)
    if text.lstrip().startswith("{") and category is not Category.SHELL:
        return _json(text)
    if category is Category.SHELL:
        found = _command_object(text)
        return {"command": text} if found is None else found
    if category in (Category.READ, Category.WRITE):
        return {"file_path": text}
    if category is Category.SEARCH:
        return {"pattern": text}
    if category is Category.WEB:
        return {"url": text}
    if category is Category.AGENT:
        return {"prompt": text}
    near = nearest_tool(tool, policy)
    raise InvalidRequest(
        "the input of this tool must be given as JSON",
        where=text[:200],
        remedy=f"did you mean the tool `{near}`?" if near else """e.g. '{"path": "notes/a.md"}'""",
    )


def _command_object(text: str) -> dict[str, Any] | None:
    """A shell's input given as JSON; a command may begin with a brace as well."""
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("command"), str) else None


def _json(text: str) -> dict[str, Any]:
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"no JSON: {error}", where=text[:200]) from None
    if not isinstance(found, dict):
        raise InvalidRequest("expected a JSON object", where=text[:200])
    return found


def _show(explanation: Explanation, page: Page) -> None:
    page.line(explanation.verdict, _STYLES[explanation.verdict])
    page.line(f"  {explanation.reason}")
    stands = f", {explanation.where}" if explanation.where else ""
    page.line(f"  rule {explanation.rule}{stands}")
    for each in explanation.unsure:
        page.line(f"  not sure: {each}", "yellow")
    page.line(
        f"  {explanation.tool} is of the category {explanation.category}; at `{explanation.level}`"
        f" in {explanation.cwd}; policy {explanation.policy[:12]}",
        "dim",
    )
    if explanation.commands:
        page.line("runs", "bold")
        for command in explanation.commands:
            page.line(f"  {_words(command.words)}")
            _underline(explanation.command or "", command.start, command.end, page)
    if explanation.effects:
        page.line("does", "bold")
        for effect in explanation.effects:
            _show_effect(effect, explanation.command or "", page)
    _show_rest(explanation, page)


def _show_effect(effect: ShownEffect, command: str, page: Page) -> None:
    target = f" {effect.target}" if effect.target is not None else ""
    remarks = f" ({'; '.join(effect.remarks)})" if effect.remarks else ""
    why = f"{effect.program}, {effect.reason}" if effect.program else effect.reason
    page.line(f"  {effect.act}{target}{remarks}: {why}")
    _underline(command, effect.start, effect.end, page)
    for path in effect.paths:
        _show_path(path, page, "      ")


def _show_rest(explanation: Explanation, page: Page) -> None:
    if explanation.paths:
        page.line("names", "bold")
        for path in explanation.paths:
            _show_path(path, page, "  ")
    for title, texts in (
        ("patterns", explanation.patterns),
        ("addresses", explanation.addresses),
        ("notes", explanation.notes),
    ):
        if texts:
            page.line(title, "bold")
            for text in texts:
                page.line(f"  {text}")
    if explanation.suggestions:
        page.line("would be allowed by a grant of", "bold")
        for each in explanation.suggestions:
            page.line(f"  {each.kind} {each.pattern}")
            page.line(f"      {each.covers}", "dim")


def _show_path(path: ShownPath, page: Page, indent: str) -> None:
    names = [name for name in path.names if name != path.named]
    led = f" → {', '.join(names)}" if names else ""
    page.line(f"{indent}{path.named}{led} ({path.use}; {path.kind})")
    for words, rule in (("denied", path.denied_by), ("protected", path.protected_by)):
        if rule is not None:
            page.line(f"{indent}  {words} by {rule}", "red")
    for remark in path.remarks:
        page.line(f"{indent}  {remark}", "dim")


def _underline(command: str, start: int, end: int, page: Page) -> None:
    """The line of the command that a part begins in, with the part marked below it."""
    if not command or not 0 <= start < end <= len(command):
        return
    begin = command.rfind("\n", 0, start) + 1
    stop = command.find("\n", start)
    line = command[begin : len(command) if stop < 0 else stop]
    if len(line) > _LONGEST_LINE or not line.isprintable():
        page.line(f"      from: {command[start:end][:_LONGEST_LINE]}", "dim")
        return
    marked = min(end - begin, len(line)) - (start - begin)
    page.line(f"      {line}", "dim")
    page.line(f"      {' ' * (start - begin)}{'^' * max(1, marked)}", "cyan")


_LONGEST_LINE = 200


def _words(words: tuple[str, ...]) -> str:
    """The words apart: one that holds blanks or nothing stands in quotes."""
    return " ".join(
        word if word and not any(c.isspace() for c in word) else orjson.dumps(word).decode()
        for word in words
    ).replace("\0", "…")
