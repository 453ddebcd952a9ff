"""A world with the API on a real port: real storage and real event log; the test plays the turns.

In place of the agent stands the test itself, which says what happens in a turn and when. So it can
hold an event back until a client has the one before.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from fastapi import FastAPI
from pydantic import SecretStr
from starlette.types import ASGIApp, Receive, Scope, Send

from supervisor.access.holder import OWNER
from supervisor.access.keeper import Keeper
from supervisor.agents.discover import AgentFiles
from supervisor.api.caller import CALLER
from supervisor.api.main import make_api, make_routes
from supervisor.api.parts import Parts
from supervisor.approvals.board import Board
from supervisor.approvals.granting import Granting
from supervisor.approvals.grants import GrantBook
from supervisor.approvals.pending import Approvals, TurnContext
from supervisor.approvals.questions import Questions
from supervisor.captures.store import Captures
from supervisor.events.log import EventLog
from supervisor.events.schema import Event
from supervisor.gate.policy_files import PolicySource
from supervisor.ids import SessionId, new_session_id
from supervisor.imports.importer import Imports
from supervisor.mcp.servers import McpServers
from supervisor.mcp.trials import Trials
from supervisor.observability.audit import AuditLog
from supervisor.observability.health import Check, Readiness, Sandbox
from supervisor.runtimes.container.vault_view import VaultViews
from supervisor.search.finding import Finding
from supervisor.search.index import Index
from supervisor.settings import Settings
from supervisor.storage.access import AccessStore
from supervisor.storage.contexts import ContextStore
from supervisor.storage.database import Database
from supervisor.storage.figures import figures
from supervisor.storage.grants import GrantStore
from supervisor.storage.index_rows import IndexRows
from supervisor.storage.session import SessionCreate
from supervisor.storage.sessions import SessionStore
from supervisor.storage.tags import TagStore
from supervisor.storage.timestamp import SystemClock
from supervisor.storage.workspaces import WorkspaceStore
from supervisor.trust.levels import TrustLevel
from tests.worlds.bench import bench_in
from tests.worlds.forked import PIPE, trustfloor
from tests.worlds.http import PLAIN, Listening, listening
from tests.worlds.played_turns import PlayedByTheTest
from tests.worlds.storage import new_databases
from tests.worlds.waiting import A_WHILE

TOKEN = "canary-token-of-this-test"
MCP_VALUES = {"NOTES_TOKEN": "CANARY-of-a-server-0123456789"}
"""The variables that MCP servers may refer to, and their values."""


class Ran(NamedTuple):
    """How a command ended, and what it said."""

    status: int
    out: bytes
    err: str


@dataclass
class ApiWorld:
    """The API, what is behind it, and clients of it."""

    at: Listening
    parts: Parts
    turns: PlayedByTheTest
    log: EventLog
    sessions: SessionStore
    close_streams: Callable[[], None]
    inner: FastAPI

    @property
    def openapi(self) -> dict[str, Any]:
        """What the API says of itself."""
        return _described()

    def client(self, **headers: str) -> httpx.AsyncClient:
        """A client with the right token."""
        return httpx.AsyncClient(
            base_url=self.at.url,
            headers={"Authorization": f"Bearer {TOKEN}", **headers},
            timeout=A_WHILE,
            trust_env=False,
            verify=PLAIN,
        )

    async def command(self, *words: str, token: str = TOKEN) -> Ran:
        """Run `trustfloor` with these words as somebody who has this token."""
        kept = ("PATH", "HOME", "PYTHONPATH")
        process = await trustfloor(
            *words,
            env={
                **{name: os.environ[name] for name in kept if name in os.environ},
                "TRUSTFLOOR_URL": self.at.url,
                "TRUSTFLOOR_TOKEN": token,
            },
            stderr=PIPE,
        )
        async with asyncio.timeout(A_WHILE):
            out, err = await process.communicate()
        return Ran(await process.wait(), out, err.decode())

    async def session(self) -> SessionId:
        """A session in which nothing was said yet."""
        session_id = new_session_id()
        await self.sessions.create_session(
            SessionCreate(id=session_id, trust_level=TrustLevel.SANDBOXED, workspace="default")
        )
        return session_id


@contextlib.asynccontextmanager
async def api_world(
    folder: Path,
    *,
    heartbeat_seconds: float = 15.0,
    allowed_hosts: str = "box.example",
    rate_per_minute: int = 0,
    approval_seconds: float = 120.0,
    failed_per_minute: int = 0,
    door: bool = True,
    stalled_seconds: float | None = None,
) -> AsyncIterator[ApiWorld]:
    """Everything in a folder of the test's; gone when the block ends.

    Without its `door` the same routes are open to all: the control of each attack on the door.
    """
    vault = folder / "vault"
    (vault / "Notes").mkdir(parents=True)
    new_databases(folder)
    settings = Settings(
        vault=vault,
        data_dir=folder / "data",
        port=0,
        allowed_hosts=allowed_hosts,
        rate_per_minute=rate_per_minute,
        failed_per_minute=failed_per_minute,
    )
    async with (
        Database(folder / "sessions.db") as db,
        EventLog(folder / "events.db") as log,
        AuditLog(folder / "audit.jsonl") as audit,
        Database(folder / "access.db", "access") as access,
        contextlib.AsyncExitStack() as stack,
    ):
        policy = PolicySource(settings.policies)
        keeper = Keeper(TOKEN, AccessStore(access), audit.append, SystemClock())
        await keeper.load()
        views = VaultViews(folder / "views", owner_home=lambda _: None)
        index = await stack.enter_async_context(
            Index(
                IndexRows(db),
                vault,
                look=lambda hidden, stop: views.visible(vault, hidden, (), stop),
                hidden=lambda: policy.current.hidden,
            )
        )
        sessions = SessionStore(db)
        turns = PlayedByTheTest(log, sessions)
        board = Board()
        approvals = Approvals(
            lambda turn: _Sink(log, turn), SystemClock(), board=board, timeout_s=approval_seconds
        )
        grants = GrantBook(GrantStore(db), audit.append, SystemClock())
        parts = Parts(
            settings=settings,
            token=SecretStr(TOKEN),
            conversations=turns,
            log=log,
            approvals=approvals,
            questions=Questions(lambda turn: _Sink(log, turn), SystemClock(), board=board),
            board=board,
            granting=Granting(approvals, grants),
            grants=grants,
            sessions=sessions,
            tags=TagStore(db),
            contexts=ContextStore(db),
            workspaces=WorkspaceStore(db),
            policy=policy,
            agents=AgentFiles(vault).read,
            captures=Captures(vault, SystemClock()),
            imports=Imports(
                vault,
                settings.floor,
                (sessions, WorkspaceStore(db), TagStore(db)),
                SystemClock(),
            ),
            search=Finding(db.path, vault, index, lambda: policy.current.hidden),
            index=index,
            mcp=McpServers(vault, folder, MCP_VALUES),
            mcp_trials=Trials(bench_in(vault)),
            readiness=_all_well,
            containers=_one_sandbox,
            audit=audit,
            figures=partial(figures, db, SystemClock()),
            record=audit.append,
            keeper=keeper,
        )
        api = make_api(parts, heartbeat_seconds=heartbeat_seconds)
        async with listening(api if door else _doorless(api.inner), stalled_seconds) as at:
            yield ApiWorld(at, parts, turns, log, sessions, api.close_streams, api.inner)
            api.close_streams()


@cache
def _described() -> dict[str, Any]:
    """The same for every world, and a second's work: so only for those who ask, and once."""
    return make_routes().openapi()


def _doorless(inner: FastAPI) -> ASGIApp:
    """The routes as the owner has them, whoever asks."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await inner({**scope, CALLER: OWNER}, receive, send)

    return app


@dataclass(frozen=True)
class _Sink:
    log: EventLog
    turn: TurnContext

    async def emit(self, event: Event) -> None:
        await self.log.append(self.turn.session_id, self.turn.turn_id, event)


async def _all_well() -> Readiness:
    return Readiness(checks=(Check("engine", ok=True, detail="answers"),))


async def _one_sandbox() -> tuple[Sandbox, ...]:
    return (
        Sandbox(
            id="c" * 64,
            session_id="s",
            turn_id="turn_1",
            image="sha256:of-the-test",
            state="running",
            since=datetime(2026, 3, 1, tzinfo=UTC),
            live=True,
        ),
    )
