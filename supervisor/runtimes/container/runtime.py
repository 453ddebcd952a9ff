"""`sandboxed`: a fresh hardened container for each message, destroyed after it.

Made for the message, or ahead of it where that is asked for: for the session's next one, with a CLI
that has seen no message, or as a spare one, with nothing in it, for whoever's comes. Either serves
one, and is destroyed like any other.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from supervisor.errors import AgentProcessFailed, EngineRefused, TurnFailed
from supervisor.gateway.door import Gateway
from supervisor.ids import SessionId, TurnId
from supervisor.observability.traces import span
from supervisor.policy.call import Allow, Deny
from supervisor.runtimes.agent import AgentRun, Connection, open_agent
from supervisor.runtimes.command_line import Places, arguments, environment, prompt_text
from supervisor.runtimes.container.sandbox import Sandbox, SandboxMaker
from supervisor.runtimes.container.spec import CLI, ENVIRONMENT, HOME, TURN_FOLDER, VAULT
from supervisor.runtimes.container.start_line import Resume, StartLine, encode
from supervisor.runtimes.contract import RunPlan, ToolGate
from supervisor.runtimes.guest import Held
from supervisor.runtimes.turn_folder import (
    MODEL_SOCKET,
    PROMPT,
    SERVERS,
    door_for,
)
from supervisor.runtimes.waiting import WaitingRoom

logger = logging.getLogger(__name__)


class LateGate:
    """Stands where a turn's gate will stand: until that is there, no call is allowed."""

    def __init__(self) -> None:
        self._gate: ToolGate | None = None
        self._surroundings = Context()

    def stands_for(self, gate: ToolGate) -> None:
        """From now on this one decides, in the surroundings (log, traces) of whoever says so."""
        self._gate, self._surroundings = gate, copy_context()

    async def check(
        self,
        tool: str,
        input: Mapping[str, Any],
        tool_use_id: str,
        agent: str | None,
        cwd: str | None = None,
    ) -> Allow | Deny:
        """The turn's decision; a refusal while there is no turn. Never raises."""
        if self._gate is None:
            return Deny("no-turn", "no message has been given yet")
        return await asyncio.create_task(
            self._gate.check(tool, input, tool_use_id, agent, cwd),
            context=self._surroundings.copy(),
        )


@dataclass(frozen=True, slots=True)
class Waiting:
    """A sandbox in which a CLI waits for the session's next message."""

    sandbox: Sandbox
    connection: Connection
    gate: LateGate

    async def spoilt(self) -> str:
        """Wait until its CLI has spoken, or is gone, and say which."""
        cause = await self.connection.transport.ended()
        return "the agent process ended" if cause is None else cause.message


