"""The agents and skills of the vault: those that can be used, and the broken files with why."""

import asyncio
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from pydantic import Field

from supervisor.agents.definition import AgentDefinition, AgentType
from supervisor.agents.skills import read_skills
from supervisor.api.bodies import View
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.errors import InvalidRequest, NotFound
from supervisor.policy.fault import PolicyFault
from supervisor.trust.levels import TrustLevel

router = APIRouter(tags=["agents"])


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


@router.get("/agents")
async def list_agents(supervisor: Supervisor) -> AgentsView:
    """The vault's agents, as their files are now."""
    found = await asyncio.to_thread(supervisor.agents)
    return AgentsView(
        agents=[AgentView(**_of(each)) for each in found.good],
        broken=[_fault(each) for each in found.broken],
    )


@router.get("/agents/{path:path}", responses=refusals(NotFound, InvalidRequest))
async def get_agent(path: str, supervisor: Supervisor) -> AgentDetailsView:
    """One agent by its path or name. 422 with the mistake if its file is broken."""
    found = (await asyncio.to_thread(supervisor.agents)).find(path)
    return AgentDetailsView(**_of(found), system_prompt=found.prompt)


@router.get("/skills")
async def list_skills(supervisor: Supervisor) -> SkillsView:
    """The skills of `.claude/skills`, as they are now."""
    found = await asyncio.to_thread(read_skills, supervisor.settings.vault)
    return SkillsView(
        skills=[SkillView(**asdict(each)) for each in found.good],
        broken=[_fault(each) for each in found.broken],
    )


def _of(agent: AgentDefinition) -> dict[str, Any]:
    bounds = agent.bounds
    return {
        "path": agent.path,
        "name": agent.name,
        "description": agent.description,
        "type": agent.type,
        "model": agent.model,
        "trust_level": agent.trust,
        "tools": bounds.tools,
        "permissions": PermissionsOfAgentView(
            read=bounds.read, write=bounds.write, bash=bounds.bash
        ),
        "mcp_servers": (*(agent.mcp_servers or ()), *agent.own_servers),
        "spawns": agent.spawns,
        "max_spawns": agent.max_spawns,
        "timeout_seconds": agent.timeout_seconds,
        "has_prompt": agent.prompt is not None,
    }


def _fault(fault: PolicyFault) -> FaultView:
    return FaultView(
        file=fault.file,
        line=fault.line,
        column=fault.column,
        field=fault.field,
        reason=fault.expected,
        remedy=fault.remedy,
    )
