"""What conversations are made of: the rows, the terms of the house, and the maker of gates."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from supervisor.agents.discover import Agents
from supervisor.approvals.open_requests import TurnContext
from supervisor.events.schema import PermissionDeniedEvent
from supervisor.ids import SessionId, TurnId
from supervisor.mcp.chosen import TurnServers, Wanted
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.permissions import Bounds
from supervisor.policy.session_permissions import SessionPermissions
from supervisor.runtimes.contract import Runtime, ToolGate
from supervisor.runtimes.honeytokens import Honeytokens
from supervisor.storage.contexts import ContextStore
from supervisor.storage.sessions import SessionStore
from supervisor.storage.turns import TurnStore
from supervisor.storage.workspaces import WorkspaceStore
from supervisor.trust.levels import TrustLevel


@dataclass(frozen=True, slots=True)
class GateTerms:
    """What a gate is made for: one turn, at one level, with the vault as the agent sees it."""

    context: TurnContext
    level: TrustLevel
    as_seen_vault: str
    as_seen_cwd: str
    as_seen_home: str | None = None
    honeytokens: Honeytokens | None = None
    bounds: Bounds | None = None
    permissions: SessionPermissions | None = None
    """What the session's own record lets it do unasked; None if it says nothing."""


class TurnGate(ToolGate, Protocol):
    """The gate of a turn, which keeps what it refused."""

    @property
    def denials(self) -> tuple[PermissionDeniedEvent, ...]:
        """What was refused so far, in order; bounded."""
        ...


class GateMaker(Protocol):
    """Makes the gate of a turn."""

    def __call__(self, terms: GateTerms) -> TurnGate:
        """The gate of the turn that the terms name."""
        ...


@dataclass(frozen=True, slots=True)
class Stores:
    """The rows that conversations are kept in."""

    sessions: SessionStore
    turns: TurnStore
    workspaces: WorkspaceStore
    contexts: ContextStore


def _nobody(_: SessionId) -> None:
    """Nobody is told."""


def _no_room() -> bool:
    """Nothing was held back."""
    return False


@dataclass(frozen=True, slots=True)
class House:
    """The terms of this supervisor that hold for every turn. Seconds are wall-clock."""

    vault: Path
    floor: TrustLevel
    turn_seconds: float
    shutdown_seconds: float
    default_model: str | None
    scripted: bool
    """Whether a script stands in for the model."""
    runtimes: Mapping[TrustLevel, Runtime]
    make_gate: GateMaker
    policy: Callable[[], CompiledPolicy]
    agents: Callable[[], Agents]
    """Reads the vault's agent files as they are now; blocks."""
    record: Callable[[str, SessionId, TurnId | None, dict[str, Any]], Awaitable[object]]
    """Enters something into the audit log: its kind, whose it is, what it was."""
    void_grants: Callable[[SessionId, str], Awaitable[object]]
    """Ends a session's grants, and says why."""
    servers: Callable[[Wanted, TrustLevel], TurnServers]
    """The MCP servers of a turn; blocks."""
    sweep: Callable[[], Awaitable[object]]
    """Removes what is ours and in use by no turn; called after each one. Never raises."""
    ended: Callable[[SessionId], None] = _nobody
    """Told after each turn which session it was of. Never raises."""
    make_room: Callable[[], bool] = _no_room
    """Gives what was held back of the disk for a turn's ending; False: there is none. Blocks."""
