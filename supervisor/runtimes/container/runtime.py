"""`sandboxed`: a fresh hardened container for each message, destroyed after it.

The steps, in order: turn folder and socket, view of the vault, create, verify, attach, start,
receipt, hand over. Each has its undoing on one stack, so whatever step fails, nothing is left.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from supervisor.clock import Clock
from supervisor.errors import (
    EngineRefused,
    EngineUnreachable,
    IsolationRefused,
    VaultUnavailable,
)
from supervisor.gateway.door import Gateway
from supervisor.ids import InstanceId
from supervisor.runtimes.agent import AgentRun, Caged, Places, arguments, environment, open_agent
from supervisor.runtimes.container import receipt as receipts
from supervisor.runtimes.container.channel import ContainerChannel
from supervisor.runtimes.container.engine import ContainerId, Engine
from supervisor.runtimes.container.spec import (
    CLI,
    HOME,
    TURN_FOLDER,
    VAULT,
    ContainerSpec,
    Limits,
    container_spec,
)
from supervisor.runtimes.container.start_line import Resume, StartLine, encode
from supervisor.runtimes.container.vault_view import VaultViews, ViewReport
from supervisor.runtimes.container.verify import shortfalls
from supervisor.runtimes.contract import Receipt, RunPlan, ToolGate
from supervisor.runtimes.turn_folder import TurnFolder, turn_folder

_RECEIPT_SECONDS: Final = 10.0
_REMOVAL_SECONDS: Final = 8.5
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Sandboxes:
    """What every sandbox of this supervisor is made with.

    `own_files` are the supervisor's own folders, hidden where they lie in the vault. `on_engine`
    gives a path of ours as the engine's host has it.
    """

    image: str
    limits: Limits
    instance: InstanceId
    turns: Path
    own_files: Collection[Path]
    on_engine: Callable[[Path], str]


class ContainerRuntime:
    """Runs each turn in a container of its own."""

    as_seen_vault: str | None = VAULT

    def __init__(
        self,
        *,
        sandboxes: Sandboxes,
        engine: Engine,
        views: VaultViews,
        gateway: Gateway,
        clock: Clock,
    ) -> None:
        self._sandboxes = sandboxes
        self._engine = engine
        self._views = views
        self._gateway = gateway
        self._clock = clock

    @asynccontextmanager
    async def open(self, plan: RunPlan, gate: ToolGate) -> AsyncIterator[AgentRun]:
        """Make a sandbox, measure it, start a CLI in it; leaving the block removes all of it."""
        async with AsyncExitStack() as stack:
            folder = await stack.enter_async_context(turn_folder(self._sandboxes.turns, plan))
            door = await stack.enter_async_context(
                self._gateway.open_door(
                    session_id=plan.session_id,
                    turn_id=plan.turn_id,
                    access=plan.access,
                    socket_path=folder.model_socket,
                )
            )
            image = await self._engine.image_id(self._sandboxes.image)
            view, report = await stack.enter_async_context(self._view(plan))
            spec = self._spec(plan, folder, view, image)
            container = await stack.enter_async_context(self._container(spec))
            inspected = await self._verified(spec, container)
            channel = ContainerChannel(
                await self._engine.attach(container), self._engine, container, spec.limits
            )
            await stack.enter_async_context(channel)
            await self._engine.start(container)
            receipt = await self._receipt(channel, spec, inspected, folder.nonce, report)
            places = _places(plan, folder)
            await channel.write(encode(_start_line(plan, places)))
            yield await stack.enter_async_context(
                open_agent(plan, Caged(places, channel, receipt, door), gate)
            )

    @asynccontextmanager
    async def _view(self, plan: RunPlan) -> AsyncIterator[tuple[Path, ViewReport]]:
        stop = threading.Event()
        building = asyncio.ensure_future(
            asyncio.to_thread(
                self._views.build,
                Path(plan.vault),
                plan.turn_id,
                plan.deny_list,
                self._sandboxes.own_files,
                stop,
            )
        )
        try:
            view = await asyncio.shield(building)
            if not await asyncio.to_thread((view[0] / plan.cwd).is_dir):
                raise VaultUnavailable(
                    "the session's working directory isn't in what the sandbox may see",
                    where=str(plan.cwd),
                    remedy="give another working directory, or look at the deny list",
                )
            yield view
        finally:
            stop.set()
            await asyncio.wait({building})
            await asyncio.to_thread(self._views.discard, plan.turn_id)

    def _spec(self, plan: RunPlan, folder: TurnFolder, view: Path, image: str) -> ContainerSpec:
        return container_spec(
            image=image,
            instance=self._sandboxes.instance,
            session=plan.session_id,
            turn=plan.turn_id,
            started=self._clock.now(),
            vault_view=PurePosixPath(self._sandboxes.on_engine(view)),
            turn_folder=PurePosixPath(self._sandboxes.on_engine(folder.run)),
            limits=self._sandboxes.limits,
        )

    @asynccontextmanager
    async def _container(self, spec: ContainerSpec) -> AsyncIterator[ContainerId]:
        # A create that is cancelled may still have happened; by its task it is found and removed.
        creating = asyncio.ensure_future(self._engine.create(spec))
        try:
            yield await asyncio.shield(creating)
        finally:
            await asyncio.wait({creating})
            if not creating.cancelled() and creating.exception() is None:
                await self._remove(creating.result())

    async def _remove(self, container: ContainerId) -> None:
        try:
            async with asyncio.timeout(_REMOVAL_SECONDS):
                await self._engine.remove(container)
        except (EngineUnreachable, EngineRefused, TimeoutError):
            # The engine is away: the reaper knows the container by its labels when it is back.
            return

    async def _verified(self, spec: ContainerSpec, container: ContainerId) -> dict[str, object]:
        inspected = await self._engine.inspect(container)
        if inspected is None:
            raise EngineRefused(
                "the container was removed before it started", remedy="send the message again"
            )
        weak = shortfalls(spec, inspected)
        if weak:
            raise _refusal(receipts.receipt_of({}, inspected, spec, ""), weak)
        return inspected

    async def _receipt(
        self,
        channel: ContainerChannel,
        spec: ContainerSpec,
        inspected: dict[str, object],
        nonce: str,
        report: ViewReport,
    ) -> Receipt:
        try:
            async with asyncio.timeout(_RECEIPT_SECONDS):
                line = await channel.first_line(receipts.MAX_LINE_BYTES)
        except TimeoutError:
            line = None
        measured = receipts.parse(line) if line is not None else None
        if measured is None:
            cause = await channel.cause_of_death()
            if cause is not None:
                raise cause
            measured = {}
        judged = receipts.receipt_of(measured, inspected, spec, nonce)
        receipt = Receipt(
            cage=judged.cage,
            measured={**judged.measured, "view": _view_facts(report)},
            shortfalls=judged.shortfalls,
        )
        if receipt.shortfalls:
            raise _refusal(receipt, receipt.shortfalls)
        return receipt


def _refusal(receipt: Receipt, weak: tuple[str, ...]) -> IsolationRefused:
    return IsolationRefused(
        f"the sandbox is weaker than it must be: {'; '.join(weak)}",
        where="isolation receipt",
        remedy="run: trustfloor doctor; if the runner image is an old one: scripts/runner-image",
        receipt=receipt,
    )


def _view_facts(report: ViewReport) -> dict[str, object]:
    return {
        "files": report.files,
        "directories": report.directories,
        "symlinks": report.symlinks,
        "hidden": report.hidden,
        "omitted": dict(report.omitted),
    }


def _places(plan: RunPlan, folder: TurnFolder) -> Places:
    run = PurePosixPath(TURN_FOLDER)
    places = Places(
        cli=CLI,
        cwd=PurePosixPath(VAULT) / plan.cwd,
        config=PurePosixPath(HOME) / ".claude",
        scratch=PurePosixPath("/tmp"),  # noqa: S108  (the container's own)
        model_socket=run / folder.model_socket.name,
        prompt_file=run / folder.prompt.name if folder.has_prompt else None,
        transcript=None,
    )
    return places.resuming(places.resumed(plan)) if folder.has_transcript else places


def _start_line(plan: RunPlan, places: Places) -> StartLine:
    resumed = places.transcript
    return StartLine(
        argv=tuple(arguments(plan, places)),
        cwd=str(places.cwd),
        env={
            "HOME": HOME,
            "LANG": "C.UTF-8",
            "PATH": _PATH,
            "SHELL": "/bin/bash",
            "USER": "agent",
            **environment(places),
        },
        resume=Resume(resumed.parent.name, resumed.stem) if resumed is not None else None,
    )
