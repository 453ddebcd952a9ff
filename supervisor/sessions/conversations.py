"""What the outside may ask of sessions: send a message, abort, look at and change trust."""

from dataclasses import dataclass

from supervisor.ids import SessionId, TurnId
from supervisor.trust.levels import TrustLevel


@dataclass(frozen=True, slots=True)
class MessageRequest:
    """One message, as a client asks for it; None means: as the session has it, or the default."""

    message: str
    session_id: str | None = None
    workspace: str | None = None
    trust_level: TrustLevel | None = None
    working_directory: str | None = None
    model: str | None = None
    system_prompt: str | None = None
    agent: str | None = None
    initial_context: str | None = None


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn runs; its events have a `seq` above `after`."""

    session_id: SessionId
    turn_id: TurnId
    after: int
