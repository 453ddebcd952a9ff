"""`full` and `vault`: the CLI is the supervisor's child, with its own folder and environment.

At these levels the gate decides every tool call; no kernel mechanism confines the process yet, and
the receipt says so.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path, PurePosixPath

from supervisor.gateway.door import Gateway
from supervisor.ids import InstanceId, TurnId
from supervisor.runtimes.agent import AgentRun, Caged, Places, arguments, environment, open_agent
from supervisor.runtimes.contract import Receipt, RunPlan, ToolGate
from supervisor.runtimes.local.environment import passed_on
from supervisor.runtimes.local.leftovers import end_leftovers, marks
from supervisor.runtimes.local.process import local_process
from supervisor.runtimes.turn_folder import TurnFolder, turn_folder


class LocalRuntime:
    """Runs turns as child processes. The CLI's transcript goes to the supervisor's copy only."""

    as_seen_vault: str | None = None

    def __init__(
        self,
        *,
        gateway: Gateway,
        turns: Path,
        instance: InstanceId,
        cli: Path,
        living: Callable[[], set[TurnId]],
    ) -> None:
        self._living = living
        self._gateway = gateway
        self._turns = turns
        self._instance = instance
        self._cli = cli

    @asynccontextmanager
    async def open(self, plan: RunPlan, gate: ToolGate) -> AsyncIterator[AgentRun]:
        """Start a CLI for this turn; leaving the block ends it and all it started."""
        async with AsyncExitStack() as stack:
            folder = await stack.enter_async_context(turn_folder(self._turns, plan))
            door = await stack.enter_async_context(
                self._gateway.open_door(
                    session_id=plan.session_id,
                    turn_id=plan.turn_id,
                    access=plan.access,
                    socket_path=folder.model_socket,
                )
            )
            places = self._places(plan, folder)
            # Tools may have left the process group; the mark in their environment finds them.
            stack.push_async_callback(
                asyncio.to_thread, end_leftovers, self._instance, lambda: self._others(plan.turn_id)
            )
            channel = await stack.enter_async_context(
                local_process(arguments(plan, places), self._environment(plan, places), places.cwd)
            )
            yield await stack.enter_async_context(
                open_agent(plan, Caged(places, channel, self._receipt(plan), door), gate)
            )

    def _others(self, turn: TurnId) -> set[TurnId]:
        return self._living() - {turn}

    def _places(self, plan: RunPlan, folder: TurnFolder) -> Places:
        places = Places(
            cli=str(self._cli),
            cwd=plan.vault / plan.cwd,
            config=PurePosixPath(folder.config),
            scratch=PurePosixPath(folder.scratch),
            model_socket=PurePosixPath(folder.model_socket),
            prompt_file=PurePosixPath(folder.prompt) if folder.has_prompt else None,
            transcript=None,
        )
        if not folder.has_transcript:
            return places
        resumed = places.resumed(plan)
        Path(resumed).parent.mkdir(parents=True)
        folder.transcript.rename(resumed)
        return places.resuming(resumed)

    def _environment(self, plan: RunPlan, places: Places) -> dict[str, str]:
        return {
            **passed_on(os.environ),
            **environment(places),
            **marks(self._instance, plan.turn_id),
        }

    def _receipt(self, plan: RunPlan) -> Receipt:
        return Receipt(
            cage="none",
            measured={
                "cage": "none",
                "level": plan.level.value,
                "held_by": "the tool gate alone; no kernel mechanism confines this process",
                "user": os.geteuid(),
            },
        )
