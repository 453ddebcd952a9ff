"""Makes one sandbox and measures it: a container that waits for its start line, nothing in it yet.

The steps, in order: turn folder, empty view of the vault, create, verify, attach, start, receipt.
The view is filled in a thread meanwhile, and complete before a sandbox is handed out. Each step has
its undoing on one stack, so whatever step fails, nothing is left.
"""

import asyncio
from collections.abc import AsyncIterator, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

from supervisor.clock import Clock
from supervisor.errors import (
    AgentProcessFailed,
    EngineRefused,
    EngineUnreachable,
    IsolationRefused,
    SandboxKilled,
    VaultUnavailable,
)
from supervisor.ids import InstanceId, SessionId, TurnId
from supervisor.observability.metrics import METRICS
from supervisor.runtimes.container import receipt as receipts
from supervisor.runtimes.container.channel import ContainerChannel
from supervisor.runtimes.container.engine import ContainerId, Engine
from supervisor.runtimes.container.engine_paths import EnginePaths
from supervisor.runtimes.container.side_by_side import together
from supervisor.runtimes.container.spec import ContainerSpec, Limits, container_spec
from supervisor.runtimes.container.turn_view import TurnView
from supervisor.runtimes.container.vault_view import VaultViews, ViewReport
from supervisor.runtimes.container.verify import shortfalls
from supervisor.runtimes.contract import Receipt, RunPlan
from supervisor.runtimes.turn_folder import (
    TurnFolder,
    furnished,
    transcript_state,
    turn_folder,
)

_RECEIPT_SECONDS: Final = 10.0
_REMOVAL_SECONDS: Final = 8.5
_SILENT_SECONDS: Final = 0.5
"""The same where the engine was just found not to answer."""


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


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One that runs and was found good; `made_at` is in seconds since the epoch."""

    folder: TurnFolder
    view: TurnView
    spec: ContainerSpec
    container: ContainerId
    channel: ContainerChannel
    receipt: Receipt
    made_at: float

    async def spoilt(self) -> str:
        """Of a spare one: wait until it has said something, or is gone, and say which."""
        if not await self.channel.stirred():
            return "it spoke, and nobody had spoken to it"
        cause = await self.channel.cause_of_death()
        return "it ended" if cause is None else cause.message


class SandboxMaker:
    """Makes sandboxes, and looks again at those that were made a while ago."""

    def __init__(
        self, sandboxes: Sandboxes, *, engine: Engine, views: VaultViews, clock: Clock
    ) -> None:
        self._sandboxes = sandboxes
        self._engine = engine
        self._views = views
        self._clock = clock

    @asynccontextmanager
    async def open(self, turn: TurnId, plan: RunPlan | None) -> AsyncIterator[Sandbox]:
        """A sandbox that was found good; leaving the block removes all of it.

        Without a plan it is a spare one: it shows and holds nothing, and is of no session, until it
        is `given` to one. Raises TurnFailed; IsolationRefused, with the receipt, if it is weaker
        than it must be.
        """
        async with AsyncExitStack() as stack:
            folder, image = await together(
                stack.enter_async_context(turn_folder(self._sandboxes.turns, turn, plan)),
                self._engine.image_id(self._sandboxes.image),
            )
            view = await stack.enter_async_context(self._view(turn, plan))
            session = None if plan is None else plan.session_id
            spec = self._spec(turn, session, folder, view.folder, image)
            container = await stack.enter_async_context(self._container(spec, view))
            channel, inspected = await together(
                self._attached(stack, container, spec.limits), self._verified(spec, container)
            )
            # The view is filled while the engine starts the container; the CLI waits for both.
            receipt, facts = await together(
                self._started(channel, spec, inspected, container, folder.nonce),
                self._view_complete(view, plan),
            )
            receipt = replace(receipt, measured={**receipt.measured, **facts})
            if receipt.shortfalls:
                raise _refusal(receipt, receipt.shortfalls)
            yield Sandbox(folder, view, spec, container, channel, receipt, self._clock.now())

    async def given(self, spare: Sandbox, plan: RunPlan) -> Sandbox:
        """A spare sandbox for a turn that begins now: what that needs is in it then.

        As with `renewed`, it is of no use if this raises TurnFailed.
        """
        _require_silence(spare.channel)
        receipt, folder = await together(
            self._renewed(spare, plan, PurePosixPath()), furnished(spare.folder, plan)
        )
        _require_silence(spare.channel)  # a large vault takes a while
        return replace(spare, folder=folder, receipt=receipt)

    async def renewed(self, sandbox: Sandbox, plan: RunPlan) -> Receipt:
        """The receipt for a turn that begins now in a sandbox that was made for its session.

        The view is the vault's as it is now, the image is still the one that is asked for, the
        conversation is where it was, and the engine still reports the cage that it reported at the
        start. Raises TurnFailed: something of this isn't so, and the sandbox is of no use.
        """
        receipt, state = await together(
            self._renewed(sandbox, plan, plan.cwd), asyncio.to_thread(transcript_state, plan)
        )
        if state != sandbox.folder.transcript_state:
            raise VaultUnavailable("the conversation was changed since it was taken up")
        return receipt

    async def _renewed(self, sandbox: Sandbox, plan: RunPlan, kept: PurePosixPath) -> Receipt:
        sandbox.view.begin(plan, self._sandboxes.own_files, kept=kept)
        (_, facts), image = await together(
            together(self._require_as_it_was(sandbox), self._view_complete(sandbox.view, plan)),
            self._engine.image_id(self._sandboxes.image),
        )
        if image != sandbox.spec.image:
            raise EngineRefused("sandboxes are made of another image by now")
        waited = max(0.0, self._clock.now() - sandbox.made_at)
        more = {**facts, "waitedSeconds": round(waited, 1)}
        return replace(sandbox.receipt, measured={**sandbox.receipt.measured, **more})

    async def _require_as_it_was(self, sandbox: Sandbox) -> None:
        inspected = await self._engine.inspect(sandbox.container)
        if inspected is None:
            raise SandboxKilled("the sandbox was removed from outside")
        if weak := shortfalls(sandbox.spec, inspected, "running"):
            raise IsolationRefused(f"the sandbox isn't what it was: {'; '.join(weak)}")

    async def _view_complete(self, view: TurnView, plan: RunPlan | None) -> dict[str, object]:
        return {} if plan is None else {"view": _view_facts(await view.complete(plan.cwd))}

    @asynccontextmanager
    async def _view(self, turn: TurnId, plan: RunPlan | None) -> AsyncIterator[TurnView]:
        # Made here, at once and not in a thread: what is made is also undone.
        view = TurnView(self._views, turn, self._views.reserve(turn))
        try:
            if plan is not None:
                view.begin(plan, self._sandboxes.own_files)
            yield view
        except EngineRefused as refused:
            # What can't be filled is removed, and then the engine finds nothing to mount.
            raise view.failure or refused from refused
        finally:
            await view.discard()

    def _spec(
        self, turn: TurnId, session: SessionId | None, folder: TurnFolder, view: Path, image: str
    ) -> ContainerSpec:
        return container_spec(
            image=image,
            instance=self._sandboxes.instance,
            session=session,
            turn=turn,
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
            seconds = _SILENT_SECONDS if self._engine.is_silent else _REMOVAL_SECONDS
            async with asyncio.timeout(seconds):
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


def _require_silence(channel: ContainerChannel) -> None:
    if not channel.is_silent:
        raise AgentProcessFailed("what nobody has spoken to has spoken, or is gone")


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
