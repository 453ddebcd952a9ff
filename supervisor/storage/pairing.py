"""The pairing_requests table: who asked to talk to us through a bot, and what was answered.

The newest answer counts: to approve somebody ends an older refusal, and the other way round.
"""

import logging
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from supervisor.clock import Clock
from supervisor.errors import AlreadyAnswered, InvalidRequest, NotFound
from supervisor.storage.columns import moment_in, text_in
from supervisor.storage.database import Database
from supervisor.storage.session_row import parse_level
from supervisor.storage.stored_text import require_text
from supervisor.storage.timestamp import SystemClock, to_text
from supervisor.trust.levels import TrustLevel

logger = logging.getLogger(__name__)

PairingStatus = Literal["pending", "approved", "denied"]
Answer = Literal["approved", "denied"]

LONGEST_NAME: Final = 500
"""Characters of an id or a name on a platform."""
MOST_PENDING: Final = 1_000
"""Requests that wait for an answer: strangers make them, so they can't be without end."""

_STATUSES: Final[tuple[PairingStatus, ...]] = ("pending", "approved", "denied")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPairingRequest:
    """Somebody on a platform (`telegram`, `discord`) asks; `id` is a UUID of ours."""

    id: str
    platform: str
    platform_user_id: str
    platform_chat_id: str
    platform_user_display: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingRequest(NewPairingRequest):
    """A stored request. `approved_trust_level` is given if it is approved; moments are in UTC.

    `damaged` names the columns that could not be read: a level was replaced by the strictest one.
    """

    status: PairingStatus
    approved_trust_level: TrustLevel | None
    created_at: datetime
    resolved_at: datetime | None
    resolved_by: str | None
    damaged: tuple[str, ...] = ()


