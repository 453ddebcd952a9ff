"""What the API is made of: the parts of a running supervisor that routes may use.

The composition root fills this in; a route reaches nothing that isn't named here.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

from fastapi import Depends
from pydantic import SecretStr
from starlette.requests import Request

from supervisor.access.keeper import Keeper
from supervisor.agents.discover import Agents
from supervisor.approvals.board import Board
from supervisor.approvals.granting import Granting
from supervisor.approvals.grants import GrantBook
from supervisor.approvals.pending import Approvals
from supervisor.approvals.questions import Questions
from supervisor.captures.store import Captures
from supervisor.events.log import EventLog
from supervisor.gate.policy_files import PolicySource
from supervisor.ids import SessionId
from supervisor.imports.importer import Imports
from supervisor.mcp.servers import McpServers
from supervisor.mcp.trials import Trials
from supervisor.observability.audit import AuditLog
from supervisor.observability.health import Readiness, Sandbox
from supervisor.search.finding import Finding
from supervisor.search.index import Index
from supervisor.sessions.records import MessageRequest, TurnStarted
from supervisor.settings import Settings
from supervisor.storage.contexts import ContextStore
from supervisor.storage.figures import Figures
from supervisor.storage.session import Session
from supervisor.storage.sessions import SessionStore
from supervisor.storage.tags import TagStore
from supervisor.storage.workspaces import WorkspaceStore
from supervisor.trust.levels import TrustLevel
from supervisor.trust.resolve import Trust


class Conversations(Protocol):
    """What the routes ask of the sessions' conversations; `sessions/conversations.py` does it."""

    async def begin(self, request: MessageRequest) -> TurnStarted:
        """Take a message and begin its turn; returns once the turn runs by itself."""
        ...

    async def abort(self, session_id: SessionId, reason: str) -> bool:
        """End the session's turn; False if none runs."""
        ...

    def active(self) -> list[SessionId]:
        """The sessions in which a turn runs."""
        ...

    async def trust(self, session_id: SessionId) -> Trust:
        """At which trust the session's next message would run, and why."""
        ...

    async def set_trust(self, session_id: SessionId, level: TrustLevel) -> Trust:
        """Change the level the session asks for. Raises LooserThanFloor, SessionNotFound."""
        ...

    async def fork(self, session_id: SessionId) -> Session:
        """A new session that goes on from this one, at least as strict. Raises SessionNotFound."""
        ...

    async def put_away(self, session_id: SessionId) -> None:
        """Archive a session, for which nothing is kept ready any more. Raises SessionNotFound."""
        ...

    async def delete(self, session_id: SessionId, *, with_transcript: bool) -> bool:
        """Delete a session for good; whether a transcript went with it. Raises SessionBusy."""
        ...

    async def floors_changed(self) -> None:
        """Abort the turns that a raised floor now finds too loose."""
        ...

    async def end_all(self) -> None:
        """Begin no turn any more, and return once those that run have ended or were stopped."""
        ...

    def hurry(self) -> None:
        """Stop the turns that run, now, without the rest of their grace."""
        ...


@dataclass(frozen=True)
class Parts:
    """The parts of one supervisor, as the API sees them."""

    settings: Settings
    token: SecretStr
    keeper: Keeper
    conversations: Conversations
    log: EventLog
    approvals: Approvals
    questions: Questions
    board: Board
    granting: Granting
    grants: GrantBook
    sessions: SessionStore
    tags: TagStore
    contexts: ContextStore
    workspaces: WorkspaceStore
    policy: PolicySource
    captures: Captures
    imports: Imports
    search: Finding
    index: Index
    mcp: McpServers
    mcp_trials: Trials
    agents: Callable[[], Agents]
    """Reads the vault's agent files; blocks."""
    readiness: Callable[[], Awaitable[Readiness]]
    containers: Callable[[], Awaitable[Sequence[Sandbox]]]
    """Those of ours that the engine has now. Raises EngineUnreachable."""
    audit: AuditLog
    figures: Callable[[int], Awaitable[Figures]]
    """Sums over sessions and turns as of now, and over each of the last so many days."""
    record: Callable[[str, str | None, None, Mapping[str, Any]], Awaitable[object]]
    """Enters something into the audit log: its kind, the session it is of, what it was."""


def _of_this_app(request: Request) -> Parts:
    parts = request.app.state.parts
    assert isinstance(parts, Parts)  # noqa: S101 - `make_api` puts it there
    return parts


Supervisor = Annotated[Parts, Depends(_of_this_app)]
"""In a route's signature: the parts of the supervisor that the request came to."""
