"""What is said of a turn: the words a runtime may use, and those only the supervisor speaks.

The two unions at the end are the border of invariant 7: what comes out of a container is admitted
as a `RuntimeEvent` or not at all, so that forging one of ours is a type error before it is an
attack. Field names on the wire are camelCase; the envelope is `seq`, `turn_id`, `ts`, `session_id`.
"""

from typing import Annotated, Any, ClassVar, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from supervisor.money import Dollars
from supervisor.policy.permissions import GrantKind, GrantScope
from supervisor.trust.levels import TrustLevel


class Event(BaseModel):
    """Base of every event; `type` is its SSE event name."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )

    TERMINAL: ClassVar[bool] = False


class ModelEvent(Event):
    """The model that answers."""

    type: Literal["model"] = "model"
    model: str


class InitEvent(Event):
    """The agent process is ready: the tools it has."""

    type: Literal["init"] = "init"
    tools: tuple[str, ...]
    permission_mode: str = "default"


class TextEvent(Event):
    """Text of the answer. `delta` is what is new; `content`, the whole block, comes at its end."""

    type: Literal["text"] = "text"
    delta: str
    content: str | None = None
    block: int = 0


class ThinkingEvent(Event):
    """The model's thinking, shaped like text."""

    type: Literal["thinking"] = "thinking"
    delta: str
    content: str | None = None
    block: int = 0


class ToolUse(Event):
    """A tool call as the agent made it."""

    id: str
    name: str
    input: dict[str, Any]


class ToolUseEvent(Event):
    """The agent calls a tool; `agent` names the sub-agent that does."""

    type: Literal["tool_use"] = "tool_use"
    tool: ToolUse
    agent: str | None = None


class ToolResultEvent(Event):
    """What the tool call gave."""

    type: Literal["tool_result"] = "tool_result"
    tool_use_id: str
    content: str
    is_error: bool = False
    agent: str | None = None


class WarningEvent(Event):
    """Something went wrong that doesn't end the turn.

    `at`: when what it warns of comes, in seconds since the epoch, where that is known.
    """

    type: Literal["warning"] = "warning"
    code: str
    message: str
    at: float | None = None


class Demand(Event):
    """One source's trust floor."""

    source: str
    level: TrustLevel
    name: str | None = None


class TrustReport(Event):
    """How the effective trust came about."""

    requested: TrustLevel
    effective: TrustLevel
    floors: tuple[Demand, ...]
    trace: tuple[str, ...]


class SessionResume(Event):
    """Whether and how an earlier conversation was taken up."""

    method: Literal["new", "sdk_resume", "context_injection"]
    sdk_session_valid: bool = False
    sdk_resume_attempted: bool = False
    context_injected: bool = False
    messages_injected: int = 0
    tokens_estimate: int = 0
    previous_message_count: int = 0
    loaded_from_disk: bool = False
    cache_hit: bool = False


class SessionEvent(Event):
    """A turn begins: which session it belongs to, and at which trust it runs.

    `scripted`: the answers come from a script (`--model scripted:FILE`), whatever model is named.
    """

    type: Literal["session"] = "session"
    session_id: str
    working_directory: str
    trust_level: TrustLevel
    trust: TrustReport
    workspace: str
    agent: str | None = None
    resume_info: SessionResume
    scripted: bool = False


class IsolationEvent(Event):
    """The isolation receipt: what the engine reports and what was measured inside the cage."""

    type: Literal["isolation"] = "isolation"
    level: TrustLevel
    cage: Literal["none", "bubblewrap", "container"]
    accepted: bool
    shortfalls: tuple[str, ...] = ()
    receipt: dict[str, Any]


class AttachmentReport(Event):
    """What came along with a message; `size` in bytes."""

    name: str
    media_type: str
    size: int


class UserMessageEvent(Event):
    """The person's message, as it was handed to the agent; of what came along, what it was."""

    type: Literal["user_message"] = "user_message"
    content: str
    attachments: tuple[AttachmentReport, ...] = ()


class PromptMetadataEvent(Event):
    """What the prompt was made of."""

    type: Literal["prompt_metadata"] = "prompt_metadata"
    prompt_source: Literal["claude_code_preset", "custom", "agent"]
    prompt_source_path: str | None = None
    context_files: tuple[str, ...] = ()
    context_tokens: int = 0
    context_truncated: bool = False
    agent_name: str | None = None
    available_agents: tuple[str, ...] = ()
    base_prompt_tokens: int = 0
    total_prompt_tokens: int = 0
    trust_mode: bool = False
    working_directory_claude_md: str | None = Field(default=None)


class SuggestedGrant(Event):
    """A pattern that may be granted, with what it covers in words.

    `enough`: with it alone a call like this one runs unasked. `matches` counts the files there are
    now that it matches, None where it isn't about files; `matches_more`: these and more, not all
    were looked at. `earlier_prompts` counts the requests of this session that it would have saved.
    """

    id: str
    kind: GrantKind
    pattern: str
    covers: str
    scopes: tuple[GrantScope, ...]
    enough: bool = True
    matches: int | None = None
    matches_more: bool = False
    earlier_prompts: int = 0


class GivenGrant(Event):
    """A grant as it was given; `expires_at` in seconds since the epoch, None for no end."""

    id: str
    kind: GrantKind
    pattern: str
    expires_at: float | None = None


class FoundEffect(Event):
    """One thing that a call would do, as the policy understood it; its texts are made visible.

    `act` is a verb (`executes`, `reads`, `writes`, `deletes`, `sends`, …, `unknown`), `target` what
    it is done to, `text` the part of the command that does it, `remarks` what else is to be known.
    """

    act: str
    target: str | None = None
    text: str | None = None
    reason: str | None = None
    remarks: tuple[str, ...] = ()


