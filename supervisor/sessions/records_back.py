"""A transcript's records from its end backwards: no more is read than is told.

Pure but for the file: a descriptor is handed in, and read by position.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

BLOCK: Final = 256 * 1024
"""Bytes that are read at once."""
LONGEST: Final = 16 * 1024 * 1024
"""Bytes of a record; a longer one is told as one that can't be read."""


@dataclass(frozen=True, slots=True)
class Line:
    """One record: where it begins in the file, and what it holds. None: it can't be read.

    `size`: how many bytes it has, of one that can be read.

    `torn`: it is the file's last and has no end, as a crash leaves it.
    """

    start: int
    record: dict[str, Any] | None
    torn: bool = False
    size: int = 0


def records_back(descriptor: int, before: int | None = None) -> Iterator[Line]:
    """The records that begin before an offset (None: the end), the last one first.

    Blank lines are passed over. The file may grow meanwhile; what is added isn't told.
    """
    size = os.fstat(descriptor).st_size
    end = size if before is None else min(before, size)
    # What stands behind the last line end is a record without its end.
    open_end = before is None or before >= size
    tail: list[bytes] = []
    held = 0
    position = end
    while position > 0:
        step = min(BLOCK, position)
        position -= step
        block = os.pread(descriptor, step, position)
        pieces = block.split(b"\n")
        at = position + len(block)
        for index in range(len(pieces) - 1, -1, -1):
            piece = pieces[index]
            at -= len(piece)
            if index == 0:
                held += len(piece)
                tail.append(piece if held <= LONGEST else b"")
                break
            yield from _line(at, piece, tail, held, torn=open_end)
            open_end, tail, held = False, [], 0
            at -= 1
    if position == 0 and (tail or held):
        yield from _line(0, b"", tail, held, torn=open_end)


def _line(start: int, first: bytes, tail: list[bytes], held: int, *, torn: bool) -> Iterator[Line]:
    if held + len(first) > LONGEST:
        yield Line(start, None, torn)
        return
    text = first + b"".join(reversed(tail))
    if not text.strip():
        return
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError:
        yield Line(start, None, torn)
        return
    yield Line(start, record if isinstance(record, dict) else None, False, len(text))
