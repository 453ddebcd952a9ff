"""Puts one content into the index: what is new is written, what stays is left as it is."""

import asyncio
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from supervisor.search.snippets import plain_text
from supervisor.storage.chunks import NewChunk
from supervisor.storage.index_manifest import IndexedContent
from supervisor.storage.index_records import Held, Kept, digest_of
from supervisor.storage.index_rows import IndexRows

BATCH: Final = 200
"""Pieces that are held in memory, and written at once."""


class Part(NamedTuple):
    """A piece of a content: its words, the heading it stands under, its message or line."""

    text: str
    heading: str
    position: int


@dataclass(slots=True)
class Written:
    """How many pieces were written, and how many were removed."""

    new: int = 0
    gone: int = 0


async def put(rows: IndexRows, content: IndexedContent, parts: Iterator[Part]) -> Written:
    """Index these parts as the content's; they are read in a thread.

    What reading raises is passed on; the index is as before then. A content without words has its
    title as its only piece.
    """
    free: dict[bytes, deque[Held]] = {}
    for held in await rows.held(content.content_id):
        free.setdefault(held.digest, deque()).append(held)
    done = Written()
    kept: list[Kept] = []
    fresh: list[NewChunk] = []
    index = 0
    is_staged = is_finished = False
    ready = _prepared(parts, content.title or "")
    try:
        while some := await asyncio.to_thread(lambda: list(islice(ready, BATCH))):
            if len(fresh) >= BATCH:
                await rows.stage(fresh)
                is_staged, fresh = True, []
            for part in some:
                if same := free.get(digest_of(part.text, part.heading)):
                    old = same.popleft()
                    if (old.index, old.position) != (index, part.position):
                        kept.append(Kept(old.number, index, part.position))
                else:
                    done.new += 1
                    fresh.append(
                        NewChunk(
                            content_id=content.content_id,
                            content_type=content.content_type,
                            chunk_index=index,
                            chunk_text=part.text,
                            title=content.title or "",
                            heading=part.heading,
                            position=part.position,
                        )
                    )
                index += 1
        gone = [old.number for olds in free.values() for old in olds]
        done.gone = len(gone)
        await rows.finish(content, fresh, kept, gone)
        is_finished = True
    finally:
        if is_staged and not is_finished:
            await rows.discard(content.content_id)
    return done


def _prepared(parts: Iterator[Part], title: str) -> Iterator[Part]:
    """The parts that hold words, as they are stored; the title, if there are none."""
    is_empty = True
    for part in parts:
        text = plain_text(part.text).rstrip()
        if text:
            is_empty = False
            yield Part(text, plain_text(part.heading), part.position)
    if is_empty and title.strip():
        yield Part(plain_text(title), "", 0)
