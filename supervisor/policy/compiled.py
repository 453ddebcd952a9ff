"""The policy in force, as the decision reads it: frozen, whole, and known by its hash."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Final

from supervisor.policy.bash.effect import Act, Analysis, Effect, ShellContext
from supervisor.policy.bash.effects import analyse
from supervisor.policy.bash.memory import Memory
from supervisor.policy.bash.table import CommandTable
from supervisor.policy.dangerous import DangerRule, PlaceRules
from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.policy.kept import Kept, Sources
from supervisor.policy.permissions import Permissions
from supervisor.policy.tool_rules import Answer, ToolRule
from supervisor.trust.levels import TrustLevel

MOST_KEPT: Final = 512
"""Commands whose analysis is kept, those among them that a person granted the beginning of."""
LONGEST_KEPT: Final = 4_096
"""Characters of such a command."""


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
    """What a rule must deny (or answer, as it says), and what no rule of its kind may.

    Paths for the deny list, commands for dangerous acts, calls for rules about tools. `deny_at` and
    `allow_at` say where each stands (`file:line:column field`), if that is known.
    """

    rule: str
    deny: tuple[str, ...]
    allow: tuple[str, ...]
    deny_at: tuple[str, ...] = ()
    allow_at: tuple[str, ...] = ()


def _by_act(rules: Sequence[DangerRule]) -> Mapping[Act, tuple[DangerRule, ...]]:
    return {
        act: tuple(rule for rule in rules if act in rule.acts)
        for act in {act for rule in rules for act in rule.acts}
    }


@dataclass(frozen=True, slots=True)
class CompiledPolicy:
    """All that a decision needs besides the call and the facts.

    `rules` are the deny list's rules from the files; `denied` compiles them with what is the
    supervisor's own secret; `hidden` adds the names that are hidden below `full`; `protected` are
    the names that no tool may write, `kept` those of them that no folder may be removed with.
    `dangerous` are denied acts, `tool_rules` what the admin says of tools, servers and domains:
    the first that fits counts. `commands` says what commands do, `defaults` what a session of a
    level may do that says nothing else; `cage_network` whether programs of a `vault` session share
    the machine's network. `own_folders` are the supervisor's own, secret ones and those that steer
    it: a file there stays what it is under another name. `hash` is that of the merged content.
    """

    hash: str
    rules: tuple[DenyRule, ...]
    denied: DenyList
    hidden: DenyList
    protected: DenyList
    kept: Kept
    dangerous: tuple[DangerRule, ...]
    tool_rules: tuple[ToolRule, ...]
    commands: CommandTable
    defaults: Mapping[TrustLevel, Permissions]
    tools: Mapping[str, Category]
    tool_prefixes: tuple[tuple[str, Category], ...]
    levels: Mapping[TrustLevel, Mapping[Category, Answer]]
    cage_network: bool
    gateway: GatewayTerms
    examples: tuple[Examples, ...]
    dangerous_examples: tuple[Examples, ...]
    tool_examples: tuple[Examples, ...]
    own_folders: tuple[str, ...]
    dangerous_acts: Mapping[Act, tuple[DangerRule, ...]] = field(init=False)
    """The rules of `dangerous` that aren't about places, by act: most effects fall under none."""
    dangerous_places: Mapping[Act, PlaceRules] = field(init=False)
    """The others."""
    filled: Kept = field(init=False)
    """Folders that aren't filled as a whole, as something protected may be among what arrives."""
    sources: Sources = field(init=False)
    """Folders that aren't read as a whole, as what is denied is what they are there for."""

    known_commands: Callable[[str, str, str], Analysis] = field(
        init=False, repr=False, compare=False
    )
    """What a command does, by its text, its folder and the home folder; the last ones are kept."""

    memory: Memory = field(init=False, repr=False, compare=False)
    """What single commands of other calls did, where their words alone tell."""

    def __post_init__(self) -> None:
        places = [rule for rule in self.dangerous if rule.is_about_places]
        acts = [rule for rule in self.dangerous if not rule.is_about_places]
        object.__setattr__(self, "dangerous_acts", _by_act(acts))
        by_act = {act: PlaceRules(some) for act, some in _by_act(places).items()}
        object.__setattr__(self, "dangerous_places", by_act)
        object.__setattr__(self, "filled", Kept(self.protected))
        object.__setattr__(self, "sources", Sources(self.denied))
        object.__setattr__(self, "memory", Memory())
        object.__setattr__(self, "known_commands", lru_cache(MOST_KEPT)(self._analyse))

    def analysis_of(self, text: str, cwd: str, home: str) -> Analysis:
        """What a command does.

        Kept, as a call is judged several times: before a person is asked, for what they could
        grant, and once they did; and agents repeat themselves.
        """
        read = self.known_commands if len(text) <= LONGEST_KEPT else self._analyse
        return read(text, cwd, home)

    def effects_of(self, words: Sequence[str], cwd: str, home: str) -> tuple[Effect, ...]:
        """What words do that are a command of their own; kept as well."""
        return self.analysis_of(shlex.join(words), cwd, home).effects

    def _analyse(self, text: str, cwd: str, home: str) -> Analysis:
        context = ShellContext(cwd=cwd, home=home, environment={})
        return analyse(text, context, self.commands, self.memory)

    def category(self, tool: str) -> Category:
        """The tool's category; the longest matching prefix counts, and a name beats a prefix."""
        named = self.tools.get(tool)
        if named is not None:
            return named
        for prefix, category in self.tool_prefixes:
            if tool.startswith(prefix):
                return category
        return Category.OTHER

    def names_tool(self, tool: str) -> bool:
        """Whether the files say of what kind the tool is, by its name or how that begins."""
        return tool in self.tools or any(
            tool.startswith(prefix) for prefix, _ in self.tool_prefixes
        )

    def may_not_be_named(self, level: TrustLevel) -> DenyList:
        """The names that a call at this level may not touch in any way."""
        return self.denied if level is TrustLevel.FULL else self.hidden
