"""The plan of a turn: all that is known of it before it starts, and what it tells of itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from supervisor.agents.definition import AgentDefinition
from supervisor.events.schema import (
    AttachmentReport,
    Demand,
    PromptMetadataEvent,
    SessionEvent,
    SessionResume,
    Spending,
    TrustReport,
    UserMessageEvent,
)
from supervisor.policy.permissions import Bounds
from supervisor.policy.session_permissions import SessionPermissions
from supervisor.prompt.sections import CHARS_PER_TOKEN, INSTRUCTIONS, Sections
from supervisor.runtimes.contract import RunPlan
from supervisor.sessions.attachments import Attached
from supervisor.trust.resolve import Trust


@dataclass(frozen=True, slots=True)
class TurnPlan:
    """All that is known of a turn before it starts."""

    run: RunPlan
    trust: Trust
    workspace: str
    said: str
    """The person's message."""
    prompt: str
    """What is handed over: the message, with what was said before where it must come along."""
    attached: tuple[Attached, ...]
    resume: SessionResume
    agent: AgentDefinition | None = None
    has_custom_prompt: bool = False
    """Whether the message brought its own system prompt."""
    sections: Sections = field(default_factory=Sections)
    agents: tuple[str, ...] = ()
    trust_mode: bool = False
    permissions: SessionPermissions | None = None
    """What the session's own record lets it do unasked; None if it says nothing."""
    scripted: bool = False
    """Whether a script stands in for the model."""
    begins_anew: bool = False
    """Whether its transcript is taken up from another place than before, once it is answered."""

    @property
    def bounds(self) -> Bounds | None:
        """What the agent's file lets it do unasked."""
        return None if self.agent is None else replace(self.agent.bounds, agent=self.agent.name)

    def seconds(self, most: float) -> float:
        """The turn's limit: the house's, or its agent's if that is shorter."""
        own = None if self.agent is None else self.agent.timeout_seconds
        return most if own is None else min(own, most)

    @property
    def blocks(self) -> tuple[Mapping[str, Any], ...]:
        """What is handed over beside the text."""
        return tuple(each.block for each in self.attached if each.block is not None)

    def after(self, spent: Spending) -> "TurnPlan":
        """The same plan once that of its budget is spent."""
        access = self.run.access
        left = replace(access, budget=access.budget.without(spent))
        return replace(self, run=replace(self.run, access=left))

    def user_message(self) -> UserMessageEvent:
        """What the person said, with what came along."""
        return UserMessageEvent(
            content=self.said,
            attachments=tuple(
                AttachmentReport(name=each.name, media_type=each.media_type, size=each.size)
                for each in self.attached
            ),
        )

    @property
    def working_directory(self) -> str:
        """As clients see it: relative to the vault, '.' being the vault."""
        return str(self.run.cwd)

    def opening(self) -> SessionEvent:
        """The turn's first event."""
        return SessionEvent(
            session_id=self.run.session_id,
            working_directory=self.working_directory,
            trust_level=self.trust.effective,
            trust=trust_report(self.trust),
            workspace=self.workspace,
            resume_info=self.resume,
            scripted=self.scripted,
        )

    def prompt_metadata(self) -> PromptMetadataEvent:
        """What the prompt was made of."""
        custom, agent = self.run.system_prompt, self.agent
        tokens = len(custom) // CHARS_PER_TOKEN if custom is not None else 0
        behind = self.sections
        own = agent is not None and custom is not None and not self.has_custom_prompt
        source: Literal["claude_code_preset", "custom", "agent"] = "agent" if own else "custom"
        return PromptMetadataEvent(
            prompt_source="claude_code_preset" if custom is None else source,
            prompt_source_path=agent.path if agent is not None and own else None,
            agent_name=agent.name if agent is not None else None,
            available_agents=self.agents,
            context_files=behind.files,
            context_tokens=behind.tokens,
            context_truncated=behind.truncated,
            working_directory_claude_md=self._instructions_here(),
            trust_mode=self.trust_mode,
            base_prompt_tokens=tokens,
            total_prompt_tokens=tokens + len(self.prompt) // CHARS_PER_TOKEN,
        )

    def _instructions_here(self) -> str | None:
        here = {str(self.run.cwd / name) for name in INSTRUCTIONS}
        return next((each for each in reversed(self.sections.files) if each in here), None)


def trust_report(trust: Trust) -> TrustReport:
    """The trace of a resolution, as clients get it."""
    return TrustReport(
        requested=trust.requested,
        effective=trust.effective,
        floors=tuple(
            Demand(source=floor.source.value, level=floor.level, name=floor.name)
            for floor in trust.floors
        ),
        trace=trust.trace(),
    )
