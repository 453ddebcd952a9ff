"""What is got about the vault's agents and skills."""

from pydantic import Field

from supervisor.agents.definition import AgentType
from supervisor.api.bodies import View
from supervisor.trust.levels import TrustLevel


class FaultView(View):
    """What is wrong with a file: where (counted from 1), and how to mend it."""

    file: str
    line: int | None = None
    column: int | None = None
    field: str | None = None
    reason: str
    remedy: str | None = None


class PermissionsOfAgentView(View):
    """What the agent may do unasked; null: its file sets no bound."""

    read: tuple[str, ...] | None = None
    write: tuple[str, ...] | None = None
    bash: tuple[str, ...] | bool | None = None


class AgentView(View):
    """One agent. `path` is its file relative to the vault: what `agentPath` in a message takes."""

    path: str
    name: str
    description: str
    type: AgentType
    model: str | None = None
    trust_level: TrustLevel | None = Field(None, description="The floor that its file demands")
    tools: tuple[str, ...] | None = Field(None, description="The tools it has; null: all")
    permissions: PermissionsOfAgentView
    mcp_servers: tuple[str, ...] = ()
    spawns: tuple[str, ...] = ()
    max_spawns: int
    timeout_seconds: float | None = None
    has_prompt: bool = Field(description="Whether it has a system prompt of its own")


class AgentDetailsView(AgentView):
    """One agent with its system prompt."""

    system_prompt: str | None = None


class AgentsView(View):
    """The agents by path; `broken` are files that would be agents but for a mistake."""

    agents: list[AgentView]
    broken: list[FaultView]


class SkillView(View):
    """A skill that agents are told of."""

    name: str
    description: str
    path: str


class SkillsView(View):
    """The skills by folder; `broken` are those with a mistake."""

    skills: list[SkillView]
    broken: list[FaultView]
