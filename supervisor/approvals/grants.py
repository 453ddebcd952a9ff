"""The grants that count now, at hand for every decision, and how they are given and ended."""

import asyncio
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from supervisor.approvals.display import make_visible
from supervisor.approvals.open_requests import Record
from supervisor.clock import Clock
from supervisor.errors import InvalidRequest
from supervisor.ids import SessionId, TurnId
from supervisor.policy.needs import Needs
from supervisor.policy.permissions import Grant, Permissions
from supervisor.storage.grants import GrantRow, GrantStore
from supervisor.trust.levels import TrustLevel

MOST_GRANTS: Final = 500
"""Live grants of one session, or of one agent: each of its decisions looks through them."""
MOST_ASKED: Final = 200
"""Requests of a session that are remembered, the newest."""
MOST_SESSIONS: Final = 500
"""Sessions whose requests are remembered, those that asked last."""
LONGEST_GRANT_SECONDS: Final = 366 * 24 * 3600.0


class GrantBook:
    """All live grants. Loaded once; from then on every change goes through here.

    Used from one event loop. What is given is in the database and in the audit log before it
    counts; what is ended stops counting at once.
    """

    def __init__(self, store: GrantStore, record: Record, clock: Clock) -> None:
        self._store = store
        self._record = record
        self._clock = clock
        self._sessions: dict[str, dict[str, Grant]] = {}
        self._agents: dict[str, dict[str, Grant]] = {}
        self._changing = asyncio.Lock()

    async def load(self) -> None:
        """Take in what was given before, at the start of the supervisor."""
        for row in await self._store.list(revoked=False, limit=None):
            if row.is_live(self._clock.now()):
                self._admit(row)

    def permissions_for(
        self,
        session_id: SessionId,
        agent: str | None,
        level: TrustLevel,
        now: float,
        base: Permissions,
    ) -> Permissions:
        """The session's permissions with the grants that count for it, at this level and moment."""
        session = self._sessions.get(session_id)
        own = self._agents.get(agent) if agent is not None else None
        if not session and not own:
            return base
        live = [
            grant
            for grant in (*(session or {}).values(), *(own or {}).values())
            if grant.level is level and (grant.expires_at is None or now < grant.expires_at)
        ]
        return replace(base, grants=(*base.grants, *live)) if live else base

    def now(self) -> float:
        """The moment by the clock that grants expire by, in seconds since the epoch."""
        return self._clock.now()

    async def give(
        self, rows: Sequence[GrantRow], turn_id: TurnId, confirm: Callable[[], object]
    ) -> None:
        """Store and audit the grants, then `confirm`; they count from then on.

        Where `confirm` raises, they are ended before they ever counted. Raises InvalidRequest for
        more than fit, and what the database and the audit log raise.
        """
        async with self._changing:
            for row in rows:
                self._require_room(row)
            await self._store.add(rows)
            try:
                for row in rows:
                    await self._record("grant", row.session_id, turn_id, described(row))
                confirm()
            except BaseException:
                await self._end(rows, "the supervisor: its request was closed before")
                raise
            for row in rows:
                self._admit(row)

    async def find(self, grant_id: str) -> GrantRow:
        """The grant, whether it counts or not. Raises NotFound."""
        return await self._store.get(grant_id)

    async def revoke(self, grant_id: str, by: str) -> GrantRow:
        """End a grant, from the next call on; one that has ended stays as it ended.

        Raises NotFound.
        """
        async with self._changing:
            row = await self._store.get(grant_id)
            if row.revoked_at is None:
                await self._end([row], by)
            return await self._store.get(grant_id)

    async def void_session(self, session_id: SessionId, by: str) -> None:
        """End all grants of a session: its trust level has changed."""
        async with self._changing:
            rows = await self._store.list(session_id=session_id, revoked=False, limit=None)
            await self._end(rows, by)

    async def list(
        self, *, session_id: str | None = None, agent: str | None = None, ended: bool = False
    ) -> list[GrantRow]:
        """The grants that count, the newest first; with `ended` those that don't any more too."""
        rows = await self._store.list(session_id=session_id, agent=agent, revoked=ended)
        now = self._clock.now()
        return [row for row in rows if ended or row.is_live(now)]

    async def _end(self, rows: Sequence[GrantRow], by: str) -> None:
        for row in rows:
            self._forget(row)
        await self._store.revoke([row.id for row in rows], self._clock.now(), by)
        for row in rows:
            await self._record("revoke", row.session_id, None, {**described(row), "by": by})

    def _held(self, row: GrantRow) -> dict[str, Grant]:
        if row.session_id is not None:
            return self._sessions.setdefault(row.session_id, {})
        return self._agents.setdefault(row.agent or "", {})

    def _admit(self, row: GrantRow) -> None:
        self._held(row)[row.id] = row.grant()

    def _forget(self, row: GrantRow) -> None:
        self._held(row).pop(row.id, None)

    def _require_room(self, row: GrantRow) -> None:
        held, now = self._held(row), self._clock.now()
        for grant in list(held.values()):
            if grant.expires_at is not None and grant.expires_at <= now:
                del held[grant.id]
        if len(held) >= MOST_GRANTS:
            raise InvalidRequest(
                f"there are {MOST_GRANTS} grants already",
                where="scope",
                remedy="revoke some, or give a broader one: GET /api/grants lists them",
            )


class AskedBefore:
    """What the requests of each session needed, so that a suggestion can say what it had saved."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, deque[Needs]] = OrderedDict()

    def of(self, session_id: SessionId) -> tuple[Needs, ...]:
        """The needs of the session's earlier requests, the oldest first; the newest of many."""
        return tuple(self._sessions.get(session_id, ()))

    def remember(self, session_id: SessionId, needs: Needs) -> None:
        """Add a request."""
        asked = self._sessions.setdefault(session_id, deque(maxlen=MOST_ASKED))
        asked.append(needs)
        self._sessions.move_to_end(session_id)
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)


def new_grant_id() -> str:
    """A fresh id of a grant."""
    return "grant_" + uuid.uuid4().hex


def moment(at: float) -> datetime:
    """Seconds since the epoch as a moment in UTC."""
    return datetime.fromtimestamp(at, UTC)


def described(row: GrantRow) -> dict[str, Any]:
    """A grant as the audit log has it."""
    return {
        "grant": row.id,
        "scope": row.scope.value,
        "agent": row.agent,
        "kind": row.kind.value,
        "pattern": row.pattern,
        "shown": make_visible(row.pattern).text,
        "level": row.level.value,
        "givenBy": row.given_by,
        "request": row.request_id,
        "expiresAt": None if row.expires_at is None else row.expires_at.isoformat(),
    }
