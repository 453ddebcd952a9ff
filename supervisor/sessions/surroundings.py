"""What a turn's prompt is told of the vault: instructions, an agent's context, skills, agents."""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from supervisor.agents.definition import AgentDefinition
from supervisor.agents.skills import read_skills
from supervisor.policy.deny_list import DenyList
from supervisor.prompt.context_files import chosen, instructions, one
from supervisor.prompt.sections import CONTEXT_TOKENS, Sections, sections

_READERS = ("Skill", "Read")


def read_surroundings(
    vault: Path,
    cwd: PurePosixPath,
    folders: Sequence[PurePosixPath],
    agent: AgentDefinition | None,
    hidden: DenyList,
) -> Sections:
    """The sections of a session that works in `cwd` and was given these context folders. Blocks.

    An agent with a prompt of its own has the context that its file names, and no other.
    """
    files = () if _has_own_prompt(agent) else instructions(vault, [cwd, *folders], hidden)
    most = CONTEXT_TOKENS
    if agent is not None:
        context, most = agent.context, agent.context.max_tokens
        files = (*chosen(vault, context.include, context.exclude, hidden), *files)
        if context.knowledge_file is not None:
            files = (*one(vault, context.knowledge_file, hidden), *files)
    skills = read_skills(vault).good if _may_read(agent) else ()
    return sections(files, skills, cwd=str(cwd), max_tokens=most)


def _has_own_prompt(agent: AgentDefinition | None) -> bool:
    return agent is not None and agent.prompt is not None


def _may_read(agent: AgentDefinition | None) -> bool:
    tools = None if agent is None else agent.bounds.tools
    return tools is None or any(each in tools for each in _READERS)
