"""`full` and `vault`: the CLI is the supervisor's child, with its own folder and environment.

At `full` the gate alone decides about tool calls. At `vault` the process and all that it starts is
in a cage of bubblewrap besides; where the machine has none, the receipt says so, and the gate asks
before each command.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from supervisor.gateway.door import Gateway
from supervisor.ids import InstanceId, SessionId, TurnId
from supervisor.runtimes.agent import AgentRun, open_agent
from supervisor.runtimes.command_line import Places, arguments, environment, prompt_text
from supervisor.runtimes.contract import Channel, Receipt, RunPlan, ToolGate
from supervisor.runtimes.local.availability import vault_cage_available
from supervisor.runtimes.local.cage import CageOrder, Confines, open_cage
from supervisor.runtimes.local.environment import passed_on
from supervisor.runtimes.local.leftovers import end_leftovers, marks
from supervisor.runtimes.local.masks import nothing
from supervisor.runtimes.local.process import local_process
from supervisor.runtimes.local.system import cage_environment, cage_user
from supervisor.runtimes.turn_folder import TurnFolder, door_for, turn_folder
from supervisor.storage.beneath import open_inside
from supervisor.trust.levels import TrustLevel


@dataclass(frozen=True, slots=True)
class LocalTerms:
    """What every local turn of this supervisor is run with; `living` are the turns that run."""

    turns: Path
    instance: InstanceId
    cli: Path
    living: Callable[[], set[TurnId]]
    confines: Confines


class LocalRuntime:
    """Runs turns as child processes. The CLI's transcript goes to the supervisor's copy only."""

    as_seen_vault: str | None = None
    as_seen_home: str | None = None

    def __init__(self, *, gateway: Gateway, terms: LocalTerms) -> None:
        self._gateway = gateway
        self._terms = terms

    @asynccontextmanager
    async def open(self, plan: RunPlan, gate: ToolGate) -> AsyncIterator[AgentRun]:
        """Start a CLI for this turn; leaving the block ends it and all it started."""
        async with AsyncExitStack() as stack:
            folder = await stack.enter_async_context(
                turn_folder(self._terms.turns, plan.turn_id, plan)
            )
            door = await stack.enter_async_context(door_for(self._gateway, plan, folder))
            places = self._places(plan, folder)
            # The second line, should the keeper be ended itself: a mark in their environment.
            stack.push_async_callback(asyncio.to_thread, self._end_leftovers, plan.turn_id)
            channel, receipt = await self._started(stack, plan, folder, places)
            connection = await stack.enter_async_context(open_agent(plan, places, channel, gate))
            await asyncio.to_thread(folder.forget_servers)
            yield AgentRun(connection, receipt, door)

    def make_ready(self) -> None:
        """Nothing is: a process is soon started."""

    def expect(self, plan: RunPlan) -> None:
        """Nothing is got ready: a process is soon started."""

    def forget(self, session_id: SessionId, why: str) -> None:
        """Nothing is kept ready."""

    async def _started(
        self, stack: AsyncExitStack, plan: RunPlan, folder: TurnFolder, places: Places
    ) -> tuple[Channel, Receipt]:
        command, given = arguments(plan, places), self._environment(plan, places)
        held_by = "the tool gate alone"
        if plan.level is TrustLevel.VAULT:
            cages = await asyncio.to_thread(vault_cage_available)
            if cages.works:
                order = await asyncio.to_thread(self._order, plan, folder, places, command, given)
                cage = await stack.enter_async_context(open_cage(order, self._terms.confines))
                return cage.channel, cage.receipt
            held_by = f"{held_by} ({cages.detail})"
        channel = await stack.enter_async_context(
            local_process(command, given, places.cwd, keep=True)
        )
        return channel, _unconfined(plan, held_by)

    def _order(
        self,
        plan: RunPlan,
        folder: TurnFolder,
        places: Places,
        command: list[str],
        given: dict[str, str],
    ) -> CageOrder:
        vault = Path(plan.vault)
        _make_transcripts_folder(vault, plan.transcript)
        uid, _ = cage_user(vault)
        return CageOrder(
            vault=vault,
            cwd=places.cwd,
            folder=folder,
            cli=self._terms.cli,
            command=tuple(command),
            environment=cage_environment(given, uid),
            hidden=plan.deny_list,
            home=given.get("HOME"),
            network=plan.network,
            decoy=plan.honeytokens.decoy if plan.honeytokens is not None else nothing,
        )

    def _end_leftovers(self, turn: TurnId) -> None:
        end_leftovers(self._terms.instance, lambda: self._terms.living() - {turn})

    def _places(self, plan: RunPlan, folder: TurnFolder) -> Places:
        places = Places(
            cli=str(self._terms.cli),
            cwd=plan.vault / plan.cwd,
            config=PurePosixPath(folder.config),
            scratch=PurePosixPath(folder.scratch),
            model_socket=PurePosixPath(folder.model_socket),
            prompt_file=PurePosixPath(folder.prompt) if prompt_text(plan) is not None else None,
            transcript=None,
            servers_file=PurePosixPath(folder.servers) if plan.servers is not None else None,
        )
        if not plan.resume:
            return places
        resumed = places.resumed(plan)
        Path(resumed).parent.mkdir(parents=True)
        folder.transcript.rename(resumed)
        return places.resuming(resumed)

    def _environment(self, plan: RunPlan, places: Places) -> dict[str, str]:
        return {
            **passed_on(os.environ),
            **environment(places),
            **marks(self._terms.instance, plan.turn_id),
        }


def _unconfined(plan: RunPlan, held_by: str) -> Receipt:
    return Receipt(
        cage="none",
        measured={
            "cage": "none",
            "level": plan.level.value,
            "held_by": f"{held_by}; no kernel mechanism confines this process",
            "user": os.geteuid(),
        },
    )


def _make_transcripts_folder(vault: Path, transcript: PurePosixPath) -> None:
    """It must be there to be masked: one that came later would be a new hidden place."""
    with suppress(OSError):
        os.close(open_inside(vault, transcript, os.O_RDONLY, make_folders=True))
