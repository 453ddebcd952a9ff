"""A session as it is stored: what it is made from, what can be changed, what is read back."""

from typing import Annotated, Any, Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from supervisor.ids import SessionId
from supervisor.policy.session_permissions import NOTHING_UNASKED, SessionPermissions
from supervisor.storage.session_source import SessionSource
from supervisor.trust.levels import TrustLevel

PERMISSIONS: Final = "permissions"
"""The key of a session's metadata that holds its permissions."""

DAMAGED_PERMISSIONS: Final = f"metadata.{PERMISSIONS}"


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SessionCreate(_Stored):
    """What a session is created from; the level and the workspace are always said.

    The moments are now, unless it is taken in from elsewhere with its own.
    """

    id: SessionId
    trust_level: TrustLevel
    workspace: str
    title: str | None = None
    module: str = "chat"
    source: SessionSource = SessionSource.PARACHUTE
    working_directory: str | None = None
    vault_root: str | None = None
    model: str | None = None
    message_count: Annotated[int, Field(ge=0)] = 0
    archived: bool = False
    created_at: AwareDatetime | None = None
    last_accessed: AwareDatetime | None = None
    continued_from: str | None = None
    agent_type: str | None = None
    agent_path: str | None = None
    transcript_path: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class SessionUpdate(_Stored):
    """A partial change. A field that isn't given stays as it is.

    None empties what may be empty, and leaves anything else as it is.
    """

    title: str | None = None
    module: str | None = None
    source: SessionSource | None = None
    working_directory: str | None = None
    vault_root: str | None = None
    model: str | None = None
    message_count: Annotated[int, Field(ge=0)] | None = None
    archived: bool | None = None
    continued_from: str | None = None
    agent_type: str | None = None
    agent_path: str | None = None
    transcript_path: str | None = None
    metadata: dict[str, Any] | None = None
    trust_level: TrustLevel | None = None
    workspace: str | None = None


class Session(_Stored):
    """One stored session. Moments are in UTC.

    `cost_usd` is what its answers cost by the list of prices, in US dollars, for its budget;
    `scripted_usd` is so much of it as nobody paid, since a script answered.

    `damaged` names the columns that could not be read and were replaced: an unknown trust level by
    the strictest one, everything else by nothing. `cursor` says where it stands in a list.
    """

    id: SessionId
    title: str | None
    module: str
    source: SessionSource
    working_directory: str | None
    vault_root: str | None
    model: str | None
    message_count: int
    archived: bool
    created_at: AwareDatetime
    last_accessed: AwareDatetime
    continued_from: str | None
    agent_type: str | None
    metadata: dict[str, Any]
    trust_level: TrustLevel
    workspace: str
    agent_path: str | None
    transcript_path: str | None
    tokens_used: int
    cost_usd: float
    scripted_usd: float
    cursor: str
    damaged: tuple[str, ...] = ()

    @property
    def paid_usd(self) -> float:
        """What was paid for its answers, in US dollars."""
        return max(0.0, self.cost_usd - self.scripted_usd)

    @property
    def permissions(self) -> SessionPermissions:
        """What it may do unasked: the defaults if nothing is said, nothing if that is damaged."""
        if "metadata" in self.damaged:
            return NOTHING_UNASKED
        return read_permissions(self.metadata) or NOTHING_UNASKED

    @property
    def own_permissions(self) -> SessionPermissions | None:
        """The same where its record says something; None where what the policy has counts."""
        if "metadata" in self.damaged:
            return NOTHING_UNASKED
        held = self.permissions
        said = PERMISSIONS in self.metadata and held != SessionPermissions()
        return held if said else None

    def with_permissions(self, permissions: SessionPermissions) -> "Session":
        """The session with other permissions, not yet stored."""
        metadata = {**self.metadata, PERMISSIONS: permissions.model_dump(mode="json")}
        damaged = tuple(each for each in self.damaged if each != DAMAGED_PERMISSIONS)
        return self.model_copy(update={"metadata": metadata, "damaged": damaged})


def read_permissions(metadata: dict[str, Any]) -> SessionPermissions | None:
    """The permissions in a session's metadata, the defaults if there are none; None: damaged."""
    if PERMISSIONS not in metadata:
        return SessionPermissions()
    try:
        return SessionPermissions.model_validate(metadata[PERMISSIONS])
    except (ValidationError, RecursionError):
        return None
