"""What a policy file may say, checked with positions: one file's part of the policy."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from wcmatch import glob as wcglob

from supervisor.policy.compiled import Answer, Category, Examples
from supervisor.policy.deny_list import DenyRule
from supervisor.policy.document import Node, parse_document
from supervisor.trust.levels import TrustLevel

VERSION = 1
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}\Z")
_TOOL = re.compile(r"[A-Za-z0-9_.:-]+\*?\Z")
_LEVELS = tuple(level.value for level in TrustLevel)


@dataclass(frozen=True, slots=True)
class DenyEntry:
    """A rule with its examples, and where it stands."""

    rule: DenyRule
    examples: Examples
    where: str


@dataclass(frozen=True, slots=True)
class PolicyDocument:
    """What one file says; what it leaves open is left to the files before it.

    `budgets` has keys like `("turn", "tokens")`.
    """

    file: str
    deny: tuple[DenyEntry, ...] = ()
    categories: Mapping[str, Category] = field(default_factory=dict)
    levels: Mapping[TrustLevel, Mapping[Category, Answer]] = field(default_factory=dict)
    models: tuple[str, ...] | None = None
    server_tools: Mapping[TrustLevel, bool] = field(default_factory=dict)
    budgets: Mapping[tuple[str, str], float | None] = field(default_factory=dict)


def read_document(file: str, content: bytes) -> PolicyDocument:
    """The file's part of the policy. Raises ConfigurationError with file, line, column, field."""
    root = parse_document(file, content)
    fields = root.fields(("version", "deny", "tools", "gateway", "budgets"), required=("version",))
    if fields["version"].whole_number() != VERSION:
        raise fields["version"].wrong(f"{VERSION}, the one version there is")
    tools = _fields(fields, "tools", ("categories", "levels"))
    gateway = _fields(fields, "gateway", ("models", "server_tools"))
    return PolicyDocument(
        file=file,
        deny=_deny(fields["deny"]) if "deny" in fields else (),
        categories=_categories(tools["categories"]) if "categories" in tools else {},
        levels=_levels(tools["levels"]) if "levels" in tools else {},
        models=_models(gateway["models"]) if "models" in gateway else None,
        server_tools=_server_tools(gateway["server_tools"]) if "server_tools" in gateway else {},
        budgets=_budgets(fields["budgets"]) if "budgets" in fields else {},
    )


def _fields(parent: Mapping[str, Node], key: str, known: tuple[str, ...]) -> Mapping[str, Node]:
    return parent[key].fields(known) if key in parent else {}


def _deny(node: Node) -> tuple[DenyEntry, ...]:
    entries: dict[str, DenyEntry] = {}
    for item in node.items():
        entry = _deny_entry(item)
        if entry.rule.id in entries:
            raise item.wrong(f"each id once in a file; `{entry.rule.id}` came before")
        entries[entry.rule.id] = entry
    return tuple(entries.values())


def _deny_entry(node: Node) -> DenyEntry:
    fields = node.fields(
        ("id", "reason", "names", "paths", "exceptions", "examples"), required=("id", "reason")
    )
    name = fields["id"].text()
    if _ID.match(name) is None:
        raise fields["id"].wrong("lower-case letters, digits and dashes, at most 64")
    rule = DenyRule(
        id=name,
        reason=fields["reason"].text(),
        names=_globs(fields, "names", whole_path=False),
        paths=_globs(fields, "paths", whole_path=True),
        exceptions=_globs(fields, "exceptions", whole_path=False),
    )
    examples = _fields(fields, "examples", ("deny", "allow"))
    return DenyEntry(
        rule=rule,
        examples=Examples(
            rule=name,
            deny=examples["deny"].texts() if "deny" in examples else (),
            allow=examples["allow"].texts() if "allow" in examples else (),
        ),
        where=node.where,
    )


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
        try:
            for source in wcglob.translate(text, flags=wcglob.GLOBSTAR | wcglob.DOTGLOB)[0]:
                re.compile(source)
        except (re.error, ValueError):
            raise each.wrong("a glob") from None
        globs.append(text)
    return tuple(globs)


def _categories(node: Node) -> Mapping[str, Category]:
    found: dict[str, Category] = {}
    for key, tools in node.entries():
        category = key.choice(Category, tuple(Category))
        for tool in tools.items():
            name = tool.text()
            if _TOOL.match(name) is None:
                raise tool.wrong("a tool's name, with `*` at most at its end")
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
    for scope, limits in node.fields(("turn", "session")).items():
        for key, value in limits.fields(("tokens", "cost_usd")).items():
            found[scope, key] = value.whole_number() if key == "tokens" else value.number()
    return found
