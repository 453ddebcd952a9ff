"""The permission_grants table: what people permitted beyond one call, and when that ended."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from supervisor.clock import Instant
from supervisor.errors import NotFound
from supervisor.ids import SessionId
from supervisor.policy.permissions import Grant, GrantKind, GrantScope
from supervisor.storage.database import Database
from supervisor.storage.timestamp import from_text, to_text
from supervisor.trust.levels import TrustLevel

logger = logging.getLogger(__name__)

MOST_LISTED: Final = 1_000
"""Rows of one listing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantRow:
    """One stored grant: of a session, or of an agent in all its sessions. Moments are in UTC.

    `request_id` is the request that was answered by it; `revoked_by` says who ended it, or what.
    """

    id: str
    scope: GrantScope
    session_id: SessionId | None
    agent: str | None
    kind: GrantKind
    pattern: str
    level: TrustLevel
    given_by: str
    given_at: datetime
    request_id: str
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_by: str | None = None

    def grant(self) -> Grant:
        """The grant as a decision reads it."""
        ends = None if self.expires_at is None else self.expires_at.timestamp()
        return Grant(self.id, self.scope, self.kind, self.pattern, self.level, ends)

    def is_live(self, now: float) -> bool:
        """Whether it counts at this moment, in seconds since the epoch."""
        ends = None if self.expires_at is None else self.expires_at.timestamp()
        return self.revoked_at is None and (ends is None or now < ends)


class GrantStore:
    """Grants by id; every method is one transaction or one read.

    A row that can't be read whole is left out of every answer, and the log is warned of it: damage
    permits nothing.
    """

    def __init__(self, db: Database) -> None:
        self._db = db

    async def add(self, rows: Sequence[GrantRow]) -> None:
        """Store them, all or none. Raises NotFound if there is no such session."""
        async with self._db.write() as cx:
            for row in rows:
                session = await cx.execute_fetchall(
                    "SELECT 1 FROM sessions WHERE id = ?", (row.session_id,)
                )
                if row.session_id is not None and not list(session):
                    raise NotFound("no session has this id", where=row.session_id)
                await cx.execute(_INSERT, _values(row))

    async def get(self, grant_id: str) -> GrantRow:
        """The grant, live or not. Raises NotFound."""
        row = await self._db.row("SELECT * FROM permission_grants WHERE id = ?", (grant_id,))
        found = None if row is None else _parse(dict(row))
        if found is None:
            raise NotFound(
                "no grant has this id", where=grant_id, remedy="list them with GET /api/grants"
            )
        return found

    async def list(
        self,
        *,
        session_id: str | None = None,
        agent: str | None = None,
        revoked: bool = True,
        limit: int | None = MOST_LISTED,
    ) -> list[GrantRow]:
        """The grants, the newest first, revoked ones too if wanted; `limit` None: all."""
        conditions, parameters = ["1"], list[Any]()
        for column, value in (("session_id", session_id), ("agent", agent)):
            if value is not None:
                conditions.append(f"{column} = ?")
                parameters.append(value)
        if not revoked:
            conditions.append("revoked_at IS NULL")
        sql = (
            f"SELECT * FROM permission_grants WHERE {' AND '.join(conditions)}"  # noqa: S608 - ours
            " ORDER BY given_at DESC, rowid DESC LIMIT ?"
        )
        rows = await self._db.rows(sql, (*parameters, -1 if limit is None else limit))
        parsed = (_parse(dict(row)) for row in rows)
        return [row for row in parsed if row is not None]

    async def revoke(self, grant_ids: Sequence[str], at: float, by: str) -> None:
        """End them; one that has ended already keeps its end. `at`: seconds since the epoch."""
        async with self._db.write() as cx:
            await cx.executemany(
                "UPDATE permission_grants SET revoked_at = ?, revoked_by = ?"
                " WHERE id = ? AND revoked_at IS NULL",
                [(_stored(at), by, each) for each in grant_ids],
            )


_COLUMNS: Final = (
    "id", "scope", "session_id", "agent", "kind", "pattern", "trust_level", "given_by", "given_at",
    "request_id", "expires_at", "revoked_at", "revoked_by",
)  # fmt: skip
_INSERT: Final = (
    f"INSERT INTO permission_grants ({', '.join(_COLUMNS)})"  # noqa: S608 - the names above
    f" VALUES ({', '.join('?' * len(_COLUMNS))})"
)


def _values(row: GrantRow) -> tuple[Any, ...]:
    return (
        row.id,
        row.scope.value,
        row.session_id,
        row.agent,
        row.kind.value,
        row.pattern,
        row.level.value,
        row.given_by,
        _text(row.given_at),
        row.request_id,
        _text(row.expires_at),
        _text(row.revoked_at),
        row.revoked_by,
    )


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else _stored(moment.timestamp())


def _stored(at: float) -> str:
    return to_text(Instant(at))


def _parse(row: Mapping[str, Any]) -> GrantRow | None:
    try:
        return GrantRow(
            id=_str(row["id"]),
            scope=GrantScope(row["scope"]),
            session_id=None if row["session_id"] is None else SessionId(_str(row["session_id"])),
            agent=_optional(row["agent"]),
            kind=GrantKind(row["kind"]),
            pattern=_str(row["pattern"]),
            level=TrustLevel(row["trust_level"]),
            given_by=_str(row["given_by"]),
            given_at=from_text(_str(row["given_at"])),
            request_id=_str(row["request_id"]),
            expires_at=_moment(row["expires_at"]),
            revoked_at=_moment(row["revoked_at"]),
            revoked_by=_optional(row["revoked_by"]),
        )
    except ValueError as error:
        logger.warning(
            "the grant %.100s can't be read, and counts for nothing: %s", row["id"], error
        )
        return None


def _str(stored: object) -> str:
    if isinstance(stored, str):
        return stored
    raise ValueError("a column holds no text")


def _optional(stored: object) -> str | None:
    return None if stored is None else _str(stored)


def _moment(stored: object) -> datetime | None:
    return None if stored is None else from_text(_str(stored))
