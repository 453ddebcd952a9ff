"""An agent file → its definition, or an error with the line: nothing half-read becomes an agent.

Two forms are read: the settings at the top of the frontmatter, or all of them below one key
`agent:`, beside which a note may have any keys of its own. A setting that isn't known is an error,
since a misspelt limit would be no limit.
"""

from collections.abc import Callable, Collection, Mapping
from pathlib import PurePosixPath
from typing import Any, Final, Literal, TypeVar, get_args

from supervisor.agents.definition import (
    CONTEXT_TOKENS,
    MOST_SPAWNS,
    AgentContext,
    AgentDefinition,
    AgentType,
)
from supervisor.agents.frontmatter import Markdown, read_markdown, settings_of
from supervisor.errors import ConfigurationError
from supervisor.nearest import did_you_mean
from supervisor.policy.document import Node
from supervisor.policy.grant_pattern import validate
from supervisor.policy.permissions import Bounds, GrantKind
from supervisor.trust.levels import TrustLevel

LONGEST_NAME: Final = 100
"""Characters of an agent's name."""
LONGEST_DESCRIPTION: Final = 4_096
"""Characters of its description."""
MOST_LISTED: Final = 200
"""Entries of each list in an agent file."""

_SETTINGS: Final = (
    "name", "description", "type", "model", "system_prompt", "tools", "permissions",
    "write_permissions", "trust", "mcpServers", "context", "constraints", "spawns", "triggers",
)  # fmt: skip
_OTHER_SPELLINGS: Final = {
    "trust_level": "trust",
    "trustLevel": "trust",
    "mcp_servers": "mcpServers",
    "systemPrompt": "system_prompt",
    "writePermissions": "write_permissions",
}
_OF_THE_NOTE: Final = (
    "title", "tags", "tag", "alias", "aliases", "cssclass", "cssclasses", "created", "updated",
    "modified", "date", "author", "color", "version", "publish", "permalink", "id",
)  # fmt: skip
"""What note-taking programs write into any note; it says nothing of the agent."""
_PERMISSIONS: Final = ("read", "write", "bash", "tools", "spawn", "approvedMcps")
_EVERYTHING: Final = "*"
_LEVELS: Final = tuple(level.value for level in TrustLevel)

T = TypeVar("T")


def parse_agent(path: str, content: bytes) -> AgentDefinition:
    """The definition that a file holds. `path` is relative to the vault.

    Raises ConfigurationError with file, line, column and field.
    """
    parts = read_markdown(path, content)
    if parts.head is None:
        raise ConfigurationError(
            "the file has no frontmatter, so it defines no agent",
            where=f"{path}:1",
            remedy="begin it with `---`, then `name: …`, then `---`; or move it elsewhere",
        )
    settings = _settings(path, parts)
    return _definition(path, parts.body, settings)


def _settings(path: str, parts: Markdown) -> Mapping[str, Node]:
    if not (parts.head or "").strip():
        raise ConfigurationError(
            "the frontmatter is empty", where=f"{path}:1", remedy="give at least `name: …`"
        )
    root = settings_of(path, parts)
    entries = {key.text(): (key, value) for key, value in root.entries()}
    if "agent" not in entries:
        return _known(entries, beside=_OF_THE_NOTE)
    outer = {name: key for name, (key, _) in entries.items() if name != "description"}
    both = next((key for name, key in outer.items() if _spelling(name) in _SETTINGS), None)
    if both is not None:
        raise both.wrong(
            "the settings below `agent:` and none of them beside it", "move it below `agent:`"
        )
    agent = entries["agent"][1]
    inner = {key.text(): (key, value) for key, value in agent.entries()}
    return _known(inner, beside=())


