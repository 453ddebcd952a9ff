"""Which databases are this data folder's own: a seal that only its secret can make.

A database in the vault says how strictly sessions run. One that came with the vault from elsewhere
has no seal of ours, whatever else it says.
"""

import hashlib
import hmac
import secrets
import sqlite3
from pathlib import Path
from typing import Final

from supervisor.storage.identity import binding_secret_of
from supervisor.storage.timestamp import SystemClock, to_text

ID_KEY: Final = "trustfloor.database"
SEAL_KEY: Final = "trustfloor.binding"


class Binding:
    """Seals databases for one data folder. The secret is made there at first use."""

    def __init__(self, data: Path) -> None:
        self._secret = binding_secret_of(data).encode()

    def id_of(self, cx: sqlite3.Connection) -> str | None:
        """The database's id if it bears our seal, or None."""
        database_id, seal = (_value(cx, key) for key in (ID_KEY, SEAL_KEY))
        if database_id is None or seal is None:
            return None
        good = hmac.compare_digest(self._seal(database_id).encode(), seal.encode())
        return database_id if good else None

    def bind(self, cx: sqlite3.Connection) -> str:
        """Give the database a new id and our seal, in the caller's transaction; the id."""
        database_id = secrets.token_hex(16)
        now = to_text(SystemClock().now())
        cx.executemany(
            "INSERT OR REPLACE INTO metadata (key, value, updated_at) VALUES (?, ?, ?)",
            [(ID_KEY, database_id, now), (SEAL_KEY, self._seal(database_id), now)],
        )
        return database_id

    def _seal(self, database_id: str) -> str:
        message = database_id.encode("utf-8", "surrogatepass")
        return hmac.new(self._secret, message, hashlib.sha256).hexdigest()


def _value(cx: sqlite3.Connection, key: str) -> str | None:
    row = cx.execute("SELECT value FROM metadata WHERE key = ?", (key,)).fetchone()
    return row[0] if row is not None and isinstance(row[0], str) else None
