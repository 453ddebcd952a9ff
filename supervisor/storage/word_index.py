"""The index of the chunks' words: whether it is in step, made anew, and rid of what was deleted.

The schema's triggers keep it in step, whoever writes chunks.
"""

import sqlite3
from typing import Final

_PAGES: Final = 64
"""About so many pages are merged in one go: some milliseconds."""


def is_in_step(cx: sqlite3.Connection) -> bool:
    """Whether as many pieces are indexed as there are, and the last is the same."""
    pieces = cx.execute("SELECT count(*), max(number) FROM chunks").fetchone()
    indexed = cx.execute("SELECT count(*), max(id) FROM chunk_words_docsize").fetchone()
    return tuple(pieces) == tuple(indexed)


def rebuild(cx: sqlite3.Connection) -> None:
    """Make the index anew from the pieces."""
    cx.execute("INSERT INTO chunk_words (chunk_words) VALUES ('rebuild')")


def forget_more(cx: sqlite3.Connection, *, first: bool) -> bool:
    """Merge away a little of what was deleted; whether more is left. `first`: begin with it.

    The index only marks words as deleted; they are in the file until their part is written anew.
    """
    before = cx.total_changes
    pages = -_PAGES if first else _PAGES
    cx.execute("INSERT INTO chunk_words (chunk_words, rank) VALUES ('merge', ?)", (pages,))
    return cx.total_changes - before > 1
