"""What any runtime is: a lifetime to open, a receipt to judge, a message to hand over, a stream.

Above: `sessions/turn.py`, which opens one for each turn. Below: the implementations, which the
composition root alone knows. A runtime never decides about a tool call: it asks the `ToolGate`.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal, Protocol

from supervisor.errors import AgentProcessFailed, TurnFailed
from supervisor.events.schema import RuntimeEvent, Spending
from supervisor.gateway.access import ModelAccess
from supervisor.ids import SessionId, TurnId
from supervisor.policy.call import Allow, Deny
from supervisor.policy.deny_list import DenyList
from supervisor.runtimes.honeytokens import Honeytokens
from supervisor.trust.levels import TrustLevel

CageKind = Literal["none", "bubblewrap", "container"]


@dataclass(frozen=True, slots=True)
class RunPlan:
    """All that a runtime is told of a turn, before anything starts; the message comes later.

    `vault` is absolute on the host, `cwd` and `transcript` relative to it: the JSONL file that the
    supervisor keeps for this session. `resume` says that it holds an earlier conversation, which
    begins at its byte `resume_from`.
    `honeytokens` make what stands where denied files are, and know it again; None: nothing does.
    `servers` are the MCP servers as the CLI reads them, JSON with secrets in it; None: none.
    `far` are those that the supervisor calls in the agent's stead; None: none.
    `network` says whether tools at `vault` share the host's; in a sandbox there is none.
    """

    session_id: SessionId
    turn_id: TurnId
    level: TrustLevel
    vault: PurePosixPath
    cwd: PurePosixPath
    transcript: PurePosixPath
    resume: bool
    deny_list: DenyList
    access: ModelAccess
    resume_from: int = 0
    model: str | None = None
    system_prompt: str | None = None
    append_system_prompt: str | None = None
    tools: tuple[str, ...] | None = None
    network: bool = True
    servers: str | None = field(default=None, repr=False, compare=False)
    far: "FarServers | None" = field(default=None, repr=False, compare=False)
    honeytokens: Honeytokens | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was measured of a cage. `shortfalls` is empty, or the message is never handed over."""

    cage: CageKind
    measured: Mapping[str, Any]
    shortfalls: tuple[str, ...] = ()


class NotTakenUp(AgentProcessFailed):
    """The CLI lives, and doesn't go on from the conversation that it was given."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the agent process {what}", remedy="send the message again")


@dataclass(frozen=True, slots=True)
class RunResult:
    """How the agent says its work ended: the last item of a run's stream.

    `error` is None if it ended well; `error_status` the HTTP status of the model's API, if that
    was the cause.
    """

    text: str
    model: str | None = None
    turns: int = 0
    error: str | None = None
    error_status: int | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)


class ToolGate(Protocol):
    """The only way to a verdict; one is made for each turn."""

    async def check(
        self,
        tool: str,
        input: Mapping[str, Any],
        tool_use_id: str,
        agent: str | None,
        cwd: str | None = None,
    ) -> Allow | Deny:
        """Decide about one call, asking a person where policy says so. Never raises.

        `cwd` is where the agent's process stands by now, as it sees it; None: where it began.
        """
        ...


@dataclass(frozen=True, slots=True)
class FarAnswer:
    """What goes back to the agent's program (None: nothing), and what a person should know of."""

    reply: Mapping[str, Any] | None
    trouble: str | None = None


class FarServers(Protocol):
    """MCP servers behind the network, which the supervisor calls in the agent's stead; one turn's.

    The agent's program has no way to them but its own frames, and a call passes only if the gate
    allowed just that one.
    """

    @property
    def names(self) -> frozenset[str]:
        """What the agent's program calls them."""
        ...

    def permit(self, tool: str, input: Mapping[str, Any]) -> None:
        """Let one call pass, once: the gate has allowed it. Other tools' calls are ignored."""
        ...

    async def answer(self, server: str, message: Mapping[str, Any]) -> FarAnswer:
        """What becomes of a message of the agent's program. Never raises."""
        ...

    def open(self) -> AbstractAsyncContextManager[None]:
        """How long they may be called: leaving the block closes every connection."""
        ...


class Run(Protocol):
    """One turn's lifetime in a runtime."""

    @property
    def receipt(self) -> Receipt:
        """What was measured before the run was handed out."""
        ...

    @property
    def events(self) -> AsyncIterator[RuntimeEvent | RunResult]:
        """What the agent says, in order, ended by a `RunResult`. Raises a TurnFailed if it dies."""
        ...

    @property
    def spending(self) -> Spending:
        """What the turn has spent so far, as the gateway counts it."""
        ...

    @property
    def asked_model(self) -> bool:
        """Whether the agent has asked the model for anything."""
        ...

    @property
    def over_budget(self) -> bool:
        """Whether the gateway refused a request because the budget is used up."""
        ...

    async def inject(self, message: str, beside: Sequence[Mapping[str, Any]] = ()) -> None:
        """Hand a message over to the agent, and blocks of the model's API that belong to it."""
        ...

    async def interrupt(self) -> None:
        """Ask the agent to stop; bounded, and never raises."""
        ...


class Runtime(Protocol):
    """Executes turns at some trust level."""

    @property
    def as_seen_vault(self) -> str | None:
        """Where the agent sees the vault; None: where the host has it."""
        ...

    @property
    def as_seen_home(self) -> str | None:
        """Where the agent's `~` leads; None: to the home of the supervisor's user."""
        ...

    def open(self, plan: RunPlan, gate: ToolGate) -> AbstractAsyncContextManager[Run]:
        """Start everything the turn needs; leaving the block ends and removes all of it.

        Leaving is bounded in time and happens in the task that entered. Raises a TurnFailed that
        says what to do; IsolationRefused carries the receipt in its `receipt` attribute.
        """
        ...

    def make_ready(self) -> None:
        """Make ready what whoever's next message can use. Never waits and never raises."""
        ...

    def expect(self, plan: RunPlan) -> None:
        """A turn like this one has ended well: the session's next may be got ready. Never waits."""
        ...

    def forget(self, session_id: SessionId, why: str) -> None:
        """No message of it is to be got ready for any more: what was, goes. Never waits."""
        ...


class Channel(Protocol):
    """Bytes to and from one CLI process, wherever it lives; between a cage and the transport."""

    @property
    def stderr_bytes(self) -> int:
        """How much it has written to its standard error."""
        ...

    def chunks(self) -> AsyncIterator[bytes]:
        """Its standard output in arbitrary pieces, until it closes. Applies back-pressure.

        A piece may be empty: something came, if not on standard output.
        """
        ...

    async def write(self, data: bytes) -> None:
        """Send to its standard input. Raises AgentProcessFailed once it is closed."""
        ...

    async def close_input(self) -> None:
        """Close its standard input; doing so twice is harmless."""
        ...

    async def cause_of_death(self) -> TurnFailed | None:
        """After the output closed: why, in words that say what to do; None if it ended by itself.

        Bounded in time.
        """
        ...
