"""`sandboxed`: a fresh hardened container for each message, destroyed after it.

The steps, in order: turn folder and socket, empty view of the vault, create, verify, attach, start,
receipt, hand over. The view is filled in a thread meanwhile, and complete before anything is handed
over. Each step has its undoing on one stack, so whatever step fails, nothing is left.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final, TypeVar, cast

from supervisor.clock import Clock
from supervisor.errors import (
    EngineRefused,
    EngineUnreachable,
    IsolationRefused,
)
from supervisor.gateway.door import Gateway
from supervisor.ids import InstanceId
from supervisor.observability.metrics import METRICS
from supervisor.observability.traces import span
from supervisor.runtimes.agent import AgentRun, Caged, Places, arguments, environment, open_agent
from supervisor.runtimes.container import receipt as receipts
from supervisor.runtimes.container.channel import ContainerChannel
from supervisor.runtimes.container.engine import ContainerId, Engine
from supervisor.runtimes.container.engine_paths import EnginePaths
from supervisor.runtimes.container.spec import (
    CLI,
    ENVIRONMENT,
    HOME,
    TURN_FOLDER,
    VAULT,
    ContainerSpec,
    Limits,
    container_spec,
)
from supervisor.runtimes.container.start_line import Resume, StartLine, encode
from supervisor.runtimes.container.turn_view import TurnView
from supervisor.runtimes.container.vault_view import VaultViews, ViewReport
from supervisor.runtimes.container.verify import shortfalls
from supervisor.runtimes.contract import Receipt, RunPlan, ToolGate
from supervisor.runtimes.turn_folder import TurnFolder, door_for, turn_folder

_RECEIPT_SECONDS: Final = 10.0
_REMOVAL_SECONDS: Final = 8.5
A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, slots=True)
class Sandboxes:
    """What every sandbox of this supervisor is made with.

    `own_files` are the supervisor's own folders, hidden where they lie in the vault. `on_engine`
    says where the engine's host has what is ours.
    """

    image: str
    limits: Limits
    instance: InstanceId
    turns: Path
    own_files: Collection[Path]
    on_engine: EnginePaths


class ContainerRuntime:
    """Runs each turn in a container of its own."""

    as_seen_vault: str | None = VAULT
    as_seen_home: str | None = HOME

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
        with span("container", turn=plan.turn_id):
            async with self._opened(plan, gate) as run:
                yield run

    @asynccontextmanager
    async def _opened(self, plan: RunPlan, gate: ToolGate) -> AsyncIterator[AgentRun]:
        async with AsyncExitStack() as stack:
            folder, image = await together(
                stack.enter_async_context(turn_folder(self._sandboxes.turns, plan)),
                self._engine.image_id(self._sandboxes.image),
            )
            door = await stack.enter_async_context(door_for(self._gateway, plan, folder))
            view = await stack.enter_async_context(self._view(plan))
            spec = self._spec(plan, folder, view.folder, image)
            container = await stack.enter_async_context(self._container(spec, view))
            channel, inspected = await together(
                self._attached(stack, container, spec.limits), self._verified(spec, container)
            )
            # The view is filled while the engine starts the container; the CLI waits for both.
            receipt, report = await together(
                self._started(channel, spec, inspected, container, folder.nonce),
                view.complete(plan.cwd),
            )
            receipt = replace(receipt, measured={**receipt.measured, "view": _view_facts(report)})
            if receipt.shortfalls:
                raise _refusal(receipt, receipt.shortfalls)
            places = _places(plan, folder)
            await channel.write(encode(_start_line(plan, places)))
            run = await stack.enter_async_context(
                open_agent(plan, Caged(places, channel, receipt, door), gate)
            )
            await asyncio.to_thread(folder.forget_servers)
            yield run

    @asynccontextmanager
    async def _view(self, plan: RunPlan) -> AsyncIterator[TurnView]:
        # Made here, at once and not in a thread: what is made is also undone.
        view = TurnView(self._views, plan.turn_id, self._views.reserve(plan.turn_id))
        try:
            view.begin(plan, self._sandboxes.own_files)
            yield view
        finally:
            await view.discard()

    def _spec(self, plan: RunPlan, folder: TurnFolder, view: Path, image: str) -> ContainerSpec:
        return container_spec(
            image=image,
            instance=self._sandboxes.instance,
            session=plan.session_id,
            turn=plan.turn_id,
            started=self._clock.now(),
            vault_view=self._sandboxes.on_engine(view),
            turn_folder=self._sandboxes.on_engine(folder.run),
            limits=self._sandboxes.limits,
            engine_root=self._sandboxes.on_engine.root,
        )

    @asynccontextmanager
    async def _container(self, spec: ContainerSpec, view: TurnView) -> AsyncIterator[ContainerId]:
        # A create that is cancelled may still have happened; by its task it is found and removed.
        creating = asyncio.ensure_future(self._engine.create(spec))
        try:
            container = await asyncio.shield(creating)
            with METRICS.containers.track_inprogress():
                yield container
        finally:
            await asyncio.wait({creating})
            if not creating.cancelled() and creating.exception() is None:
                # Side by side: the engine is waited for, the view is our own work.
                await together(self._remove(creating.result()), view.discard())

    async def _remove(self, container: ContainerId) -> None:
        try:
            async with asyncio.timeout(_REMOVAL_SECONDS):
                await self._engine.remove(container)
        except (EngineUnreachable, EngineRefused, TimeoutError):
            # The engine is away: the reaper knows the container by its labels when it is back.
            return

    async def _attached(
        self, stack: AsyncExitStack, container: ContainerId, limits: Limits
    ) -> ContainerChannel:
        stream = await self._engine.attach(container)
        channel = ContainerChannel(stream, self._engine, container, limits)
        return await stack.enter_async_context(channel)

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

    async def _started(
        self,
        channel: ContainerChannel,
        spec: ContainerSpec,
        inspected: dict[str, object],
        container: ContainerId,
        nonce: str,
    ) -> Receipt:
        await self._engine.start(container)
        return await self._receipt(channel, spec, inspected, nonce)

    async def _receipt(
        self,
        channel: ContainerChannel,
        spec: ContainerSpec,
        inspected: dict[str, object],
        nonce: str,
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
        return receipts.receipt_of(measured, inspected, spec, nonce)


async def together(first: Awaitable[A], second: Awaitable[B]) -> tuple[A, B]:
    """Both outcomes, waited for side by side; raises the first's error before the second's.

    Neither is left alone: both have ended when this returns or raises.
    """
    outcomes = await asyncio.gather(first, second, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
    return cast("tuple[A, B]", tuple(outcomes))


def _refusal(receipt: Receipt, weak: tuple[str, ...]) -> IsolationRefused:
    return IsolationRefused(
        f"the sandbox is weaker than it must be: {'; '.join(weak)}",
        where="isolation receipt",
        remedy="run: trustfloor doctor; if the runner image is an old one, run scripts/images",
        receipt=receipt,
    )


def _view_facts(report: ViewReport) -> dict[str, object]:
    return {
        "files": report.files,
        "directories": report.directories,
        "symlinks": report.symlinks,
        "hidden": report.hidden,
        "decoys": report.decoys,
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
        servers_file=run / folder.servers.name if folder.has_servers else None,
    )
    return places.resuming(places.resumed(plan)) if folder.has_transcript else places


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
