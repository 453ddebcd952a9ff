"""What clients send and get, as documents: camelCase on the wire, snake_case accepted as well.

A key that isn't known is refused by name: a misspelt `trustLevel` must not be silently ignored.
"""

import difflib
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, PydanticCustomError

from supervisor.api.faults import SAYS_SOMETHING
from supervisor.api.tellable import require_tellable
from supervisor.money import Dollars
from supervisor.sessions.attachments import MOST as MOST_ATTACHMENTS
from supervisor.sessions.message import MAX_MESSAGE_CHARS
from supervisor.storage.session_source import SessionSource
from supervisor.trust.levels import TrustLevel

REFERENCE: Final = "#/components/schemas/{model}"
"""How one schema of the API's document names another."""


def _lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


Level = Annotated[TrustLevel, BeforeValidator(_lower)]
"""A trust level by its name, whatever the case; any other word is refused."""


Name = Annotated[str, Field(pattern=SAYS_SOMETHING)]
"""What people call a thing, and so not just blanks."""

Flag = Annotated[bool, Strict()]
"""True or false as JSON has them, and no number or word that only looks like one."""


def _spellings(name: str, field: FieldInfo) -> list[str]:
    """All that a key may be called, first as it is documented."""
    alias = field.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    return [*(each for each in choices if isinstance(each, str)), name]


def _misspelt_keys(given: Mapping[Any, Any], body: type[BaseModel]) -> Iterator[InitErrorDetails]:
    """A fault for each key that isn't known, but looks like one that is."""
    spellings = [_spellings(name, field) for name, field in body.model_fields.items()]
    known = {spelling for each in spellings for spelling in each}
    for key in given:
        if isinstance(key, str) and key not in known:
            near = difflib.get_close_matches(key, [each[0] for each in spellings], n=1)
            if near:
                fault = PydanticCustomError(
                    "extra_forbidden", "there is no such field", {"nearest": near[0]}
                )
                yield InitErrorDetails(type=fault, loc=(key,), input=None)


class Body(BaseModel):
    """Base of what a client sends. An unknown key is refused with the nearest known one.

    So is, with its place, what couldn't be stored or told again.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )

    @model_validator(mode="before")
    @classmethod
    def _misspelt(cls, given: Any) -> Any:
        if isinstance(given, dict):
            faults = list(_misspelt_keys(given, cls))
            if faults:
                raise ValidationError.from_exception_data(cls.__name__, faults)
        return require_tellable(given)


def for_example(**said: Any) -> ConfigDict:
    """The configuration of a body that tells the OpenAPI document an example of itself."""
    return ConfigDict(json_schema_extra={"examples": [said]})


class View(BaseModel):
    """Base of what a client gets."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class FileBody(Body):
    """A file as JSON. `content` is its text, or its bytes in base64 where `encoding` says so."""

    filename: str
    content: str
    encoding: Literal["text", "base64"] = "text"


class ChatBody(Body):
    """One message. What isn't said is as the session has it, or the default.

    `message` may be empty where `initialContext` or an attachment says it all. What an attachment
    is, its bytes say: text, a picture (PNG, JPEG, GIF, WebP), a PDF.
    """

    model_config = for_example(message="What did I plan for May?", trustLevel="sandboxed")

    message: str = Field("", max_length=MAX_MESSAGE_CHARS)
    attachments: tuple[FileBody, ...] = Field((), max_length=MOST_ATTACHMENTS)
    session_id: str | None = None
    workspace: str | None = Field(
        None, validation_alias=AliasChoices("workspace", "workspaceId", "workspace_id")
    )
    trust_level: Level | None = None
    working_directory: str | None = None
    model: str | None = None
    system_prompt: str | None = None
    agent_path: str | None = None
    initial_context: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.message or self.initial_context or self.attachments):
            kind = "string_too_short" if "message" in self.model_fields_set else "missing"
            context = {"min_length": 1} if kind == "string_too_short" else {}
            fault = InitErrorDetails(type=kind, loc=("message",), input=None, ctx=context)
            raise ValidationError.from_exception_data(type(self).__name__, [fault])
        return self


