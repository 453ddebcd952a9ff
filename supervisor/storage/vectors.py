"""The vectors of pieces: how they are stored, and which are the nearest to one.

Read in blocks, so that memory is bounded; each search reads them all. Takes the extra `embeddings`.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from supervisor.storage.found import Found, Wanted, let_through, reading, to_found

MOST_DIMENSIONS: Final = 8_192

_BLOCK: Final = 2_048
_STORED: Final = np.dtype("<f4")


def pack(vector: Sequence[float]) -> bytes | None:
    """The vector as it is stored, of length one; None for one that points nowhere."""
    if not 0 < len(vector) <= MOST_DIMENSIONS:
        return None
    values = np.asarray(vector, dtype=np.float64)
    length = float(np.linalg.norm(values))
    if not np.isfinite(length) or length == 0:
        return None
    return (values / length).astype(_STORED).tobytes()


def nearest(path: Path, vector: bytes, wanted: Wanted, limit: int) -> list[Found]:
    """The contents with the pieces nearest to a packed vector, the nearest first. Blocks.

    The score is the cosine. Raises StorageBusy after a while.
    """
    aim = np.frombuffer(vector, _STORED)
    best: dict[str, tuple[float, int]] = {}
    with reading(path) as cx:
        for names, numbers, block in _blocks(cx, len(vector), wanted):
            closeness = np.frombuffer(block, _STORED).reshape(len(numbers), -1) @ aim
            for name, number, score in zip(names, numbers, closeness.tolist(), strict=True):
                if name not in best or score > best[name][0]:
                    best[name] = (score, number)
        chosen = sorted(best.values(), key=lambda each: (-each[0], each[1]))[:limit]
        return [_shown(cx, number, score) for score, number in chosen]


def _blocks(
    cx: sqlite3.Connection, size: int, wanted: Wanted
) -> Iterator[tuple[list[str], list[int], bytes]]:
    condition, parameters = let_through(wanted)
    cursor = cx.execute(
        "SELECT content_id, number, embedding FROM chunks JOIN (SELECT content_id FROM"  # noqa: S608
        f" index_manifest WHERE {condition}) USING (content_id) WHERE chunk_index >= 0"
        " AND typeof(embedding) = 'blob' AND length(embedding) = ?",
        (*parameters, size),
    )
    while rows := cursor.fetchmany(_BLOCK):
        names, numbers, vectors = zip(*map(tuple, rows), strict=True)
        yield list(names), list(numbers), b"".join(vectors)


def _shown(cx: sqlite3.Connection, number: int, score: float) -> Found:
    row: Any = cx.execute(
        "SELECT content_id, index_manifest.content_type, index_manifest.title, source_path,"
        " metadata, number, ? AS cost, 0 AS matches, chunk_text AS marked, heading, position"
        " FROM chunks JOIN index_manifest USING (content_id) WHERE number = ?",
        (-score, number),
    ).fetchone()
    return to_found(row, row)
