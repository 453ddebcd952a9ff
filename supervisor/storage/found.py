"""What the index of words has for a question: the best piece of each content, the best ones first.

On a connection of its own, in the caller's thread: a long search holds nobody up.
"""

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from supervisor.errors import StorageBusy
from supervisor.storage.opening import HardenedConnection, translated_errors

SECONDS: Final = 10.0
"""How long one search may take."""
WEIGHTS: Final = (6.0, 3.0, 1.0)
"""How much a word counts in a title, in a heading and in the text."""
IN_THE_TEXT: Final = (0.0, 3.0, 1.0)
"""The same for the choice of a content's best piece: all of them have its title."""

_STEPS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked of the index. `match` is an FTS5 expression, `letters` are texts to be there.

    `types` and `tags` let through what is of any of them; none: all.
    """

    match: str | None
    letters: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A content with its best piece. `score` is better the higher it is.

    `marked` is the piece's text with the marks round the words that were found; `matches` is how
    many pieces of the content were found.
    """

    content_id: str
    content_type: str
    title: str
    source_path: str | None
    metadata: dict[str, Any]
    number: int
    score: float
    matches: int
    marked: str
    heading: str
    position: int


def find(
    path: Path, wanted: Wanted, *, limit: int, offset: int = 0, marks: tuple[str, str]
) -> list[Found]:
    """Up to `limit` contents from the `offset`th on. Blocks. Raises StorageBusy after SECONDS."""
    sql, parameters = _query(wanted)
    with reading(path) as cx:
        rows = cx.execute(f"{sql} LIMIT ? OFFSET ?", (*parameters, limit, offset)).fetchall()
        return [to_found(row, _marked(cx, wanted, row, marks)) for row in rows]


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that sees the database as of one moment, for a bounded time."""
    with (
        translated_errors(path),
        closing(sqlite3.connect(path, isolation_level=None, factory=HardenedConnection)) as cx,
    ):
        cx.row_factory = sqlite3.Row
        cx.execute("PRAGMA query_only = ON")
        until = time.monotonic() + SECONDS
        cx.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
        try:
            cx.execute("BEGIN")  # ranked and shown as of one moment
            yield cx
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                raise
            raise StorageBusy(
                "the search took too long", remedy="ask for more words, or for one type"
            ) from error


def _query(wanted: Wanted) -> tuple[str, list[Any]]:
    parameters: list[Any] = []
    if wanted.match is not None:
        source = (
            f"SELECT rowid AS number, {_bm25(WEIGHTS)} AS cost, {_bm25(IN_THE_TEXT)} AS place"  # noqa: S608
            " FROM chunk_words WHERE chunk_words MATCH ?"
        )
        parameters.append(wanted.match)
    else:
        source = "SELECT number, 0.0 AS cost, 0.0 AS place FROM chunks"
    of_pieces = ["chunk_index >= 0"]
    for each in wanted.letters:
        of_pieces.append("(instr(chunk_text, ?) > 0 OR instr(title, ?) > 0)")
        parameters += [each, each]
    of_contents, more = let_through(wanted)
    sql = (
        f"WITH matching AS MATERIALIZED ({source}),"  # noqa: S608 - texts of ours
        # Number and cost are those of the row that has the least (SQLite's bare columns).
        " best AS (SELECT content_id, number, cost, min(place + 1e-9 * chunk_index),"
        " count(*) AS matches FROM matching JOIN chunks USING (number)"
        f" WHERE {' AND '.join(of_pieces)} GROUP BY content_id)"
        " SELECT content_id, content_type, title, source_path, metadata, number, cost, matches"
        " FROM best JOIN index_manifest USING (content_id)"
        f" WHERE {of_contents} ORDER BY cost, number"
    )
    return sql, [*parameters, *more]


def let_through(wanted: Wanted) -> tuple[str, list[Any]]:
    """The condition on `index_manifest` for what is let through, and its parameters."""
    conditions, parameters = [_IS_THERE], list[Any]()
    if wanted.types:
        conditions.append(f"content_type IN ({_places(wanted.types)})")
        parameters += wanted.types
    if wanted.tags:
        conditions.append(f"({_TAGGED.format(_places(wanted.tags))})")
        parameters += [*wanted.tags, *wanted.tags]
    return " AND ".join(conditions), parameters


def _bm25(weights: Sequence[float]) -> str:
    return f"bm25(chunk_words, {', '.join(map(str, weights))})"


def _places(values: Sequence[str]) -> str:
    return ", ".join("?" * len(values))


_IS_THERE: Final = (
    "(content_type <> 'session'"  # SESSION_CONTENT
    " OR EXISTS (SELECT 1 FROM sessions WHERE id = content_id))"
)
_TAGGED: Final = (
    "EXISTS (SELECT 1 FROM session_tags WHERE session_id = content_id AND tag IN ({0}))"
    " OR EXISTS (SELECT 1 FROM json_each("
    "CASE WHEN json_valid(metadata) THEN metadata ELSE '{{}}' END, '$.tags')"
    " WHERE content_type <> 'session' AND value IN ({0}))"
)


def _marked(
    cx: sqlite3.Connection, wanted: Wanted, row: sqlite3.Row, marks: tuple[str, str]
) -> sqlite3.Row:
    parameters: tuple[Any, ...] = (row["number"],)
    sql = "SELECT chunk_text AS marked, heading, position FROM chunks WHERE number = ?"
    if wanted.match is not None:
        parameters = (*marks, wanted.match, row["number"])
        sql = (
            "SELECT highlight(chunk_words, 2, ?, ?) AS marked, chunks.heading, position"
            " FROM chunk_words JOIN chunks ON number = chunk_words.rowid"
            " WHERE chunk_words MATCH ? AND chunk_words.rowid = ?"  # it goes to that one row
        )
    shown: sqlite3.Row = cx.execute(sql, parameters).fetchone()
    return shown


def to_found(row: sqlite3.Row, shown: sqlite3.Row) -> Found:
    """A content from its row and that of its piece."""
    try:
        metadata = json.loads(row["metadata"] or "{}")
    except (ValueError, TypeError):
        metadata = {}
    path = row["source_path"]
    return Found(
        content_id=str(row["content_id"]),
        content_type=str(row["content_type"]),
        title=str(row["title"] or ""),
        source_path=path if isinstance(path, str) else None,
        metadata=metadata if isinstance(metadata, dict) else {},
        number=row["number"],
        score=round(0.0 - float(row["cost"]), 6),
        matches=row["matches"],
        marked=str(shown["marked"]),
        heading=str(shown["heading"]),
        position=shown["position"],
    )
