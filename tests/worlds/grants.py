"""Worlds of grants: a policy that trusts nobody, real storage and audit, gates that ask."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from supervisor.approvals.granting import Granted, Granting, Yes
from supervisor.approvals.grants import AskedBefore, GrantBook
from supervisor.approvals.open_requests import TurnContext
from supervisor.approvals.pending import Approvals
from supervisor.approvals.questions import Questions
from supervisor.events.schema import PermissionRequestEvent
from supervisor.gate.facts import fetch_facts
from supervisor.gate.gate import Gate
from supervisor.gate.policy_files import PolicySource
from supervisor.ids import SessionId, TurnId
from supervisor.observability.audit import AuditLog
from supervisor.policy.call import Allow, Deny
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.needs import Asking
from supervisor.policy.permissions import GrantScope, Permissions
from supervisor.policy.session_permissions import SessionPermissions
from supervisor.policy.suggest import Suggestion, suggestions
from supervisor.policy.wanted import wanted
from supervisor.runtimes.honeytokens import Honeytokens
from supervisor.storage.database import Database
from supervisor.storage.grants import GrantStore
from supervisor.storage.session import SessionCreate
from supervisor.storage.sessions import SessionStore
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import SHIPPED, Recorder, SetClock, call, make_vault
from tests.worlds.storage import OTHER, SESSION, new_databases
from tests.worlds.waiting import A_WHILE

WARY = """
version: 1
defaults:
  vault: {trust_mode: false, read: [], write: [], bash: []}
"""
"""At `vault` everything is asked about."""
BY = "a test"


def wary_policy(folder: Path) -> PolicySource:
    """The shipped policy with `WARY` laid over it."""
    over = folder / "wary.yaml"
    over.write_text(WARY)
    return PolicySource(SHIPPED, also=(over,))


async def asking_about(
    tool: str,
    vault: Path,
    policy: CompiledPolicy,
    level: TrustLevel = TrustLevel.VAULT,
    permissions: Permissions | None = None,
    **input: Any,
) -> Asking:
    """A call as the gate looks at it."""
    made = call(tool, level, str(vault), **input)
    wants = wanted(made, policy)
    facts = await fetch_facts(made, policy, str(vault), wants=wants)
    return Asking(made, wants, facts, policy, permissions or policy.defaults[level])


def suggested_for(asking: Asking) -> tuple[Suggestion, ...]:
    """The suggestions for it."""
    return suggestions(
        asking.call, asking.wants, asking.facts, asking.policy, permissions=asking.permissions
    )


@dataclass
class GrantsWorld:
    """Gates of sessions over one vault, one database and one audit log."""

    vault: Path
    policy: PolicySource
    db: Database
    audit: AuditLog
    clock: SetClock
    book: GrantBook
    sink: Recorder = field(default_factory=Recorder)
    asked: AskedBefore = field(default_factory=AskedBefore)
    running: list[asyncio.Task[Allow | Deny]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.approvals = Approvals(lambda _turn: self.sink, self.clock, timeout_s=60)
        self.granting = Granting(self.approvals, self.book)
        self._calls = 0

    def gate(
        self,
        level: TrustLevel = TrustLevel.VAULT,
        session_id: SessionId = SESSION,
        agent: str | None = None,
        honeytokens: Honeytokens | None = None,
        permissions: SessionPermissions | None = None,
    ) -> Gate:
        turn = TurnContext(session_id, TurnId("turn_1"), agent)
        return Gate(
            turn,
            level,
            as_seen_vault=str(self.vault),
            as_seen_cwd=str(self.vault),
            vault=str(self.vault),
            policy=self.policy,
            approvals=self.approvals,
            questions=Questions(lambda _turn: self.sink, self.clock),
            sink=self.sink,
            grants=self.book,
            asked=self.asked,
            honeytokens=honeytokens,
            permissions=permissions,
        )

    async def call(
        self, gate: Gate, tool: str, **input: Any
    ) -> Allow | Deny | PermissionRequestEvent:
        """The verdict, or the request if a person is asked; the call then waits on."""
        self._calls += 1
        number = f"toolu_{self._calls}"
        task = asyncio.create_task(gate.check(tool, input, number, None))
        self.running.append(task)
        async with asyncio.timeout(A_WHILE):
            while not task.done():
                for request in self.sink.of(PermissionRequestEvent):
                    if request.tool_use_id == number:
                        assert isinstance(request, PermissionRequestEvent)
                        return request
                await asyncio.sleep(0.001)
        return task.result()

    async def asks(self, gate: Gate, tool: str, **input: Any) -> PermissionRequestEvent:
        """The request: a person has to be asked."""
        told = await self.call(gate, tool, **input)
        assert isinstance(told, PermissionRequestEvent), told
        return told

    async def runs(self, gate: Gate, tool: str, **input: Any) -> bool:
        """Whether the call runs unasked; one that asks is refused, so that it waits no longer."""
        told = await self.call(gate, tool, **input)
        if isinstance(told, PermissionRequestEvent):
            await self.approvals.answer(told.id, "denied")
        return isinstance(told, Allow)

    async def grant(self, request: PermissionRequestEvent, **yes: Any) -> Granted:
        """Grant it to the session, if nothing else is said."""
        return await self.granting.grant(
            request.id,
            Yes(
                **{
                    "given_by": BY,
                    "scope": GrantScope.SESSION,
                    "content_hash": request.content_hash,
                    **yes,
                }
            ),
        )

    async def verdict(self, number: int = -1) -> Allow | Deny:
        """What came of a call that was made."""
        async with asyncio.timeout(A_WHILE):
            return await self.running[number]

    def audited(self, kind: str) -> list[dict[str, Any]]:
        """The bodies of the audit log's entries of a kind."""
        lines = self.audit.path.read_text().splitlines()
        return [entry["body"] for entry in map(json.loads, lines) if entry["kind"] == kind]


def suggestion(request: PermissionRequestEvent, pattern: str) -> str:
    """The id of the suggestion with this pattern."""
    (found,) = [each.id for each in request.suggested_grants if each.pattern == pattern]
    return found


@asynccontextmanager
async def grants_world(folder: Path) -> AsyncIterator[GrantsWorld]:
    """A vault, and two sessions at `vault`; opened again on the same folder, what was stored."""
    vault = folder / "vault"
    if not vault.exists():
        make_vault(folder)
    clock = SetClock(at=1_700_000_000.0)
    new_databases(folder)
    async with (
        Database(folder / "sessions.db") as db,
        AuditLog(folder / "audit.jsonl") as audit,
    ):
        sessions = SessionStore(db)
        for each in (SESSION, OTHER):
            if await sessions.find_session(each) is None:
                await sessions.create_session(
                    SessionCreate(id=each, trust_level=TrustLevel.VAULT, workspace="default")
                )
        book = GrantBook(GrantStore(db), audit.append, clock)
        await book.load()
        world = GrantsWorld(vault, wary_policy(folder), db, audit, clock, book)
        try:
            yield world
        finally:
            for task in world.running:
                task.cancel()
            await asyncio.gather(*world.running, return_exceptions=True)