class PairingStore:
    """Requests by id and by person; every method is one transaction or one read.

    A row that can't be told whose it is or what was answered counts for nothing, and the log is
    warned of it.
    """

    def __init__(self, db: Database, clock: Clock | None = None) -> None:
        self._db = db
        self._clock = clock or SystemClock()

    async def upsert_pairing_request(self, request: NewPairingRequest) -> PairingRequest:
        """Note that somebody asks: one open request a person, which keeps its id.

        Raises InvalidRequest for what can't be stored, and if too many wait already.
        """
        for field in ("id", "platform", "platform_user_id", "platform_chat_id"):
            require_text(getattr(request, field), field, most=LONGEST_NAME)
        display = request.platform_user_display
        if display:
            require_text(display, "platform_user_display", most=LONGEST_NAME)
        now = to_text(self._clock.now())

        def work(cx: sqlite3.Connection) -> PairingRequest | None:
            ((waiting,),) = cx.execute(
                "SELECT count(*) FROM pairing_requests WHERE status = 'pending'"
                " AND NOT (platform = ? AND platform_user_id = ?)",
                (request.platform, request.platform_user_id),
            ).fetchall()
            if waiting >= MOST_PENDING:
                raise InvalidRequest(
                    f"{MOST_PENDING} pairing requests wait already",
                    where="platform_user_id",
                    remedy="answer some of them",
                )
            row = cx.execute(
                "INSERT INTO pairing_requests (id, platform, platform_user_id,"
                " platform_user_display, platform_chat_id, status, created_at)"
                " VALUES (?, ?, ?, ?, ?, 'pending', ?)"
                " ON CONFLICT (platform, platform_user_id, status) DO UPDATE SET"
                " platform_user_display = excluded.platform_user_display,"
                " platform_chat_id = excluded.platform_chat_id RETURNING *",
                (
                    request.id,
                    request.platform,
                    request.platform_user_id,
                    display,
                    request.platform_chat_id,
                    now,
                ),
            ).fetchone()
            return _parse(dict(row))

        try:
            stored = await self._db.transact(work)
        except sqlite3.IntegrityError as error:
            raise InvalidRequest("a pairing request with this id exists", where="id") from error
        if stored is None:  # a row of that person, written by hand
            raise InvalidRequest("the stored request can't be read", where="platform_user_id")
        return stored

    async def get_pending_pairing_requests(self) -> list[PairingRequest]:
        """All requests that wait for an answer, the oldest first."""
        rows = await self._db.rows(
            "SELECT * FROM pairing_requests WHERE status = 'pending' ORDER BY rowid"
        )
        return _readable(rows)

    async def get_pairing_request(self, request_id: str) -> PairingRequest:
        """The request, answered or not. Raises NotFound."""
        rows = await self._db.rows("SELECT * FROM pairing_requests WHERE id = ?", (request_id,))
        for request in _readable(rows):
            return request
        raise _not_found(request_id)

    async def get_pairing_by_platform_user(
        self, platform: str, platform_user_id: str
    ) -> PairingRequest | None:
        """The request by which this person was approved; None: nobody approved them."""
        rows = await self._db.rows(
            "SELECT * FROM pairing_requests"
            " WHERE platform = ? AND platform_user_id = ? AND status = 'approved'",
            (platform, platform_user_id),
        )
        return next(iter(_readable(rows)), None)

    async def resolve_pairing_request(
        self,
        request_id: str,
        status: Answer,
        trust_level: TrustLevel | None = None,
        resolved_by: str | None = None,
    ) -> PairingRequest:
        """Approve at a trust level (the strictest, if none is said), or deny; as it is then.

        What was answered to the same person before ends with it. An approval is taken back by a
        denial; any other second answer raises AlreadyAnswered. Raises NotFound.
        """
        level = None
        if status == "approved":
            level = (trust_level or TrustLevel.SANDBOXED).value
        now = to_text(self._clock.now())

        def work(cx: sqlite3.Connection) -> PairingRequest | None:
            row = cx.execute(
                "SELECT status, platform, platform_user_id FROM pairing_requests WHERE id = ?",
                (request_id,),
            ).fetchone()
            if row is None:
                raise _not_found(request_id)
            taken_back = (row["status"], status) == ("approved", "denied")
            if row["status"] != "pending" and not taken_back:
                raise AlreadyAnswered("this pairing request is answered", where=request_id)
            cx.execute(
                "DELETE FROM pairing_requests"
                " WHERE platform = ? AND platform_user_id = ? AND id <> ? AND status <> 'pending'",
                (row["platform"], row["platform_user_id"], request_id),
            )
            stored = cx.execute(
                "UPDATE pairing_requests SET status = ?, approved_trust_level = ?,"
                " resolved_at = ?, resolved_by = ? WHERE id = ? RETURNING *",
                (status, level, now, resolved_by, request_id),
            ).fetchone()
            return _parse(dict(stored))

        resolved = await self._db.transact(work)
        if resolved is None:
            raise _not_found(request_id)
        return resolved


def _not_found(request_id: str) -> NotFound:
    return NotFound("no pairing request has this id", where=request_id)


def _readable(rows: Sequence[sqlite3.Row]) -> list[PairingRequest]:
    parsed = (_parse(dict(row)) for row in rows)
    return [request for request in parsed if request is not None]


def _parse(row: Mapping[str, Any]) -> PairingRequest | None:
    status = next((each for each in _STATUSES if row["status"] == each), None)
    names = ("id", "platform", "platform_user_id", "platform_chat_id")
    if status is None or not all(isinstance(row[name], str) for name in names):
        logger.warning("the pairing request %.100s is damaged, and counts for nothing", row["id"])
        return None
    damaged: list[str] = []

    def optional(column: str) -> str | None:
        return text_in(row, column, damaged)

    level, resolved = row["approved_trust_level"], row["resolved_at"]
    request = PairingRequest(
        id=row["id"],
        platform=row["platform"],
        platform_user_id=row["platform_user_id"],
        platform_chat_id=row["platform_chat_id"],
        platform_user_display=optional("platform_user_display"),
        status=status,
        approved_trust_level=parse_level(level, damaged, "approved_trust_level")
        if status == "approved"
        else None,
        created_at=moment_in(row, "created_at", damaged),
        resolved_at=None if resolved is None else moment_in(row, "resolved_at", damaged),
        resolved_by=optional("resolved_by"),
        damaged=tuple(damaged),
    )
    if damaged:
        logger.warning(
            "the pairing request %.100s: nothing readable in %s", request.id, ", ".join(damaged)
        )
    return request