def _known(
    entries: Mapping[str, tuple[Node, Node]], *, beside: Collection[str]
) -> Mapping[str, Node]:
    found: dict[str, Node] = {}
    for name, (key, value) in entries.items():
        spelling = _spelling(name)
        if spelling in found:
            raise key.wrong(f"each setting once; `{spelling}` came before")
        if spelling in _SETTINGS:
            found[spelling] = value
        elif name not in beside:
            raise key.wrong(
                f"one of {', '.join(_SETTINGS)}",
                did_you_mean(name, (*_SETTINGS, *_OTHER_SPELLINGS))
                or "keys of the note itself go beside a key `agent:` that holds the settings",
            )
    return found


def _spelling(name: str) -> str:
    return _OTHER_SPELLINGS.get(name, name)


def _definition(path: str, body: str, settings: Mapping[str, Node]) -> AgentDefinition:
    permissions = _fields(settings.get("permissions"), _PERMISSIONS)
    constraints = _fields(settings.get("constraints"), ("max_spawns", "timeout"))
    names, own = _servers(settings.get("mcpServers"))
    allowed = permissions.get("approvedMcps")
    if allowed is not None:
        _require_approved(allowed.texts(), names, settings["mcpServers"])
    timeout = constraints.get("timeout")
    return AgentDefinition(
        path=path,
        name=_one(settings, "name", _name, PurePosixPath(path).stem),
        description=_one(settings, "description", _description, ""),
        type=_one(settings, "type", _type, "chatbot"),
        model=_one(settings, "model", Node.text, None),
        prompt=_prompt(settings.get("system_prompt"), body),
        bounds=_bounds(settings, permissions),
        trust=_one(settings, "trust", lambda n: n.choice(TrustLevel, _LEVELS), None),
        mcp_servers=names,
        own_servers=own,
        context=_context(settings.get("context")),
        spawns=_spawns(settings.get("spawns"), permissions.get("spawn")),
        max_spawns=_count(constraints.get("max_spawns"), MOST_SPAWNS),
        timeout_seconds=None if timeout is None else timeout.number(),
    )


def _one(settings: Mapping[str, Node], key: str, read: Callable[[Node], T], otherwise: T) -> T:
    node = settings.get(key)
    return otherwise if node is None else read(node)


def _fields(node: Node | None, known: tuple[str, ...]) -> Mapping[str, Node]:
    return {} if node is None else node.fields(known)


def _name(node: Node) -> str:
    name = node.text().strip()
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise node.wrong(f"a name of at most {LONGEST_NAME} letters, without control characters")
    return name


def _description(node: Node) -> str:
    text = node.text().strip()
    if len(text) > LONGEST_DESCRIPTION:
        raise node.wrong(f"a text of at most {LONGEST_DESCRIPTION} characters")
    return text


def _type(node: Node) -> AgentType:
    names: tuple[AgentType, ...] = get_args(AgentType)
    chosen: AgentType = node.choice(lambda text: next(n for n in names if n == text), names)
    return chosen


def _prompt(node: Node | None, body: str) -> str | None:
    """The body as it stands; behind the setting, if there is one."""
    if node is None:
        return body if body.strip() else None
    said = node.text()
    return f"{said.rstrip()}\n\n{body}" if body.strip() else said


def _bounds(settings: Mapping[str, Node], permissions: Mapping[str, Node]) -> Bounds:
    outer, inner = settings.get("tools"), permissions.get("tools")
    beside = settings.get("write_permissions")
    if outer is not None and inner is not None:
        raise inner.wrong("the tools in one place", "leave out `tools` here or beside it")
    if beside is not None and "write" in permissions:
        raise beside.wrong("the globs in one place", "leave out this or `permissions.write`")
    write = beside if beside is not None else permissions.get("write")
    bash = permissions.get("bash")
    tools = outer if outer is not None else inner
    return Bounds(
        tools=None if tools is None else _tools(tools),
        read=_globs(permissions.get("read"), GrantKind.READ),
        write=_globs(write, GrantKind.WRITE),
        bash=None if bash is None else _bash(bash),
    )


