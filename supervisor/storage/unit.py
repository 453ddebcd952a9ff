"""One transaction on a connection in autocommit mode: the whole block counts, or nothing of it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def whole(cx: sqlite3.Connection) -> Iterator[None]:
    """Take the write lock, commit at the end of the block, roll back if it raises."""
    cx.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        cx.execute("ROLLBACK")
        raise
    cx.execute("COMMIT")
