"""The vectors of the index's pieces: which have none, and those that are made for them.

`vectors.py` looks for the nearest; this reads and writes them.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from supervisor.storage.database import Database

_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """A piece without a vector; `words` is what one is made of."""

    number: int
    title: str
    heading: str
    text: str

    @property
    def words(self) -> str:
        """The piece with what it stands under."""
        return "\n".join(each for each in (self.title, self.heading, self.text) if each)


class VectorRows:
    """The vectors' column; every method is one read or one short transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def missing(self, after: int, limit: int) -> list[Unmeasured]:
        """Pieces that have no vector, in the order of their rows, those after a number."""
        rows = await self._db.rows(
            "SELECT number, title, heading, chunk_text FROM chunks WHERE embedding IS NULL"
            " AND chunk_index >= 0 AND number > ? ORDER BY number LIMIT ?",
            (after, limit),
        )
        return [
            Unmeasured(row["number"], row["title"], row["heading"], str(row["chunk_text"]))
            for row in rows
        ]

    async def give(self, made: Sequence[tuple[Unmeasured, bytes]]) -> int:
        """Store vectors of pieces that are still what they were; how many those are."""

        def work(cx: sqlite3.Connection) -> int:
            return sum(
                cx.execute(
                    "UPDATE chunks SET embedding = ? WHERE number = ? AND chunk_text = ?",
                    (vector, piece.number, piece.text),
                ).rowcount
                for piece, vector in made
            )

        return await self._db.transact(work)

    async def forget_some(self) -> bool:
        """Remove some of them; whether there were any."""

        def work(cx: sqlite3.Connection) -> bool:
            gone = cx.execute(
                "UPDATE chunks SET embedding = NULL WHERE number IN"
                " (SELECT number FROM chunks WHERE embedding IS NOT NULL LIMIT ?)",
                (_BATCH,),
            )
            return gone.rowcount > 0

        return await self._db.transact(work)