class AbortBody(Body):
    """Why a turn is ended; shown in its `aborted` event."""

    model_config = for_example(reason="enough")

    reason: str = "aborted by a client"


class TrustBody(Body):
    """The trust level that a session is to have from its next message on."""

    model_config = for_example(trustLevel="sandboxed")

    trust_level: Level


class WorkspaceBody(Body):
    """What a workspace is to be; `folder` is relative to the vault.

    What is left out stays as it is. A new workspace needs a `floor`; it is named after its slug and
    is the whole vault, unless it is said otherwise.
    """

    model_config = for_example(name="Garden", folder="Projects/garden", floor="sandboxed")

    name: Name | None = None
    folder: str | None = None
    floor: Level | None = None


class SessionView(View):
    """A session as clients see it; `damaged` names stored fields that could not be read."""

    id: str
    title: str | None
    workspace: str
    trust_level: TrustLevel
    working_directory: str | None
    model: str | None
    agent_path: str | None
    source: SessionSource = Field(
        description="Where it began; `parachute` means here: the earlier program's word, kept"
    )
    continued_from: str | None
    message_count: int
    tokens_used: int
    cost_usd: Dollars = Field(description="What was paid: nothing where a script answered")
    archived: bool
    created_at: datetime
    last_accessed: datetime
    active: bool
    tags: tuple[str, ...] = ()
    damaged: tuple[str, ...] = ()


class SessionsView(View):
    """A page of sessions, the last accessed first; `next` is the `before` of the next page."""

    sessions: list[SessionView]
    next: str | None = None


class WorkspaceView(View):
    """A workspace as it is stored."""

    slug: str
    name: str
    folder: str
    floor: TrustLevel
    created_at: datetime
    damaged: tuple[str, ...] = ()


class WorkspacesView(View):
    """All workspaces."""

    workspaces: list[WorkspaceView]


class PolicyFaultView(View):
    """A mistake in a policy file: where, and what was expected there. Counted from 1."""

    file: str
    line: int | None = None
    column: int | None = None
    field: str | None = None
    expected: str
    remedy: str | None = None


class PolicyHealthView(View):
    """The policy in force by its hash; `error`: why the files on the disk aren't in force.

    `watched` is whether a change of the files would be seen.
    """

    hash: str
    watched: bool
    error: PolicyFaultView | None = None


class HealthView(View):
    """That the server answers at all, and whether its policy files are in force."""

    status: Literal["ok"] = "ok"
    timestamp: str
    version: str
    policy: PolicyHealthView


class CheckView(View):
    """One thing that was looked at; `ok` is null where nothing depends on it.

    `needed`: while it is wrong, no turn can run at any level.
    """

    name: str
    ok: bool | None
    detail: str
    remedy: str | None = None
    needed: bool = False


class LeftoversView(View):
    """What of ours exists right now, in use by a turn (`live`) or not (`left`).

    `containersWaiting` are ready for messages and in use by no turn yet.
    """

    containers_live: int
    containers_waiting: int
    containers_left: int
    turn_folders: int
    sockets: int
    processes: int


class ReadinessView(View):
    """Whether work can be done at every level, and why not."""

    ready: bool
    checks: list[CheckView]
    counts: LeftoversView


class AbortView(View):
    """Whether there was a turn to abort."""

    aborted: bool


class ActiveView(View):
    """The sessions in which a turn runs."""

    sessions: list[str]


class ProblemView(BaseModel):
    """A problem document (RFC 9457) with our members `code`, `where`, `remedy` and `errors`."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    where: str | None = None
    remedy: str | None = None
    retryable: bool | None = None
    incident: str | None = None
    errors: list[dict[str, Any]] | None = None
