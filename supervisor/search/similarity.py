"""Similarity in search: vectors for pieces that have none, and the nearest to a question.

Takes the extra `embeddings`, and a maker of vectors that an admin has named.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from supervisor.search.embeds import Embeds
from supervisor.storage.database import Database
from supervisor.storage.found import Found, Wanted
from supervisor.storage.index_rows import IndexRows
from supervisor.storage.vector_rows import VectorRows
from supervisor.storage.vectors import nearest, pack

BATCH: Final = 32
"""Pieces that are sent at once."""

_MADE_BY: Final = "vectors_made_by"


class Similarity:
    """The vectors of one database, all made by the same one."""

    def __init__(self, rows: IndexRows, database: Database, embeds: Embeds) -> None:
        self._rows = rows
        self._vectors = VectorRows(database)
        self._database = database.path
        self._embeds = embeds

    async def embed_pieces(self, may_go: Callable[[], bool]) -> int:
        """Give vectors to the pieces that have none, while they may be sent; how many got one.

        Those of another maker are forgotten first. Raises EmbeddingsFailed.
        """
        if await self._rows.remembered(_MADE_BY) != self._embeds.name:
            while await self._vectors.forget_some():
                pass
            await self._rows.remember(_MADE_BY, self._embeds.name)
        made, after = 0, 0
        while may_go() and (pieces := await self._vectors.missing(after, BATCH)):
            vectors = await self._embeds.embed([each.words for each in pieces])
            packed = [pack(each) for each in vectors]
            made += await self._vectors.give(
                [(piece, one) for piece, one in zip(pieces, packed, strict=True) if one is not None]
            )
            after = pieces[-1].number
        return made

    async def nearest(self, text: str, wanted: Wanted, limit: int) -> list[Found]:
        """The contents nearest to a text. Raises EmbeddingsFailed, StorageBusy."""
        if await self._rows.remembered(_MADE_BY) != self._embeds.name:
            return []  # what is stored is another's, and says nothing beside this one's
        (vector,) = await self._embeds.embed([text])
        aim = pack(vector)
        if aim is None:
            return []
        return await asyncio.to_thread(nearest, self._database, aim, wanted, limit)
