"""The turns table: what runs in which session, and how it ended; one running turn per session."""

import logging
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from supervisor.clock import Clock, Instant
from supervisor.errors import SessionBusy, SessionNotFound
from supervisor.ids import SessionId, TurnId
from supervisor.storage.columns import moment_in
from supervisor.storage.database import Database
from supervisor.storage.session_row import parse_level
from supervisor.storage.timestamp import SystemClock, day_of, to_text
from supervisor.trust.levels import TrustLevel

logger = logging.getLogger(__name__)

KEYS_SECONDS: Final = 24 * 3600.0
"""How long the key of a message stands for its turn."""

TurnState = Literal["running", "done", "aborted", "error", "interrupted"]
EndState = Literal["done", "aborted", "error", "interrupted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """One stored turn; `ended_at` is None while it runs.

    `damaged` names the columns that could not be read and were replaced: a level by the strictest
    one, a moment by the epoch. The log is warned of it.
    """

    id: TurnId
    session_id: SessionId
    state: TurnState
    started_at: datetime
    ended_at: datetime | None
    trust_level: TrustLevel
    error_code: str | None
    damaged: tuple[str, ...] = ()


class Sent(NamedTuple):
    """Hashes of the key that a message was sent with, and of the message."""

    key: str
    hash: str


class SentTurn(NamedTuple):
    """The turn that a message with a key began, and the message's hash."""

    session_id: SessionId
    turn_id: TurnId
    hash: str


class Used(NamedTuple):
    """What a turn has used: tokens of all kinds, and US dollars; nobody pays those of a script."""

    tokens: int
    cost_usd: float
    scripted: bool = False

    @property
    def paid_usd(self) -> float:
        """What is paid for it, in US dollars."""
        return 0.0 if self.scripted else self.cost_usd


NOTHING: Final = Used(0, 0.0)


class TurnStore:
    """Begins and ends turns; that there is one at a time is held by the database itself."""

    def __init__(self, db: Database, clock: Clock | None = None) -> None:
        self._db = db
        self._clock = clock or SystemClock()

    async def begin(
        self,
        turn_id: TurnId,
        session_id: SessionId,
        level: TrustLevel,
        sent: Sent | None = None,
    ) -> TurnRow:
        """Record that a turn runs. Raises SessionBusy if one does already, SessionNotFound.

        `sent` is what a repetition of its message is known by; an older use of the key is over.
        """
        async with self._db.write() as cx:
            try:
                if sent is not None:
                    await cx.execute(
                        "UPDATE turns SET sent_as = NULL WHERE sent_as = ? AND started_at < ?",
                        (sent.key, self._forgotten()),
                    )
                rows = await cx.execute_fetchall(
                    "INSERT INTO turns"
                    " (id, session_id, state, started_at, trust_level, sent_as, sent_hash)"
                    " VALUES (?, ?, 'running', ?, ?, ?, ?) RETURNING *",
                    (turn_id, session_id, self._now(), level.value, *(sent or (None, None))),
                )
            except sqlite3.IntegrityError as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
                    raise SessionNotFound("no session has this id", where=session_id) from error
                if error.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_UNIQUE:
                    raise SessionBusy(
                        "a turn of this session is running",
                        where=session_id,
                        remedy="wait for its end, or abort it",
                    ) from error
                raise
            return next(_turn(dict(row)) for row in rows)

    async def end(
        self,
        turn_id: TurnId,
        state: EndState,
        error_code: str | None = None,
        used: Used = NOTHING,
    ) -> bool:
        """Record the end, and in its day's sums what the turn has used and what that cost.

        The first end counts: False if the turn wasn't running any more.
        """
        now = self._now()
        async with self._db.write() as cx:
            cursor = await cx.execute(
                "UPDATE turns SET state = ?, ended_at = ?, error_code = ?"
                " WHERE id = ? AND state = 'running'",
                (state, now, error_code, turn_id),
            )
            if cursor.rowcount != 1:
                return False
            await cx.execute(
                "INSERT INTO days (day, state, turns, tokens, cost_usd) VALUES (?, ?, 1, ?, ?)"
                " ON CONFLICT (day, state) DO UPDATE SET turns = turns + 1,"
                " tokens = tokens + excluded.tokens, cost_usd = cost_usd + excluded.cost_usd",
                (day_of(now), state, used.tokens, used.paid_usd),
            )
            return True

    async def sent(self, key: str) -> SentTurn | None:
        """The turn that a message with this key began within the last `KEYS_SECONDS`, or None."""
        row = await self._db.row(
            "SELECT session_id, id, sent_hash FROM turns WHERE sent_as = ? AND started_at >= ?",
            (key, self._forgotten()),
        )
        return None if row is None else SentTurn(*row)

    async def get(self, turn_id: TurnId) -> TurnRow | None:
        """The turn, or None."""
        row = await self._db.row("SELECT * FROM turns WHERE id = ?", (turn_id,))
        return None if row is None else _turn(dict(row))

    async def latest(self, session_id: SessionId) -> TurnRow | None:
        """The session's newest turn, or None."""
        row = await self._db.row(
            "SELECT * FROM turns WHERE session_id = ? ORDER BY started_at DESC, rowid DESC LIMIT 1",
            (session_id,),
        )
        return None if row is None else _turn(dict(row))

    async def of_session(self, session_id: SessionId) -> list[TurnRow]:
        """The session's turns that are over, the oldest first."""
        rows = await self._db.rows(
            "SELECT * FROM turns WHERE session_id = ? AND state != 'running'"
            " ORDER BY started_at, rowid",
            (session_id,),
        )
        return [_turn(dict(row)) for row in rows]

    async def running(self) -> list[TurnRow]:
        """All turns that run, the oldest first."""
        rows = await self._db.rows(
            "SELECT * FROM turns WHERE state = 'running' ORDER BY started_at"
        )
        return [_turn(dict(row)) for row in rows]

    def _now(self) -> str:
        return to_text(self._clock.now())

    def _forgotten(self) -> str:
        return to_text(Instant(self._clock.now() - KEYS_SECONDS))


def _turn(row: Mapping[str, Any]) -> TurnRow:
    damaged: list[str] = []
    ended = row["ended_at"]
    turn = TurnRow(
        id=TurnId(row["id"]),
        session_id=SessionId(row["session_id"]),
        state=row["state"],
        started_at=moment_in(row, "started_at", damaged),
        ended_at=None if ended is None else moment_in(row, "ended_at", damaged),
        trust_level=parse_level(row["trust_level"], damaged),
        error_code=row["error_code"],
        damaged=tuple(damaged),
    )
    if damaged:
        logger.warning("turn %s: its row holds nothing readable in %s", turn.id, ", ".join(damaged))
    return turn
