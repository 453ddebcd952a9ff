"""An audit log as somebody else gets it: lines that they can check themselves, or a table."""

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

COLUMNS: Final = (
    "n", "ts", "kind", "session_id", "turn_id", "tool", "verdict", "rule", "by", "prev", "hash",
    "entry",
)  # fmt: skip
"""Of the table. `entry` is the whole line: what its hash is over, and what is checked."""

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for a formula at the beginning of a cell."""


def as_table(lines: Iterable[bytes]) -> Iterator[str]:
    """CSV with a heading; a cell that a spreadsheet would run is shown behind an apostrophe."""
    yield _row(COLUMNS)
    for line in lines:
        entry = json.loads(line)
        body = entry.get("body")
        told: dict[str, Any] = body if isinstance(body, dict) else {}
        known = {**{name: told.get(name) for name in ("tool", "verdict", "rule", "by")}, **entry}
        cells = [known.get(name) for name in COLUMNS[:-1]]
        yield _row([*map(_cell, cells), line.decode().rstrip("\n")])


def lines_of_table(text: Iterable[str]) -> Iterator[bytes]:
    """The lines that a table was made of. Raises ValueError for another table."""
    csv.field_size_limit(1 << 30)
    rows = csv.DictReader(text)
    if "entry" not in (rows.fieldnames or ()):
        raise ValueError("there is no column `entry`")
    return (str(row["entry"]).encode() + b"\n" for row in rows)


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return "'" + text if text.startswith(_FORMULA) else text


def _row(cells: Iterable[object]) -> str:
    line = io.StringIO()
    csv.writer(line).writerow(cells)
    return line.getvalue()
