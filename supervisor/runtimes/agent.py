"""The Claude Agent SDK on any channel: one place for its options, its hook, and its lifetime.

Each cage starts the CLI as `command_line.py` says and hands its channel to `open_agent`.
Facts this rests on (SDK 0.2.189, CLI 2.1.332): a PreToolUse hook sees every call, sub-agents'
included, and fails closed only with `on_failure="block"`; a hook's "allow" never covers the CLI's
own protected paths, which then reach `can_use_tool`, refused here.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, assert_never

from claude_agent_sdk import (
    ClaudeAgentOptions,
    ClaudeSDKClient,
    ClaudeSDKError,
    HookContext,
    HookMatcher,
    PermissionResultDeny,
    ToolPermissionContext,
)
from claude_agent_sdk.types import HookInput, SyncHookJSONOutput

from supervisor.errors import AgentProcessFailed, TurnFailed
from supervisor.events.schema import RuntimeEvent, Spending, WarningEvent
from supervisor.gateway.door import Door
from supervisor.policy.call import Allow, Deny
from supervisor.runtimes.command_line import Places
from supervisor.runtimes.contract import (
    Channel,
    FarServers,
    Receipt,
    RunPlan,
    RunResult,
    ToolGate,
)
from supervisor.runtimes.told_calls import ToldCalls
from supervisor.runtimes.transcript import TranscriptFile
from supervisor.runtimes.translate import MODEL_RETRY
from supervisor.runtimes.transport import ChannelTransport
from supervisor.runtimes.wire import Wire
from supervisor.trust.levels import TrustLevel

_CONNECT_SECONDS = 30.0
_INTERRUPT_SECONDS = 1.0
_DISCONNECT_SECONDS = 8.0
_HOOK_SECONDS = 86_400.0
_LONGEST_KIND: Final = 100
"""Characters of each half of what a sub-agent is called."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A CLI that is up and whose hooks are in place; it has seen no message yet."""

    client: ClaudeSDKClient
    transport: ChannelTransport


class AgentRun:
    """A turn's talk with a CLI: what it says, up to its result, and what that costs."""

    def __init__(self, connection: Connection, receipt: Receipt, door: Door) -> None:
        self._client = connection.client
        self._transport = connection.transport
        self._receipt = receipt
        self._door = door

    @property
    def receipt(self) -> Receipt:
        """What was measured of the cage."""
        return self._receipt

    @property
    def spending(self) -> Spending:
        """What the turn has spent so far."""
        return self._door.spending

    @property
    def asked_model(self) -> bool:
        """Whether the gateway was asked for an answer of the model's."""
        return self._door.first_request_at is not None

    @property
    def over_budget(self) -> bool:
        """Whether the gateway refused a request because the budget is used up."""
        return self._door.over_budget

    @property
    def events(self) -> AsyncIterator[RuntimeEvent | RunResult]:
        """What the agent says, in order, up to its result."""
        return self._events()

    async def _events(self) -> AsyncIterator[RuntimeEvent | RunResult]:
        while True:
            said = await self._transport.said.get()
            if said is None:
                raise AgentProcessFailed(
                    "the agent process ended before it gave a result",
                    remedy="send the message again",
                )
            if isinstance(said, TurnFailed):
                raise said
            yield self._with_cause(said)
            if isinstance(said, RunResult):
                return

    def _with_cause(self, said: RuntimeEvent | RunResult) -> RuntimeEvent | RunResult:
        """Where the model failed: why, which the gateway knows and the CLI doesn't."""
        trouble = self._door.trouble
        if trouble is None:
            return said
        if isinstance(said, WarningEvent) and said.code == MODEL_RETRY:
            return said.model_copy(update={"message": f"the model's API: {trouble}; trying again"})
        if isinstance(said, RunResult) and said.error is not None:
            return replace(said, error=f"{trouble} ({said.error})")
        return said

    async def inject(self, message: str, beside: Sequence[Mapping[str, Any]] = ()) -> None:
        """Hand a message over, with what belongs to it in front."""
        if beside:
            await self._client.query(_with_blocks(message, beside))
        else:
            await self._client.query(message)

    async def interrupt(self) -> None:
        """Ask the CLI to stop what it does; the cage's end follows in any case."""
        with contextlib.suppress(ClaudeSDKError, TurnFailed, TimeoutError, OSError):
            async with asyncio.timeout(_INTERRUPT_SECONDS):
                await self._client.interrupt()


async def _with_blocks(
    message: str, beside: Sequence[Mapping[str, Any]]
) -> AsyncIterator[dict[str, Any]]:
    text = [{"type": "text", "text": message}] if message.strip() else []
    content = [*map(dict, beside), *text]
    yield {
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": None,
    }