class PermissionRequestEvent(Event):
    """A person is asked. `display` is the input with everything invisible made visible.

    `has_hidden_characters`: something in it would have stayed unseen, or looked like something
    else. `effects` are what the policy found that it would do, the first of them; `more_effects`
    counts the rest. `suggested_grants` go from narrow to broad; with none, the call can be granted
    but once. `agent_name` is the sub-agent that makes the call, if one does.
    """

    type: Literal["permission_request"] = "permission_request"
    id: str
    tool_use_id: str
    tool_name: str
    agent_name: str | None = None
    trust_level: TrustLevel
    permission_type: str
    input: dict[str, Any]
    display: str
    has_hidden_characters: bool
    content_hash: str
    rule: str
    reason: str
    file_path: str | None = None
    mcp_server: str | None = None
    mcp_tool: str | None = None
    effects: tuple[FoundEffect, ...] = ()
    more_effects: int = 0
    suggested_grants: tuple[SuggestedGrant, ...] = ()
    asked_at: float
    expires_at: float


class PermissionResolvedEvent(Event):
    """A person answered, or nobody did in time.

    `scope` and `grants` say what was granted beyond the call itself. `covered_by` are grants that
    were given in answer to another request and cover this one too. `by` is who answered.
    """

    type: Literal["permission_resolved"] = "permission_resolved"
    id: str
    decision: Literal["granted", "denied", "timed_out", "void"]
    message: str | None = None
    by: str | None = None
    scope: GrantScope | None = None
    grants: tuple[GivenGrant, ...] = ()
    covered_by: tuple[str, ...] = ()


class PermissionDeniedEvent(Event):
    """A tool call was refused, by rule or by a person."""

    type: Literal["permission_denied"] = "permission_denied"
    request_id: str | None = None
    tool_use_id: str
    tool_name: str
    rule: str
    reason: str


class ShownOption(Event):
    """An option of a question, with everything invisible made visible."""

    label: str
    description: str | None = None


class ShownQuestion(Event):
    """A question, with everything invisible made visible."""

    question: str
    header: str | None = None
    options: tuple[ShownOption, ...] = ()
    multi_select: bool = False


class UserQuestionEvent(Event):
    """The agent asks the person; `questions` as the AskUserQuestion tool gives them.

    `shown` are the same to be looked at: answers go by the texts in `questions`.
    `has_hidden_characters`: something in them would have stayed unseen, or looked like something
    else. `agent_name` is the sub-agent that asks, if one does.
    """

    type: Literal["user_question"] = "user_question"
    request_id: str
    tool_use_id: str
    agent_name: str | None = None
    questions: tuple[dict[str, Any], ...]
    shown: tuple[ShownQuestion, ...] = ()
    has_hidden_characters: bool = False
    asked_at: float | None = None
    expires_at: float


class Spending(Event):
    """Tokens and cost of a turn, as the gateway counted them; cost in US dollars."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: Dollars = 0.0
    requests: int = 0

    @property
    def tokens(self) -> int:
        """Tokens of all kinds."""
        return (
            self.input_tokens
            + self.output_tokens
            + self.cache_read_tokens
            + self.cache_write_tokens
        )

    def plus(self, other: "Spending") -> "Spending":
        """Both together."""
        return Spending(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            cost_usd=self.cost_usd + other.cost_usd,
            requests=self.requests + other.requests,
        )


class DoneEvent(Event):
    """The turn ended well, and everything it started is gone.

    `scripted`: a script answered in place of the model that is named. Nothing was paid then: the
    cost is what the model's answer would have cost, which is what budgets go by.
    """

    TERMINAL: ClassVar[bool] = True

    type: Literal["done"] = "done"
    response: str
    session_id: str
    working_directory: str
    message_count: int
    model: str | None
    duration_ms: int
    spawned: tuple[str, ...] = ()
    tool_calls: int = 0
    permission_denials: tuple[PermissionDeniedEvent, ...] = ()
    session_resume: SessionResume
    spending: Spending = Spending()
    scripted: bool = False


class AbortedEvent(Event):
    """A person, or a raised floor, ended the turn."""

    TERMINAL: ClassVar[bool] = True

    type: Literal["aborted"] = "aborted"
    message: str
    session_id: str
    partial_response: str


class ErrorEvent(Event):
    """The turn failed: what happened, where, and what mends it."""

    TERMINAL: ClassVar[bool] = True

    type: Literal["error"] = "error"
    code: str
    error: str
    session_id: str
    where: str | None = None
    remedy: str | None = None
    can_retry: bool = False
    partial_response: str = ""


RuntimeEvent = (
    ModelEvent
    | InitEvent
    | TextEvent
    | ThinkingEvent
    | ToolUseEvent
    | ToolResultEvent
    | WarningEvent
)
"""What a runtime may say, and so what may come out of a container."""

SupervisorEvent = (
    SessionEvent
    | IsolationEvent
    | UserMessageEvent
    | PromptMetadataEvent
    | PermissionRequestEvent
    | PermissionResolvedEvent
    | PermissionDeniedEvent
    | UserQuestionEvent
    | DoneEvent
    | AbortedEvent
    | ErrorEvent
)
"""What only the supervisor says."""

AnyEvent = Annotated[RuntimeEvent | SupervisorEvent, Field(discriminator="type")]
EVENT_TYPES: Final = frozenset(
    str(each.model_fields["type"].default) for each in get_args(RuntimeEvent | SupervisorEvent)
)
"""The names of all types of event."""
