"""The composition root: the only file that knows every part, and the order of their lifetimes."""

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from supervisor.access.keeper import Keeper
from supervisor.agents.discover import AgentFiles
from supervisor.api.parts import Parts
from supervisor.approvals.board import Board
from supervisor.approvals.granting import Granting
from supervisor.approvals.grants import GrantBook
from supervisor.approvals.webhook import receiver_of, secrets_of, telling
from supervisor.captures.store import Captures
from supervisor.errors import TurnFailed
from supervisor.events.log import EventLog
from supervisor.events.redact import Redactor
from supervisor.gate.policy_checks import policy_in_force
from supervisor.gate.policy_files import PolicySource
from supervisor.gate.policy_watch import PolicyWatch
from supervisor.gateway.door import Gateway
from supervisor.gateway.opened import upstream_of
from supervisor.gating import Gates, people
from supervisor.imports.importer import Imports
from supervisor.machinery import Machinery, bench_of, engine_paths, runtimes, waiting_rooms
from supervisor.mcp.checks import mcp_check
from supervisor.mcp.hidden import long_enough
from supervisor.mcp.servers import McpServers
from supervisor.mcp.trials import Trials
from supervisor.observability.audit import AuditLog, Rotation
from supervisor.observability.health import Readiness, version
from supervisor.observability.logs import fields
from supervisor.observability.recording import Append, Recording
from supervisor.observability.traces import traces
from supervisor.policy.deny_list import DenyList
from supervisor.premises import prepare
from supervisor.readiness import checks, database_check, require_allowed_model, stored_checks
from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.container.vault_view import VaultViews
from supervisor.runtimes.local.availability import vault_cage_available
from supervisor.runtimes.visible import VisibleFile
from supervisor.search.opened import open_search
from supervisor.sessions.conversations import Conversations
from supervisor.sessions.house import House, Stores
from supervisor.sessions.lane import Lanes
from supervisor.settings import Settings
from supervisor.storage.access import AccessStore
from supervisor.storage.adoption import Home
from supervisor.storage.contexts import ContextStore
from supervisor.storage.database import Database
from supervisor.storage.figures import figures
from supervisor.storage.grants import GrantStore
from supervisor.storage.identity import token_of
from supervisor.storage.place import database_place
from supervisor.storage.reserve import Reserve
from supervisor.storage.sessions import SessionStore
from supervisor.storage.tags import TagStore
from supervisor.storage.timestamp import SystemClock
from supervisor.storage.turns import TurnStore
from supervisor.storage.workspaces import WorkspaceStore
from supervisor.sweeper import Sweeper
from supervisor.trust.levels import TrustLevel

logger = logging.getLogger(__name__)

_MIB: Final = 1024 * 1024


