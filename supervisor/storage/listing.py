"""The queries of the list of sessions: each is read from an index, whatever is filtered by.

For each set of filters there is an index that ends in `last_accessed`; its entries end in the row's
number, by which ties are broken. So a page costs what its rows cost, however many there are. Those
of a tag are found by it and sorted: such a page costs what the sessions with the tag cost.
"""

from dataclasses import dataclass
from typing import Any, Final

from supervisor.storage.cursor import parse_cursor
from supervisor.storage.session_row import POSITION

# As the indexes have it: whatever stands there by hand, a row is in one of the two lists.
_ARCHIVED: Final = "(archived <> 0)"
_BEHIND_ALL: Final = "\U0010ffff"
_COLUMNS: Final = f"rowid AS {POSITION}, *"
_TAGGED: Final = "id IN (SELECT session_id FROM session_tags WHERE tag = ?)"


@dataclass(frozen=True, slots=True)
class Query:
    """A statement and its parameters."""

    sql: str
    parameters: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a session has to be to be listed; None: anything."""

    module: str | None = None
    archived: bool | None = None
    agent_type: str | None = None
    workspace: str | None = None
    tag: str | None = None


def page(filters: Filters, limit: int, offset: int = 0, before: str | None = None) -> Query:
    """Up to `limit` sessions that the filters let through, the last accessed first.

    `before` is the cursor that they come after. Raises InvalidRequest for one that is none.
    """
    conditions, parameters = _conditions(filters)
    if before is not None:
        place = parse_cursor(before)
        if place.moment is None:
            moment = "(SELECT last_accessed FROM sessions WHERE rowid = ?)"
            parameters += [place.position, place.position]
        else:
            moment = "?"
            parameters += [place.moment, place.position]
        conditions.append(f"({_column('last_accessed', filters)}, rowid) < ({moment}, ?)")
    if filters.tag is None:
        sql, repeated = _select(_COLUMNS, conditions, filters.archived)
    else:
        conditions += _put_away(filters)
        sql, repeated = f"SELECT {_COLUMNS} FROM sessions{_where(conditions)}", 1  # noqa: S608 - constants
    return Query(
        f"{sql} ORDER BY {_column('last_accessed', filters)} DESC, {POSITION} DESC"
        " LIMIT ? OFFSET ?",
        (*parameters * repeated, limit, offset),
    )


def beginning(text: str, limit: int) -> Query:
    """Up to `limit` sessions whose id begins so, by their ids: a range of the primary key."""
    return Query(
        f"SELECT {_COLUMNS} FROM sessions WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",  # noqa: S608
        (text, text + _BEHIND_ALL, limit),
    )


def count(filters: Filters) -> Query:
    """How many sessions the filters let through, as the column `found`."""
    conditions, parameters = _conditions(filters)
    conditions += _put_away(filters)
    return Query(
        f"SELECT count(*) AS found FROM sessions{_where(conditions)}",  # noqa: S608 - constants
        tuple(parameters),
    )


def _select(columns: str, conditions: list[str], archived: bool | None) -> tuple[str, int]:
    """The query, and how many times it takes the parameters.

    Both kinds, archived and not, are two sorted lists that are read side by side.
    """
    if archived is None and not conditions:
        return f"SELECT {columns} FROM sessions", 1  # noqa: S608 - constants
    kinds = (False, True) if archived is None else (archived,)
    parts = [
        f"SELECT {columns} FROM sessions{_where([*conditions, f'{_ARCHIVED} = {int(kind)}'])}"  # noqa: S608
        for kind in kinds
    ]
    return " UNION ALL ".join(parts), len(parts)


def _conditions(filters: Filters) -> tuple[list[str], list[Any]]:
    given = [
        (f"{_column(column, filters)} = ?", value)
        for column, value in (
            ("module", filters.module),
            ("agent_type", filters.agent_type),
            ("workspace", filters.workspace),
        )
        if value is not None
    ]
    if filters.tag is not None:
        given.append((_TAGGED, filters.tag))
    return [condition for condition, _ in given], [value for _, value in given]


def _put_away(filters: Filters) -> list[str]:
    if filters.archived is None:
        return []
    return [f"{_column(_ARCHIVED, filters)} = {int(filters.archived)}"]


def _column(name: str, filters: Filters) -> str:
    """The column; with a tag so that no index of it is used in place of the tag's."""
    return name if filters.tag is None else f"+{name}"


def _where(conditions: list[str]) -> str:
    return f" WHERE {' AND '.join(conditions)}" if conditions else ""
