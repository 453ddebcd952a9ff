"""What an agent file says: who the agent is, and the bounds it sets itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from supervisor.policy.permissions import Bounds
from supervisor.trust.levels import TrustLevel

AgentType = Literal["chatbot", "doc", "standalone"]

CONTEXT_TOKENS = 50_000
"""Tokens of context files that an agent gets, if its file doesn't say."""
MOST_SPAWNS = 3
"""Children that an agent has, if its file doesn't say."""


@dataclass(frozen=True, slots=True)
class AgentContext:
    """Files that the agent is told of at its start: globs relative to the vault, and a budget."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    knowledge_file: str | None = None
    max_tokens: int = CONTEXT_TOKENS


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """One agent. `path` is its file relative to the vault, and its id.

    `prompt` replaces the preset's system prompt; None: the agent has none of its own. `trust` is a
    floor. `mcp_servers` are names of servers of the vault's `.mcp.json` (None: the file says
    nothing of servers, and the agent has them all), `own_servers` those that it describes itself.
    `spawns` names the agents that it may start, `max_spawns` how many; `timeout_seconds` is the
    limit of its turns.
    """

    path: str
    name: str
    description: str = ""
    type: AgentType = "chatbot"
    model: str | None = None
    prompt: str | None = field(default=None, repr=False)
    bounds: Bounds = field(default_factory=Bounds)
    trust: TrustLevel | None = None
    mcp_servers: tuple[str, ...] | None = None
    own_servers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    context: AgentContext = field(default_factory=AgentContext)
    spawns: tuple[str, ...] = ()
    max_spawns: int = MOST_SPAWNS
    timeout_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill: its name, what it is for, and its file relative to the vault."""

    name: str
    description: str
    path: str