@asynccontextmanager
async def open_supervisor(settings: Settings) -> AsyncIterator[Parts]:
    """A whole supervisor, from its lock to its last turn; leaving the block ends all of it.

    Raises ConfigurationError (DataFolderInUse, DatabaseTooNew) for what must be mended first.
    """
    async with AsyncExitStack() as stack:
        places = prepare(settings, stack)
        await stack.enter_async_context(traces(settings.traces_url))
        token = token_of(places.data)
        key = settings.api_key.get_secret_value() if settings.api_key else None
        policy = PolicySource(settings.policies, own=places.own)
        require_allowed_model(settings, policy.current)
        values = _mcp_values(settings)
        vectors = settings.embeddings_key
        others = None if vectors is None else vectors.get_secret_value()
        receiver = receiver_of(settings.webhook_url, settings.webhook_secret)
        secrets = frozenset(
            each
            for each in (token, key, others, *secrets_of(receiver), *long_enough(values.values()))
            if each
        )
        log = await stack.enter_async_context(
            EventLog(places.data / "events.db", redactor=Redactor(secrets))
        )
        mcp = McpServers(
            settings.vault,
            places.data,
            values,
            confined=lambda: vault_cage_available().works,
            learnt=lambda more: setattr(log, "redactor", Redactor(secrets | more)),
        )
        database = await stack.enter_async_context(
            Database(
                database_place(settings.vault), home=Home(data=places.data, vault=settings.vault)
            )
        )
        stores = Stores(
            SessionStore(database),
            TurnStore(database),
            WorkspaceStore(database),
            ContextStore(database),
        )
        audit = await stack.enter_async_context(
            AuditLog(
                places.data / "audit.jsonl",
                key_file=settings.audit_key_file,
                rotation=Rotation(settings.audit_file_mb * _MIB, settings.audit_file_days),
            )
        )
        record = Recording(audit.append, lambda: log.redactor.apply).record
        await stack.enter_async_context(_told_of_itself(settings, audit, record))
        keeper = Keeper(
            token,
            AccessStore(
                await stack.enter_async_context(Database(places.data / "access.db", "access"))
            ),
            record,
            SystemClock(),
        )
        await keeper.load()
        await stack.enter_async_context(PolicyWatch(policy, record))
        gateway = await stack.enter_async_context(
            Gateway(await upstream_of(settings, places.runtime, stack))
        )
        room, spares = waiting_rooms(
            settings,
            partial(record, "waiting"),
            lambda: sweeper.sweep_soon(),  # noqa: PLW0108 - made below
        )
        machinery = Machinery(
            places=places,
            gateway=gateway,
            engine=await stack.enter_async_context(Engine(str(settings.engine_socket))),
            views=VaultViews(places.views),
            lanes=(lanes := Lanes()),
            bench=bench_of(settings, places, lanes),
            room=room,
            spares=spares,
        )
        sweeper = Sweeper(
            machinery.engine,
            machinery.views,
            machinery.living,
            places.instance,
            places.turns,
            waiting=lambda: room.waiting | spares.waiting,
            owners=lambda: spares.owners,
            record=record,
            reserve=(reserve := Reserve(places.data)),
        )
        paths = await engine_paths(settings, machinery)
        await asyncio.gather(
            sweeper.sweep_all(), _warn_without_sandbox(machinery.engine, settings.runner_image)
        )
        await stack.enter_async_context(sweeper)
        await asyncio.to_thread(machinery.views.prune)
        await machinery.keep_ready(stack)
        board = Board()
        webhook = await stack.enter_async_context(
            telling(receiver, board, SystemClock(), lambda: log.redactor.apply)
        )
        approvals, questions = people(settings, log, machinery.lanes, board, record)
        grants = GrantBook(GrantStore(database), record, SystemClock())
        await grants.load()
        await _look_for_a_cage()
        gates = Gates(
            vault=settings.vault,
            policy=policy,
            approvals=approvals,
            questions=questions,
            lanes=machinery.lanes,
            log=log,
            record=record,
            grants=grants,
            caged=lambda: vault_cage_available().works,
        )
        index, finding = await stack.enter_async_context(
            open_search(
                settings,
                database,
                partial(_look, machinery.views, settings.vault, places.own),
                lambda: policy.current.hidden,
            )
        )
        agents = AgentFiles(settings.vault)
        house = House(
            vault=settings.vault,
            floor=settings.floor,
            turn_seconds=settings.turn_seconds,
            shutdown_seconds=settings.shutdown_seconds,
            default_model=settings.default_model,
            scripted=settings.scenario is not None,
            runtimes=runtimes(settings, machinery, paths),
            make_gate=gates.make,
            policy=lambda: policy.current,
            agents=agents.read,
            record=record,
            void_grants=grants.void_session,
            servers=mcp.of_turn,
            sweep=sweeper.sweep_after_turn,
            ended=index.turn_ended,
            make_room=reserve.give,
        )
        conversations = await stack.enter_async_context(
            Conversations(house=house, stores=stores, log=log, lanes=machinery.lanes)
        )

        async def ready() -> Readiness:
            needed, stored, upstream, servers, counts = await asyncio.gather(
                checks(settings, machinery.engine, policy_in_force(policy), policy.current),
                stored_checks(settings, log, audit),
                gateway.check(),
                asyncio.to_thread(mcp_check, mcp),
                sweeper.counts(),
            )
            told = () if webhook is None else (webhook.check(),)
            kept = database_check(database.adoption)
            return Readiness((*needed, kept, *stored, upstream, servers, *told), counts)

        house.runtimes[TrustLevel.SANDBOXED].make_ready()
        yield Parts(
            settings=settings,
            agents=agents.read,
            captures=Captures(settings.vault, SystemClock(), partial(_denied, policy)),
            imports=Imports(
                settings.vault,
                settings.floor,
                (stores.sessions, stores.workspaces, TagStore(database)),
                SystemClock(),
            ),
            search=finding,
            index=index,
            mcp=mcp,
            mcp_trials=Trials(machinery.bench),
            token=SecretStr(token),
            keeper=keeper,
            conversations=conversations,
            log=log,
            approvals=approvals,
            questions=questions,
            board=board,
            granting=Granting(approvals, grants),
            grants=grants,
            sessions=stores.sessions,
            tags=TagStore(database),
            contexts=stores.contexts,
            workspaces=stores.workspaces,
            policy=policy,
            readiness=ready,
            containers=sweeper.sandboxes,
            figures=partial(figures, database, SystemClock()),
            audit=audit,
            record=record,
        )


