"""The agents and skills of the vault: those that can be used, and the broken files with why."""

import asyncio
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter

from supervisor.agents.definition import AgentDefinition
from supervisor.agents.skills import read_skills
from supervisor.api.agent_bodies import (
    AgentDetailsView,
    AgentsView,
    AgentView,
    FaultView,
    PermissionsOfAgentView,
    SkillsView,
    SkillView,
)
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.errors import InvalidRequest, NotFound
from supervisor.policy.fault import PolicyFault

router = APIRouter(tags=["agents"])


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