_WHERE_SERVERS_RUN: Final[Mapping[TrustLevel, str]] = {
    TrustLevel.SANDBOXED: "in a sandbox its program has to be in the runner image, the vault is"
    " /vault, and there is no network (`trustfloor mcp test` tries it outside of one; `trustfloor"
    " mcp allow` without --sandboxed leaves it out there)",
    TrustLevel.VAULT: "in the cage it sees the vault and the system, and nothing else of this"
    " machine (`trustfloor mcp test` tries it outside of one)",
    TrustLevel.FULL: "`trustfloor mcp test` says why",
}
"""Where to look if an MCP server of a turn didn't start: its own words don't reach us."""


@asynccontextmanager
async def open_agent(
    plan: RunPlan, places: Places, channel: Channel, gate: ToolGate, *, ahead: bool = False
) -> AsyncIterator[Connection]:
    """Speak to a CLI that its cage has started, until the block is left.

    `ahead`: of its message, for which it waits in silence until the transport is told to `hear`.
    Raises TurnFailed, with the cage's cause of death where there is one.
    """
    transport = ChannelTransport(
        channel,
        Wire(
            plan.session_id,
            str(places.projects),
            frozenset() if plan.far is None else plan.far.names,
            resumes=plan.resume,
        ),
        TranscriptFile(Path(plan.vault), plan.transcript),
        plan.honeytokens,
        plan.far,
        where_servers_run=_WHERE_SERVERS_RUN[plan.level],
        ahead=ahead,
    )
    async with (
        contextlib.nullcontext() if plan.far is None else plan.far.open(),
        _connected(_options(places, gate, plan.far, transport.calls), transport) as client,
    ):
        yield Connection(client, transport)


@asynccontextmanager
async def _connected(
    options: ClaudeAgentOptions, transport: ChannelTransport
) -> AsyncIterator[ClaudeSDKClient]:
    client = ClaudeSDKClient(options, transport=transport)
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            await client.connect()
    except TimeoutError:
        raise AgentProcessFailed(
            f"the agent process did not answer within {_CONNECT_SECONDS:.0f} s",
            remedy="send the message again; if it stays so, run: trustfloor doctor",
        ) from None
    except TurnFailed as error:
        raise _cause(transport) or error from None
    except ClaudeSDKError as error:
        raise _cause(transport) or AgentProcessFailed(
            f"the agent process did not start: {error}", remedy="run: trustfloor doctor"
        ) from error
    try:
        yield client
    finally:
        with contextlib.suppress(ClaudeSDKError, TurnFailed, TimeoutError, OSError):
            async with asyncio.timeout(_DISCONNECT_SECONDS):
                await client.disconnect()


def _cause(transport: ChannelTransport) -> TurnFailed | None:
    failures = [said for said in transport.said.drain() if isinstance(said, TurnFailed)]
    return failures[0] if failures else None


def _options(
    places: Places, gate: ToolGate, far: FarServers | None, calls: ToldCalls
) -> ClaudeAgentOptions:
    async def on_tool(
        hook_input: HookInput, tool_use_id: str | None, _context: HookContext
    ) -> SyncHookJSONOutput:
        call: Mapping[str, Any] = dict(hook_input)
        await calls.told(tool_use_id or "")
        verdict = await gate.check(
            call["tool_name"],
            call["tool_input"],
            tool_use_id or "",
            sub_agent(call.get("agent_id"), call.get("agent_type")),
            call.get("cwd"),
        )
        if far is not None and isinstance(verdict, Allow):
            far.permit(call["tool_name"], _input_of(verdict, call["tool_input"]))
        return _hook_answer(verdict, call["tool_input"])

    async def refuse(
        _tool: str, _input: dict[str, Any], _context: ToolPermissionContext
    ) -> PermissionResultDeny:
        return PermissionResultDeny(message="This is a protected path: no agent may change it.")

    return ClaudeAgentOptions(
        cli_path=places.cli,
        hooks={
            "PreToolUse": [HookMatcher(hooks=[on_tool], timeout=_HOOK_SECONDS, on_failure="block")]
        },
        can_use_tool=refuse,
        verbatim_prompts=True,
    )


def sub_agent(agent_id: str | None, kind: str | None) -> str | None:
    """What a sub-agent is called: by its kind, and by its id, as there may be two of a kind.

    None for the session's own agent.
    """
    if not agent_id or not kind:
        return agent_id or None
    return f"{kind[:_LONGEST_KIND]} ({agent_id[:_LONGEST_KIND]})"


def _input_of(verdict: Allow, shown: Mapping[str, Any]) -> dict[str, Any]:
    """What runs: what was decided on, or what a person made of it."""
    return dict(shown if verdict.input is None else verdict.input)


def _hook_answer(verdict: Allow | Deny, shown: Mapping[str, Any]) -> SyncHookJSONOutput:
    match verdict:
        case Allow(_, reason):
            # The input goes back with the answer: what was decided on is what runs.
            return {
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "allow",
                    "permissionDecisionReason": reason,
                    "updatedInput": _input_of(verdict, shown),
                }
            }
        case Deny(_, reason):
            return {
                "hookSpecificOutput": {
                    "hookEventName": "PreToolUse",
                    "permissionDecision": "deny",
                    "permissionDecisionReason": reason,
                }
            }
        case _:
            assert_never(verdict)