def _tools(node: Node) -> tuple[str, ...] | None:
    """Names as a list, or in one text with commas; `*` alone sets no bound."""
    if node.is_list():
        items = [(each, each.text().strip()) for each in _listed(node)]
    else:
        items = [(node, part.strip()) for part in node.text().split(",") if part.strip()]
    names = [name for _, name in items]
    if _EVERYTHING in names:
        if len(names) > 1:
            raise node.wrong("`*` alone, or names of tools")
        return None
    for each, name in items:
        problem = validate(GrantKind.TOOL, name)
        if "(" in name:
            raise each.wrong("a tool's name", "limits of commands go to `permissions.bash`")
        if problem is not None or ":" in name:
            raise each.wrong("a tool's name, or `mcp__SERVER__*` for all tools of a server")
    return tuple(dict.fromkeys(names))


def _globs(
    node: Node | None, kind: Literal[GrantKind.READ, GrantKind.WRITE]
) -> tuple[str, ...] | None:
    if node is None:
        return None
    for each in _listed(node):
        problem = validate(kind, each.text())
        if problem is not None:
            raise each.wrong(f"a glob relative to the vault ({problem})")
    return node.texts()


def _bash(node: Node) -> tuple[str, ...] | bool:
    if not node.is_list():
        return node.flag()
    for each in _listed(node):
        problem = validate(GrantKind.BASH, each.text())
        if problem is not None:
            raise each.wrong(f"leading words of a command ({problem})")
    return node.texts()


def _servers(
    node: Node | None,
) -> tuple[tuple[str, ...] | None, Mapping[str, Mapping[str, Any]]]:
    """Names of servers, and descriptions by name; both may stand in one list."""
    if node is None:
        return None, {}
    if not node.is_list():
        return (), _described(node)
    names: list[str] = []
    own: dict[str, Mapping[str, Any]] = {}
    for each in _listed(node):
        if isinstance(each.plain(), dict):
            own.update(_described(each))
        else:
            names.append(each.text())
    return tuple(dict.fromkeys(names)), own


def _described(node: Node) -> Mapping[str, Mapping[str, Any]]:
    own: dict[str, Mapping[str, Any]] = {}
    for key, value in node.entries():
        plain = value.plain()
        if not isinstance(plain, dict):
            raise value.wrong("what the server is (`command` and `args`, or `type` and `url`)")
        own[key.text()] = plain
    return own


def _require_approved(approved: tuple[str, ...], names: tuple[str, ...] | None, node: Node) -> None:
    missing = next((name for name in names or () if name not in approved), None)
    if missing is not None:
        raise node.wrong(f"servers that `permissions.approvedMcps` lists; {missing} isn't there")


def _context(node: Node | None) -> AgentContext:
    fields = _fields(node, ("include", "exclude", "knowledge_file", "max_tokens"))
    return AgentContext(
        include=_globs(fields.get("include"), GrantKind.READ) or (),
        exclude=_globs(fields.get("exclude"), GrantKind.READ) or (),
        knowledge_file=_one(fields, "knowledge_file", Node.text, None),
        max_tokens=_count(fields.get("max_tokens"), CONTEXT_TOKENS),
    )


def _spawns(outer: Node | None, inner: Node | None) -> tuple[str, ...]:
    if outer is not None and inner is not None:
        raise inner.wrong("the agents in one place", "leave out `permissions.spawn` or `spawns`")
    node = outer if outer is not None else inner
    if node is None:
        return ()
    return tuple(dict.fromkeys(each.text() for each in _listed(node)))


def _count(node: Node | None, otherwise: int) -> int:
    value = otherwise if node is None else node.whole_number()
    return otherwise if value is None else value


def _listed(node: Node) -> list[Node]:
    items = node.items()
    if len(items) > MOST_LISTED:
        raise node.wrong(f"at most {MOST_LISTED} entries")
    return items