class ContainerRuntime:
    """Runs each turn in a container of its own."""

    as_seen_vault: str | None = VAULT
    as_seen_home: str | None = HOME

    def __init__(
        self,
        *,
        maker: SandboxMaker,
        gateway: Gateway,
        room: WaitingRoom[Waiting],
        spares: WaitingRoom[Sandbox],
    ) -> None:
        self._maker = maker
        self._gateway = gateway
        self._room = room
        self._spares = spares

    @asynccontextmanager
    async def open(self, plan: RunPlan, gate: ToolGate) -> AsyncIterator[AgentRun]:
        """Make a sandbox, measure it, start a CLI in it; leaving the block removes all of it."""
        with span("container", turn=plan.turn_id):
            async with AsyncExitStack() as stack:
                run = await self._from_room(stack, plan, gate)
                yield await self._made(stack, plan, gate) if run is None else run

    def make_ready(self) -> None:
        """Make as many spare sandboxes as there are to be."""
        self._spares.fill(lambda mark: self._maker.open(mark, None))

    def expect(self, plan: RunPlan) -> None:
        """Make a sandbox ready for another message like this plan's, if any are to wait."""
        next_plan = replace(plan, resume=True, honeytokens=None)
        fit = _fit(next_plan)
        if fit is not None:
            self._room.expect(plan.session_id, fit, partial(self._ahead, next_plan))

    def forget(self, session_id: SessionId, why: str) -> None:
        """Let go what waits for that session, if anything does."""
        self._room.forget(session_id, why)

    async def _made(self, stack: AsyncExitStack, plan: RunPlan, gate: ToolGate) -> AgentRun:
        sandbox = await self._spare(stack, plan) or await self._new(stack, plan)
        door = await stack.enter_async_context(door_for(self._gateway, plan, sandbox.folder))
        connection = await _connected(stack, sandbox, plan, gate, ahead=False)
        return AgentRun(connection, sandbox.receipt, door)

    async def _new(self, stack: AsyncExitStack, plan: RunPlan) -> Sandbox:
        try:
            return await stack.enter_async_context(self._maker.open(plan.turn_id, plan))
        except EngineRefused:
            # There may be no room for one more: what only waits takes none from who has a message.
            with self._room.closed(), self._spares.closed():
                if not any([await self._room.give_way(), await self._spares.give_way()]):
                    raise
                return await stack.enter_async_context(self._maker.open(plan.turn_id, plan))

    async def _spare(self, stack: AsyncExitStack, plan: RunPlan) -> Sandbox | None:
        """One that waited for whoever came; None: there is none that is good."""
        held = await self._spares.take_any(plan.session_id, plan.turn_id)
        if held is None:
            return None
        try:
            async with AsyncExitStack() as own:
                spare = await own.enter_async_context(held)
                sandbox = await self._maker.given(spare, plan)
                held.serve()
                stack.push_async_exit(own.pop_all())
                return sandbox
        except TurnFailed as error:  # one that is made now says so as well, if it finds the same
            logger.info("a spare sandbox is of no use: %s", error.message)
            return None

    @asynccontextmanager
    async def _ahead(self, plan: RunPlan, turn: TurnId) -> AsyncIterator[Waiting]:
        """A sandbox under that id, with a CLI in it that nobody speaks to yet."""
        gate = LateGate()
        async with AsyncExitStack() as stack:
            sandbox = await stack.enter_async_context(self._maker.open(turn, plan))
            connection = await _connected(stack, sandbox, plan, gate, ahead=True)
            yield Waiting(sandbox, connection, gate)

    async def _from_room(
        self, stack: AsyncExitStack, plan: RunPlan, gate: ToolGate
    ) -> AgentRun | None:
        """The run in a sandbox that waited for just this; None: there is none that is good."""
        held = await self._room.take(plan.session_id, _fit(plan), plan.turn_id)
        if held is None:
            return None
        try:
            return await self._entered(stack, held, plan, gate)
        except TurnFailed as error:  # one that is made now says so as well, if it finds the same
            logger.info("a sandbox that waited is of no use: %s", error.message)
            return None

    async def _entered(
        self, stack: AsyncExitStack, held: Held[Waiting], plan: RunPlan, gate: ToolGate
    ) -> AgentRun:
        async with AsyncExitStack() as own:
            waiting = await own.enter_async_context(held)
            sandbox, connection = waiting.sandbox, waiting.connection
            receipt = await self._maker.renewed(sandbox, plan)
            if not connection.transport.is_ready():
                raise AgentProcessFailed("the agent process spoke already, or is gone")
            door = await own.enter_async_context(door_for(self._gateway, plan, sandbox.folder))
            connection.transport.hear(plan.honeytokens)
            waiting.gate.stands_for(gate)
            held.serve()
            stack.push_async_exit(own.pop_all())
            return AgentRun(connection, receipt, door)


async def _connected(
    stack: AsyncExitStack, sandbox: Sandbox, plan: RunPlan, gate: ToolGate, *, ahead: bool
) -> Connection:
    """The CLI, started in the sandbox; it ends with the stack."""
    places = _places(plan)
    await sandbox.channel.write(encode(_start_line(plan, places)))
    connection = await stack.enter_async_context(
        open_agent(plan, places, sandbox.channel, gate, ahead=ahead)
    )
    await asyncio.to_thread(sandbox.folder.forget_servers)
    return connection


def _fit(plan: RunPlan) -> tuple[object, ...] | None:
    """What a CLI is started with for this plan, all of it; None: it can't be started ahead.

    MCP servers can't: what describes them holds secrets, and those that the supervisor calls belong
    to one turn.
    """
    if plan.servers is not None or plan.far is not None:
        return None
    start_line = encode(_start_line(plan, _places(plan)))
    return start_line, prompt_text(plan), plan.vault, plan.transcript, plan.resume_from, plan.level


def _places(plan: RunPlan) -> Places:
    run = PurePosixPath(TURN_FOLDER)
    places = Places(
        cli=CLI,
        cwd=PurePosixPath(VAULT) / plan.cwd,
        config=PurePosixPath(HOME) / ".claude",
        scratch=PurePosixPath("/tmp"),  # noqa: S108  (the container's own)
        model_socket=run / MODEL_SOCKET,
        prompt_file=run / PROMPT if prompt_text(plan) is not None else None,
        transcript=None,
        servers_file=run / SERVERS if plan.servers is not None else None,
    )
    return places.resuming(places.resumed(plan)) if plan.resume else places


def _start_line(plan: RunPlan, places: Places) -> StartLine:
    resumed = places.transcript
    return StartLine(
        argv=tuple(arguments(plan, places)),
        cwd=str(places.cwd),
        env={
            **ENVIRONMENT,
            "SHELL": "/bin/bash",
            "USER": "agent",
            **environment(places),
        },
        resume=Resume(resumed.parent.name, resumed.stem) if resumed is not None else None,
    )
