"""The composition root: the only file that knows every part, and the order of their lifetimes."""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from supervisor.api.parts import Parts
from supervisor.approvals.open_requests import Sink, TurnContext
from supervisor.approvals.pending import Approvals
from supervisor.approvals.questions import Questions
from supervisor.errors import ConfigurationError, TurnFailed
from supervisor.events.log import EventLog
from supervisor.events.redact import Redactor
from supervisor.events.schema import Event
from supervisor.gate.gate import Decided, Gate
from supervisor.gate.policy_files import PolicySource
from supervisor.gateway.door import Gateway
from supervisor.gateway.proxy import Upstream
from supervisor.gateway.scenario import parse_scenario
from supervisor.gateway.scripted_model import serve_scripted
from supervisor.ids import InstanceId, new_turn_id
from supervisor.observability.audit import AuditLog
from supervisor.observability.health import Check, Leftovers, Readiness
from supervisor.runtimes.container.checks import engine_checks
from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.container.reaper import reap_containers
from supervisor.runtimes.container.runtime import ContainerRuntime, Sandboxes
from supervisor.runtimes.container.spec import LABEL_TURN, Limits
from supervisor.runtimes.container.vault_view import VaultViews
from supervisor.runtimes.contract import Runtime, ToolGate
from supervisor.runtimes.local.checks import bundled_cli, local_checks
from supervisor.runtimes.local.leftovers import count_marked, end_leftovers
from supervisor.runtimes.local.runtime import LocalRuntime
from supervisor.runtimes.turn_folder import remove_leftover_turns
from supervisor.sessions.conversations import Conversations
from supervisor.sessions.house import GateTerms, House, Stores
from supervisor.sessions.lane import Lanes
from supervisor.settings import Settings
from supervisor.storage.adoption import REMEDY, Adoption, Home
from supervisor.storage.database import Database
from supervisor.storage.identity import instance_of, private_folder, token_of
from supervisor.storage.lock import hold_data_folder, hold_database
from supervisor.storage.place import database_place
from supervisor.storage.sessions import SessionStore
from supervisor.storage.timestamp import SystemClock
from supervisor.storage.turns import TurnStore
from supervisor.storage.workspaces import WorkspaceStore
from supervisor.trust.levels import TrustLevel

logger = logging.getLogger(__name__)

SCRIPTED: Final = "scripted:"
_SOCKET_PATH_BYTES: Final = 107  # sockaddr_un, unix(7)
_MIB: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Places:
    """The folders of one supervisor, made and closed to others."""

    data: Path
    runtime: Path
    instance: InstanceId

    @property
    def turns(self) -> Path:
        return self.runtime / "turns"

    @property
    def own(self) -> tuple[Path, ...]:
        return (self.data, self.runtime)


@dataclass(frozen=True, slots=True)
class _Machinery:
    """What turns are run with, and what is swept after them."""

    places: _Places
    gateway: Gateway
    engine: Engine
    views: VaultViews
    lanes: Lanes