@asynccontextmanager
async def _told_of_itself(
    settings: Settings, audit: AuditLog, record: Append
) -> AsyncIterator[None]:
    """The supervisor's own begin, terms and end in the audit log; its head in the program's."""
    terms = {
        "vault": str(settings.vault),
        "policies": str(settings.policies),
        "address": f"{settings.host}:{settings.port}",
        "allowedHosts": list(settings.allowed_hosts),
        "floor": settings.floor.value,
        "model": settings.model,
        "image": settings.runner_image,
        "set": sorted(settings.model_fields_set),
    }
    await record("server", None, None, {"what": "started", "version": version(), **terms})
    logger.info("audit log", extra=fields(head=str(audit.head)))
    try:
        yield
    finally:
        await record("server", None, None, {"what": "stopped"})
        logger.info("audit log", extra=fields(head=str(audit.head)))


def _look(
    views: VaultViews,
    vault: Path,
    own: Collection[Path],
    deny_list: DenyList,
    stop: threading.Event,
) -> Iterable[VisibleFile]:
    """What of the vault search may see: what a sandbox would."""
    return views.visible(vault, deny_list, own, stop)


def _denied(policy: PolicySource, name: str) -> str | None:
    """Why agents may not see a file of this name, wherever it lies in the vault."""
    rule = policy.current.hidden.match(name.replace("\\", "/").lstrip("/"))
    return None if rule is None else rule.reason


def _mcp_values(settings: Settings) -> dict[str, str]:
    """The variables that MCP servers' entries may refer to, as they are at the start."""
    named = {name: os.environ.get(name) for name in settings.mcp_variables}
    missing = [name for name, value in named.items() if not value]
    if missing:
        logger.warning("TRUSTFLOOR_MCP_VARIABLES names what isn't set: %s", ", ".join(missing))
    return {name: value for name, value in named.items() if value}


async def _look_for_a_cage() -> None:
    """Once, before it is asked for; one line at the start where there is none."""
    cage = await asyncio.to_thread(vault_cage_available)
    if not cage.works:
        logger.warning("`vault` has no cage, so each command there asks: %s", cage.detail)


async def _warn_without_sandbox(engine: Engine, image: str) -> None:
    """One line at the start, rather than an error at the first message only."""
    try:
        await engine.image_id(image)
    except TurnFailed as error:
        logger.warning(
            "sandboxed sessions can't run: %s; what to do: %s", error.message, error.remedy
        )
