"""The metadata table: settings and marks of the whole store, as texts by key."""

from typing import Final

from supervisor.clock import Clock
from supervisor.errors import InvalidRequest
from supervisor.storage.database import Database
from supervisor.storage.stored_text import require_text
from supervisor.storage.timestamp import SystemClock, to_text

LONGEST_KEY: Final = 200
LONGEST_VALUE: Final = 1_000_000
"""Characters."""

_OURS: Final = "trustfloor."


class MetadataStore:
    """Texts by key. Keys that begin with `trustfloor.` are the store's own, and out of reach."""

    def __init__(self, db: Database, clock: Clock | None = None) -> None:
        self._db = db
        self._clock = clock or SystemClock()

    async def set_metadata(self, key: str, value: str) -> None:
        """Store the value, in the place of an older one. Raises InvalidRequest."""
        _require_free(key)
        if value:
            require_text(value, "value", most=LONGEST_VALUE)
        async with self._db.write() as cx:
            await cx.execute(
                "INSERT INTO metadata (key, value, updated_at) VALUES (?, ?, ?)"
                " ON CONFLICT (key) DO UPDATE SET value = excluded.value,"
                " updated_at = excluded.updated_at",
                (key, value, to_text(self._clock.now())),
            )

    async def get_metadata(self, key: str) -> str | None:
        """The value; None if there is none, or none that is a text. Raises InvalidRequest."""
        _require_free(key)
        row = await self._db.row("SELECT value FROM metadata WHERE key = ?", (key,))
        return row["value"] if row is not None and isinstance(row["value"], str) else None

    async def delete_metadata(self, key: str) -> bool:
        """Remove the value; whether there was one. Raises InvalidRequest."""
        _require_free(key)
        async with self._db.write() as cx:
            cursor = await cx.execute("DELETE FROM metadata WHERE key = ?", (key,))
            return cursor.rowcount == 1


def _require_free(key: str) -> None:
    require_text(key, "key", most=LONGEST_KEY)
    if key.startswith(_OURS):
        raise InvalidRequest(f"keys that begin with `{_OURS}` are the store's own", where="key")