@asynccontextmanager
async def open_supervisor(settings: Settings) -> AsyncIterator[Parts]:
    """A whole supervisor, from its lock to its last turn; leaving the block ends all of it.

    Raises ConfigurationError (DataFolderInUse, DatabaseTooNew) for what must be mended first.
    """
    async with AsyncExitStack() as stack:
        places = _prepare(settings, stack)
        token = token_of(places.data)
        key = settings.api_key.get_secret_value() if settings.api_key else None
        policy = PolicySource(settings.policies, own=places.own)
        log = await stack.enter_async_context(
            EventLog(
                places.data / "events.db",
                redactor=Redactor(secret for secret in (token, key) if secret),
            )
        )
        database = await stack.enter_async_context(
            Database(
                database_place(settings.vault), home=Home(data=places.data, vault=settings.vault)
            )
        )
        stores = Stores(SessionStore(database), TurnStore(database), WorkspaceStore(database))
        audit = await stack.enter_async_context(AuditLog(places.data / "audit.jsonl"))
        gateway = await stack.enter_async_context(Gateway(await _upstream(settings, places, stack)))
        machinery = _Machinery(
            places=places,
            gateway=gateway,
            engine=await stack.enter_async_context(Engine(str(settings.engine_socket))),
            views=VaultViews(places.data / "vault-view"),
            lanes=Lanes(),
        )
        sweeper = _Sweeper(machinery)
        await asyncio.gather(
            sweeper.sweep(), _warn_without_sandbox(machinery.engine, settings.runner_image)
        )
        await asyncio.to_thread(machinery.views.prune)
        approvals, questions = _people(settings, log, machinery.lanes)

        def make_gate(terms: GateTerms) -> ToolGate:
            return Gate(
                terms.context,
                terms.level,
                as_seen_vault=terms.as_seen_vault,
                as_seen_cwd=terms.as_seen_cwd,
                vault=str(settings.vault),
                policy=policy,
                approvals=approvals,
                questions=questions,
                sink=_LaneSink(machinery.lanes, terms.context),
                audit=partial(_record_decision, audit),
            )

        house = House(
            vault=settings.vault,
            floor=settings.floor,
            turn_seconds=settings.turn_seconds,
            shutdown_seconds=settings.shutdown_seconds,
            default_model=_default_model(settings),
            runtimes=_runtimes(settings, machinery),
            make_gate=make_gate,
            policy=lambda: policy.current,
            record=audit.append,
            sweep=sweeper.sweep,
        )
        conversations = await stack.enter_async_context(
            Conversations(house=house, stores=stores, log=log, lanes=machinery.lanes)
        )

        async def ready() -> Readiness:
            return Readiness(
                checks=(
                    *await _checks(
                        settings,
                        machinery.engine,
                        _policy_check(settings, policy, "as at the start"),
                    ),
                    _database_check(database.adoption),
                ),
                counts=await sweeper.counts(),
            )

        yield Parts(
            settings=settings,
            token=SecretStr(token),
            conversations=conversations,
            log=log,
            approvals=approvals,
            questions=questions,
            sessions=stores.sessions,
            workspaces=stores.workspaces,
            readiness=ready,
        )


async def readiness(settings: Settings) -> Readiness:
    """What `trustfloor doctor` looks at, without a running supervisor."""
    try:
        policy = _policy_check(settings, PolicySource(settings.policies), "on the disk")
    except ConfigurationError as wrong:
        policy = _broken_policy(wrong)
    async with Engine(str(settings.engine_socket)) as engine:
        return Readiness(checks=await _checks(settings, engine, policy))


def _prepare(settings: Settings, stack: AsyncExitStack) -> _Places:
    if not settings.vault.is_dir():
        raise ConfigurationError(
            "the vault is not a folder",
            where=str(settings.vault),
            remedy="give one with --vault or VAULT_PATH",
        )
    data = private_folder(settings.data_dir)
    stack.enter_context(hold_data_folder(data))
    stack.enter_context(hold_database(database_place(settings.vault)))
    instance = instance_of(data)
    runtime = private_folder(private_folder(settings.runtime_dir) / instance[:12])
    stack.callback(_remove_if_empty, runtime)
    longest = runtime / "turns" / new_turn_id() / "run" / "model.sock"
    if len(os.fsencode(longest)) > _SOCKET_PATH_BYTES:
        raise ConfigurationError(
            f"a socket's path would be longer than {_SOCKET_PATH_BYTES} bytes",
            where=str(settings.runtime_dir),
            remedy="set TRUSTFLOOR_RUNTIME_DIR to a shorter path",
        )
    return _Places(data, runtime, instance)


def _remove_if_empty(runtime: Path) -> None:
    """Remove the folder and its `turns`; what a turn could not clear away stays to be found."""
    for folder in (runtime / "turns", runtime):
        with contextlib.suppress(OSError):
            folder.rmdir()


