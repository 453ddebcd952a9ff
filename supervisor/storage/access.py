"""The tables of those who may call: tokens and logins, in a database of the data folder.

A row that can't be read whole is left out, and the log is warned of it: damage lets nobody in.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

from supervisor.clock import Instant
from supervisor.storage.database import Database
from supervisor.storage.timestamp import from_text, to_text

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """A stored token; moments are in UTC. `workspaces` are slugs, or None for all."""

    id: str
    name: str
    digest: str
    scopes: tuple[str, ...]
    workspaces: tuple[str, ...] | None
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginRow:
    """A stored login of the console; `token_id` says whose code it was made with."""

    id: str
    digest: str
    page_digest: str
    token_id: str
    scopes: tuple[str, ...]
    workspaces: tuple[str, ...] | None
    created_at: datetime
    used_at: datetime
    expires_at: datetime
    ended_at: datetime | None = None


class AccessStore:
    """Tokens and logins; every method is one transaction or one read."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def tokens(self) -> list[TokenRow]:
        """All there are, the oldest first."""
        rows = await self._db.rows("SELECT * FROM tokens ORDER BY created_at, rowid")
        return _whole(rows, _token)

    async def logins(self) -> list[LoginRow]:
        """All there are, the oldest first."""
        rows = await self._db.rows("SELECT * FROM logins ORDER BY created_at, rowid")
        return _whole(rows, _login)

    async def put_token(self, row: TokenRow) -> None:
        """Store a token, or the change of one."""
        await self._put("tokens", row, _TOKEN)

    async def put_login(self, row: LoginRow) -> None:
        """Store a login, or the change of one."""
        await self._put("logins", row, _LOGIN)

    async def forget_logins(self, before: float) -> None:
        """Take out those that ended before this moment (seconds since the epoch)."""
        async with self._db.write() as cx:
            await cx.execute(
                "DELETE FROM logins WHERE coalesce(ended_at, expires_at) < ?",
                (_stored_at(before),),
            )

    async def _put(self, table: str, row: object, columns: tuple[str, ...]) -> None:
        values = [_stored(getattr(row, each)) for each in columns]
        marks = ", ".join("?" * len(columns))
        async with self._db.write() as cx:
            await cx.execute(
                f"INSERT OR REPLACE INTO {table} ({', '.join(columns)})"  # noqa: S608 - ours
                f" VALUES ({marks})",
                values,
            )


_TOKEN: Final = (
    *("id", "name", "digest", "scopes", "workspaces", "created_at", "created_by"),
    *("expires_at", "revoked_at"),
)
_LOGIN: Final = (
    *("id", "digest", "page_digest", "token_id", "scopes", "workspaces", "created_at", "used_at"),
    *("expires_at", "ended_at"),
)


def _stored(value: object) -> object:
    if isinstance(value, tuple):
        return " ".join(value)
    return _stored_at(value.timestamp()) if isinstance(value, datetime) else value


def _stored_at(moment: float) -> str:
    return to_text(Instant(moment))


def _whole(rows: list[Any], read: Callable[[Mapping[str, Any]], T]) -> list[T]:
    found = []
    for row in rows:
        try:
            found.append(read(dict(row)))
        except (ValueError, TypeError, AttributeError):
            logger.warning("a row of those who may call can't be read, and counts for nothing")
    return found


def _token(row: Mapping[str, Any]) -> TokenRow:
    return TokenRow(**{**row, **_read(row, "created_at", "expires_at", "revoked_at")})


def _login(row: Mapping[str, Any]) -> LoginRow:
    moments = ("created_at", "used_at", "expires_at", "ended_at")
    return LoginRow(**{**row, **_read(row, *moments)})


def _read(row: Mapping[str, Any], *moments: str) -> dict[str, Any]:
    slugs = row["workspaces"]
    return {
        "scopes": tuple(row["scopes"].split()),
        "workspaces": None if slugs is None else tuple(slugs.split()),
        **{name: None if row[name] is None else from_text(row[name]) for name in moments},
    }
