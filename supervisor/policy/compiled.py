"""The policy in force, as the decision reads it: frozen, whole, and known by its hash."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.trust.levels import TrustLevel


class Category(StrEnum):
    """Kinds of acts that tools do."""

    READ = "read"
    SEARCH = "search"
    WRITE = "write"
    SHELL = "shell"
    WEB = "web"
    AGENT = "agent"
    QUESTION = "question"
    MCP = "mcp"
    OTHER = "other"


class Answer(StrEnum):
    """What a level says to a category."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Spend:
    """A limit on spending: tokens of all kinds, and US dollars. None: no limit."""

    tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class GatewayTerms:
    """What may be asked of the model's API; `models` are globs."""

    models: tuple[str, ...]
    server_tools: Mapping[TrustLevel, bool]
    turn: Spend
    session: Spend


@dataclass(frozen=True, slots=True)
class Examples:
    """Paths that a rule must deny, and paths that nothing on the list may deny."""

    rule: str
    deny: tuple[str, ...]
    allow: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """All that a decision needs besides the call and the facts.

    `rules` are the deny list's rules from the files; `denied` compiles them with what is the
    supervisor's own secret; `hidden` adds the names that are hidden below `full`; `protected` are
    the names that no tool may write. `hash` is that of the merged content.
    """

    hash: str
    rules: tuple[DenyRule, ...]
    denied: DenyList
    hidden: DenyList
    protected: DenyList
    tools: Mapping[str, Category]
    tool_prefixes: tuple[tuple[str, Category], ...]
    levels: Mapping[TrustLevel, Mapping[Category, Answer]]
    gateway: GatewayTerms
    examples: tuple[Examples, ...]

    def category(self, tool: str) -> Category:
        """The tool's category; the longest matching prefix counts, and a name beats a prefix."""
        named = self.tools.get(tool)
        if named is not None:
            return named
        for prefix, category in self.tool_prefixes:
            if tool.startswith(prefix):
                return category
        return Category.OTHER

    def may_not_be_named(self, level: TrustLevel) -> DenyList:
        """The names that a call at this level may not touch in any way."""
        return self.denied if level is TrustLevel.FULL else self.hidden