async def _warn_without_sandbox(engine: Engine, image: str) -> None:
    """One line at the start, rather than an error at the first message only."""
    try:
        await engine.image_id(image)
    except TurnFailed as error:
        logger.warning(
            "sandboxed sessions can't run: %s; what to do: %s", error.message, error.remedy
        )


async def _upstream(settings: Settings, places: _Places, stack: AsyncExitStack) -> Upstream:
    if settings.model is None or not settings.model.startswith(SCRIPTED):
        return Upstream(base_url=settings.api_url, api_key=settings.api_key)
    path = Path(settings.model.removeprefix(SCRIPTED))
    try:
        text = await asyncio.to_thread(path.read_text, "utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"the scripted model's file can't be read: {error}",
            where=str(path),
            remedy="give one with --model scripted:FILE",
        ) from error
    socket = places.runtime / "scripted.sock"
    # A killed supervisor leaves its own behind; with the data folder's lock held it is nobody's.
    await asyncio.to_thread(socket.unlink, missing_ok=True)
    await stack.enter_async_context(
        serve_scripted(parse_scenario(text, file=str(path)), socket_path=socket)
    )
    return Upstream(base_url="http://scripted", api_key=settings.api_key, unix_socket=socket)


def _default_model(settings: Settings) -> str | None:
    named = settings.model
    return None if named is None or named.startswith(SCRIPTED) else named


def _runtimes(settings: Settings, machinery: _Machinery) -> Mapping[TrustLevel, Runtime]:
    places = machinery.places
    local = LocalRuntime(
        gateway=machinery.gateway,
        turns=places.turns,
        instance=places.instance,
        cli=bundled_cli(),
        living=machinery.lanes.living_turns,
    )
    sandboxes = Sandboxes(
        image=settings.runner_image,
        limits=_limits(settings),
        instance=places.instance,
        turns=places.turns,
        own_files=places.own,
        on_engine=settings.on_engine,
    )
    container = ContainerRuntime(
        sandboxes=sandboxes,
        engine=machinery.engine,
        views=machinery.views,
        gateway=machinery.gateway,
        clock=SystemClock(),
    )
    return {
        TrustLevel.FULL: local,
        TrustLevel.VAULT: local,
        TrustLevel.SANDBOXED: container,
    }


def _limits(settings: Settings) -> Limits:
    limits = Limits(
        memory_bytes=settings.sandbox_memory_mb * _MIB,
        pids=settings.sandbox_pids,
        cpus=settings.sandbox_cpus,
        tmp_bytes=settings.sandbox_tmp_mb * _MIB,
        home_bytes=settings.sandbox_home_mb * _MIB,
        file_bytes=settings.sandbox_file_mb * _MIB,
    )
    return limits.fitting(os.cpu_count() or 1)


async def _record_decision(audit: AuditLog, decided: Decided) -> None:
    await audit.append(
        "decision",
        decided.turn.session_id,
        decided.turn.turn_id,
        {
            "tool": decided.call.tool,
            "toolUseId": decided.call.tool_use_id,
            "level": decided.call.level.value,
            "agent": decided.call.agent,
            "policy": decided.policy_hash,
            "said": type(decided.policy_verdict).__name__.lower(),
            "verdict": type(decided.verdict).__name__.lower(),
            "rule": decided.verdict.rule,
            "request": decided.request_id,
        },
    )


@dataclass(frozen=True, slots=True)
class _LaneSink:
    """A turn's events, through its lane, which keeps the books and knows when it is over."""

    lanes: Lanes
    turn: TurnContext

    async def emit(self, event: Event) -> None:
        await self.lanes.say(self.turn.session_id, self.turn.turn_id, event)


def _people(settings: Settings, log: EventLog, lanes: Lanes) -> tuple[Approvals, Questions]:
    def sink_of(turn: TurnContext) -> Sink:
        return _LaneSink(lanes, turn)

    clock = SystemClock()
    return (
        Approvals(sink_of, clock, timeout_s=settings.approval_seconds, was_asked=log.has_asked),
        Questions(sink_of, clock, timeout_s=settings.question_seconds, was_asked=log.has_asked),
    )


