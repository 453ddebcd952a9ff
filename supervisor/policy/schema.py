"""What a policy file may say, checked with positions: one file's part of the policy."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from supervisor.policy.compiled import Category
from supervisor.policy.dangerous import DangerRule
from supervisor.policy.deny_list import DenyRule
from supervisor.policy.document import Node, parse_document
from supervisor.policy.permissions import Permissions
from supervisor.policy.rule_reading import (
    LEVELS,
    Entry,
    danger_entry,
    deny_entry,
    flag_of,
    is_glob,
    part_of,
    rule_entries,
    section_fields,
    texts_of,
    tool_entry,
    tool_name,
)
from supervisor.policy.tool_rules import Answer, ToolRule
from supervisor.trust.levels import TrustLevel

VERSION = 1


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
    fields = section_fields(root, "policy")
    if fields["version"].whole_number() != VERSION:
        raise fields["version"].wrong(f"{VERSION}, the one version there is")
    tools = part_of(fields, "tools")
    gateway = part_of(fields, "gateway")
    cage = part_of(fields, "cage")
    return PolicyDocument(
        file=file,
        deny=rule_entries(fields["deny"], deny_entry) if "deny" in fields else (),
        dangerous=rule_entries(fields["dangerous"], danger_entry) if "dangerous" in fields else (),
        rules=rule_entries(fields["rules"], tool_entry) if "rules" in fields else (),
        categories=_categories(tools["categories"]) if "categories" in tools else {},
        levels=_levels(tools["levels"]) if "levels" in tools else {},
        defaults=_defaults(fields["defaults"]) if "defaults" in fields else {},
        commands=fields.get("commands"),
        cage_network=cage["network"].flag() if "network" in cage else None,
        models=_models(gateway["models"]) if "models" in gateway else None,
        server_tools=_server_tools(gateway["server_tools"]) if "server_tools" in gateway else {},
        budgets=_budgets(fields["budgets"]) if "budgets" in fields else {},
    )


def _categories(node: Node) -> Mapping[str, Category]:
    found: dict[str, Category] = {}
    for key, tools in node.entries():
        category = key.choice(Category, tuple(Category))
        for tool in tools.items():
            name = tool_name(tool)
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
    fields = section_fields(node, "permissions")
    return Permissions(
        trust_mode=flag_of(fields, "trust_mode", default=True),
        read=_permitted(fields, "read"),
        write=_permitted(fields, "write"),
        bash=_bash(fields["bash"]) if "bash" in fields else False,
    )


def _permitted(fields: Mapping[str, Node], key: str) -> tuple[str, ...]:
    for each in fields[key].items() if key in fields else []:
        text = each.text()
        if text.startswith(("/", "~")) or ".." in text.split("/") or not is_glob(text):
            raise each.wrong("a glob relative to the vault, without `..`")
    return texts_of(fields, key)


def _bash(node: Node) -> tuple[str, ...] | bool:
    return node.texts() if node.is_list() else node.flag()


def _server_tools(node: Node) -> Mapping[TrustLevel, bool]:
    return {level: value.flag() for level, value in _by_level(node)}


def _by_level(node: Node) -> list[tuple[TrustLevel, Node]]:
    return [(key.choice(TrustLevel, LEVELS), value) for key, value in node.entries()]


def _models(node: Node) -> tuple[str, ...]:
    models = node.texts()
    if not models:
        raise node.wrong("at least one model")
    return models


def _budgets(node: Node) -> Mapping[tuple[str, str], float | None]:
    found: dict[tuple[str, str], float | None] = {}
    for scope, limits in section_fields(node, "budgets").items():
        for key, value in section_fields(limits, "spend").items():
            found[scope, key] = value.whole_number() if key == "tokens" else value.number()
    return found
