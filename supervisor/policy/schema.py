"""What a policy file may say, checked with positions: one file's part of the policy."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from wcmatch import glob as wcglob

from supervisor.policy.bash.effect import Act
from supervisor.policy.call import Kind
from supervisor.policy.compiled import Category, Examples
from supervisor.policy.dangerous import HOME, VAULT, DangerRule
from supervisor.policy.deny_list import DenyRule
from supervisor.policy.document import Node, parse_document
from supervisor.policy.permissions import Permissions
from supervisor.policy.shape import SECTIONS, known, required
from supervisor.policy.tool_rules import Answer, ToolRule
from supervisor.trust.levels import TrustLevel

VERSION = 1
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}\Z")
_TOOL = re.compile(r"[A-Za-z0-9_.:-]+\*?\Z")
_HOST = re.compile(r"(?:\*|(?:\*\.)?[^\s/@*]+)\Z")
_LEVELS = tuple(level.value for level in TrustLevel)
_KINDS = tuple(kind for kind in Kind if kind is not Kind.UNSEEN)

R = TypeVar("R", DenyRule, DangerRule, ToolRule)


@dataclass(frozen=True, slots=True)
class Entry(Generic[R]):
    """A rule with its examples, and where it stands."""

    rule: R
    examples: Examples
    where: str


DenyEntry = Entry[DenyRule]


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """What one file says; what it leaves open is left to the files before it.

    `budgets` has keys like `("turn", "tokens")`; `commands` is the section as it stands.
    """

    file: str
    deny: tuple[Entry[DenyRule], ...] = ()
    dangerous: tuple[Entry[DangerRule], ...] = ()
    rules: tuple[Entry[ToolRule], ...] = ()
    categories: Mapping[str, Category] = field(default_factory=dict)
    levels: Mapping[TrustLevel, Mapping[Category, Answer]] = field(default_factory=dict)
    defaults: Mapping[TrustLevel, Permissions] = field(default_factory=dict)
    commands: Node | None = None
    models: tuple[str, ...] | None = None
    server_tools: Mapping[TrustLevel, bool] = field(default_factory=dict)
    cage_network: bool | None = None
    budgets: Mapping[tuple[str, str], float | None] = field(default_factory=dict)


def read_document(file: str, content: bytes) -> PolicyDocument:
    """The file's part of the policy. Raises ConfigurationError with file, line, column, field."""
    root = parse_document(file, content)
    fields = _fields(root, "policy")
    if fields["version"].whole_number() != VERSION:
        raise fields["version"].wrong(f"{VERSION}, the one version there is")
    tools = _part(fields, "tools")
    gateway = _part(fields, "gateway")
    cage = _part(fields, "cage")
    return PolicyDocument(
        file=file,
        deny=_entries(fields["deny"], _deny_entry) if "deny" in fields else (),
        dangerous=_entries(fields["dangerous"], _danger_entry) if "dangerous" in fields else (),
        rules=_entries(fields["rules"], _rule_entry) if "rules" in fields else (),
        categories=_categories(tools["categories"]) if "categories" in tools else {},
        levels=_levels(tools["levels"]) if "levels" in tools else {},
        defaults=_defaults(fields["defaults"]) if "defaults" in fields else {},
        commands=fields.get("commands"),
        cage_network=cage["network"].flag() if "network" in cage else None,
        models=_models(gateway["models"]) if "models" in gateway else None,
        server_tools=_server_tools(gateway["server_tools"]) if "server_tools" in gateway else {},
        budgets=_budgets(fields["budgets"]) if "budgets" in fields else {},
    )


def _fields(node: Node, section: str) -> Mapping[str, Node]:
    return node.fields(known(section), required=required(section))


def _part(parent: Mapping[str, Node], key: str, section: str | None = None) -> Mapping[str, Node]:
    return _fields(parent[key], section or key) if key in parent else {}


def _entries(node: Node, read: Callable[[Node], Entry[R]]) -> tuple[Entry[R], ...]:
    entries: dict[str, Entry[R]] = {}
    for item in node.items():
        entry = read(item)
        if entry.rule.id in entries:
            raise item.wrong(f"each id once in a file; `{entry.rule.id}` came before")
        entries[entry.rule.id] = entry
    return tuple(entries.values())


def _id(fields: Mapping[str, Node]) -> str:
    name = fields["id"].text()
    if _ID.match(name) is None:
        raise fields["id"].wrong("lower-case letters, digits and dashes, at most 64")
    return name


def _examples(fields: Mapping[str, Node], section: str, name: str) -> Examples:
    examples = _part(fields, "examples", section)
    first, second = SECTIONS[section]
    return Examples(
        rule=name,
        deny=examples[first].texts() if first in examples else (),
        allow=examples[second].texts() if second in examples else (),
    )


def _texts(fields: Mapping[str, Node], key: str) -> tuple[str, ...]:
    return fields[key].texts() if key in fields else ()


def _flag(fields: Mapping[str, Node], key: str, *, default: bool = False) -> bool:
    return fields[key].flag() if key in fields else default


def _deny_entry(node: Node) -> Entry[DenyRule]:
    fields = _fields(node, "deny")
    name = _id(fields)
    rule = DenyRule(
        id=name,
        reason=fields["reason"].text(),
        names=_globs(fields, "names", whole_path=False),
        paths=_globs(fields, "paths", whole_path=True),
        exceptions=_globs(fields, "exceptions", whole_path=False),
    )
    return Entry(rule, _examples(fields, "examples", name), node.where)