def _database_check(adoption: Adoption | None) -> Check:
    if adoption is None:
        return Check("database", ok=True, detail="as this supervisor left it")
    return Check("database", ok=None, detail=adoption.detail, remedy=REMEDY)


async def _checks(settings: Settings, engine: Engine, policy: Check) -> tuple[Check, ...]:
    return (
        _vault_check(settings),
        policy,
        _model_check(settings),
        *await asyncio.to_thread(local_checks),
        *await engine_checks(engine, settings.runner_image),
    )


def _vault_check(settings: Settings) -> Check:
    if os.access(settings.vault, os.R_OK | os.W_OK | os.X_OK) and settings.vault.is_dir():
        return Check("vault", ok=True, detail=str(settings.vault))
    return Check(
        "vault",
        ok=False,
        detail=f"{settings.vault} is no folder that we may read and write",
        remedy="give one with --vault or VAULT_PATH",
    )


def _policy_check(settings: Settings, policy: PolicySource, when: str) -> Check:
    """The hash tells whether what is on the disk is what a running supervisor has read."""
    if policy.error is not None:
        return _broken_policy(policy.error)
    return Check(
        "policy", ok=True, detail=f"{settings.policies}, {when}: hash {policy.current.hash[:12]}"
    )


def _broken_policy(error: ConfigurationError) -> Check:
    return Check(
        "policy",
        ok=False,
        detail=f"{error.where}: {error.message}",
        remedy=error.remedy or "mend the file; docs/policy.md says what it may hold",
    )


def _model_check(settings: Settings) -> Check:
    if settings.model is not None and settings.model.startswith(SCRIPTED):
        return Check("model", ok=True, detail=f"the scripted model: {settings.model}")
    if settings.api_key is not None:
        return Check("model", ok=True, detail=f"{settings.api_url}, with a key")
    return Check(
        "model",
        ok=False,
        detail="there is no key",
        remedy="set ANTHROPIC_API_KEY, or use --model scripted:FILE",
    )


class _Sweeper:
    """Removes and counts what is ours: containers, processes, turn folders, views."""

    def __init__(self, machinery: _Machinery) -> None:
        self._places = machinery.places
        self._engine = machinery.engine
        self._views = machinery.views
        self._lanes = machinery.lanes

    async def sweep(self) -> None:
        """Remove what no living turn uses. Never raises: what stays is found the next time."""
        try:
            reaped = await reap_containers(
                self._engine, self._places.instance, self._lanes.living_turns
            )
        except TurnFailed as error:
            logger.info("containers were not looked at: %s", error.message)
        else:
            if reaped.removed:
                logger.warning("removed %d left-over containers", reaped.removed)
        try:
            await asyncio.to_thread(self._sweep_folders)
        except OSError as error:
            logger.warning("left-overs could not be removed: %s", error)

    def _sweep_folders(self) -> None:
        ended = end_leftovers(self._places.instance, self._lanes.living_turns)
        folders = remove_leftover_turns(self._places.turns, self._lanes.living_turns)
        views = self._views.leftovers()
        living = self._lanes.living_turns()
        for name in views:
            if name not in living:
                self._views.discard(name)
        if ended or folders:
            logger.warning("ended %d left-over processes, removed %d folders", ended, folders)

    async def counts(self) -> Leftovers:
        """What of ours exists now."""
        living = self._lanes.living_turns()
        try:
            containers = await self._engine.list_ours(self._places.instance)
        except TurnFailed:
            containers = ()
        live = sum(each.labels.get(LABEL_TURN) in living for each in containers)
        folders = list(self._places.turns.iterdir()) if self._places.turns.is_dir() else []
        return Leftovers(
            containers_live=live,
            containers_left=len(containers) - live,
            turn_folders=len(folders),
            sockets=sum((each / "run" / "model.sock").exists() for each in folders),
            processes=await asyncio.to_thread(count_marked, self._places.instance),
        )