def _danger_entry(node: Node) -> Entry[DangerRule]:
    fields = _fields(node, "dangerous")
    name = _id(fields)
    acts = fields["acts"].items() if "acts" in fields else []
    kinds = fields["kinds"].items() if "kinds" in fields else []
    rule = DangerRule(
        id=name,
        reason=fields["reason"].text(),
        acts=frozenset(each.choice(Act, tuple(Act)) for each in acts),
        recursive=_flag(fields, "recursive"),
        severe=_flag(fields, "severe"),
        folders=_absolute_globs(fields, "folders"),
        paths=_absolute_globs(fields, "paths"),
        kinds=frozenset(each.choice(Kind, _KINDS) for each in kinds),
        hosts=_hosts(fields, "hosts"),
    )
    return Entry(rule, _examples(fields, "examples", name), node.where)


def _absolute_globs(fields: Mapping[str, Node], key: str) -> tuple[str, ...]:
    for each in fields[key].items() if key in fields else []:
        text = each.text()
        if not text.startswith("/") and text.split("/")[0] not in (HOME, VAULT):
            raise each.wrong("an absolute path, or one that begins with `~` or `VAULT`")
        if ".." in text.split("/") or not _is_glob(text):
            raise each.wrong("a glob without `..`")
    return _texts(fields, key)


def _hosts(fields: Mapping[str, Node], key: str) -> tuple[str, ...]:
    for each in fields[key].items() if key in fields else []:
        if _HOST.match(each.text()) is None:
            raise each.wrong("a host without scheme and path, or `*.` and a name")
    return _texts(fields, key)


def _rule_entry(node: Node) -> Entry[ToolRule]:
    fields = _fields(node, "rule")
    name = _id(fields)
    levels = fields["levels"].items() if "levels" in fields else []
    rule = ToolRule(
        id=name,
        reason=fields["reason"].text(),
        answer=fields["answer"].choice(Answer, tuple(Answer)) if "answer" in fields else None,
        tools=tuple(_tool(each) for each in fields["tools"].items()) if "tools" in fields else (),
        servers=_texts(fields, "servers"),
        domains=_hosts(fields, "domains"),
        levels=frozenset(each.choice(TrustLevel, _LEVELS) for each in levels),
    )
    if rule.answer is not None and not (rule.tools or rule.servers or rule.domains):
        raise node.wrong("`tools`, `servers` or `domains`, which say what the rule is about")
    return Entry(rule, _examples(fields, "examples_of_calls", name), node.where)


def _tool(node: Node) -> str:
    name = node.text()
    if _TOOL.match(name) is None:
        raise node.wrong("a tool's name, with `*` at most at its end")
    return name


def _is_glob(text: str) -> bool:
    try:
        for source in wcglob.translate(text, flags=wcglob.GLOBSTAR | wcglob.DOTGLOB)[0]:
            re.compile(source)
    except (re.error, ValueError):
        return False
    return True


def _globs(fields: Mapping[str, Node], key: str, *, whole_path: bool) -> tuple[str, ...]:
    if key not in fields:
        return ()
    globs: list[str] = []
    for each in fields[key].items():
        text = each.text()
        if not whole_path and "/" in text:
            raise each.wrong("a glob for one name, without a slash; whole paths go to `paths`")
        if whole_path and (text.startswith("/") or ".." in text.split("/")):
            raise each.wrong("a path without a slash at its start, and without `..`")
        if not text.strip("*?/."):
            raise each.wrong("a glob that doesn't match everything")
        if not _is_glob(text):
            raise each.wrong("a glob")
        globs.append(text)
    return tuple(globs)


def _categories(node: Node) -> Mapping[str, Category]:
    found: dict[str, Category] = {}
    for key, tools in node.entries():
        category = key.choice(Category, tuple(Category))
        for tool in tools.items():
            name = _tool(tool)
            if found.setdefault(name, category) is not category:
                raise tool.wrong(f"each tool once; `{name}` is {found[name].value} already")
    return found


def _levels(node: Node) -> Mapping[TrustLevel, Mapping[Category, Answer]]:
    return {
        level: {
            key.choice(Category, tuple(Category)): answer.choice(Answer, tuple(Answer))
            for key, answer in answers.entries()
        }
        for level, answers in _by_level(node)
    }


def _defaults(node: Node) -> Mapping[TrustLevel, Permissions]:
    return {level: _permissions(value) for level, value in _by_level(node)}


def _permissions(node: Node) -> Permissions:
    fields = _fields(node, "permissions")
    return Permissions(
        trust_mode=_flag(fields, "trust_mode", default=True),
        read=_permitted(fields, "read"),
        write=_permitted(fields, "write"),
        bash=_bash(fields["bash"]) if "bash" in fields else False,
    )


def _permitted(fields: Mapping[str, Node], key: str) -> tuple[str, ...]:
    for each in fields[key].items() if key in fields else []:
        text = each.text()
        if text.startswith(("/", "~")) or ".." in text.split("/") or not _is_glob(text):
            raise each.wrong("a glob relative to the vault, without `..`")
    return _texts(fields, key)


def _bash(node: Node) -> tuple[str, ...] | bool:
    return node.texts() if node.is_list() else node.flag()


def _server_tools(node: Node) -> Mapping[TrustLevel, bool]:
    return {level: value.flag() for level, value in _by_level(node)}


def _by_level(node: Node) -> list[tuple[TrustLevel, Node]]:
    return [(key.choice(TrustLevel, _LEVELS), value) for key, value in node.entries()]


def _models(node: Node) -> tuple[str, ...]:
    models = node.texts()
    if not models:
        raise node.wrong("at least one model")
    return models


def _budgets(node: Node) -> Mapping[tuple[str, str], float | None]:
    found: dict[tuple[str, str], float | None] = {}
    for scope, limits in _fields(node, "budgets").items():
        for key, value in _fields(limits, "spend").items():
            found[scope, key] = value.whole_number() if key == "tokens" else value.number()
    return found
