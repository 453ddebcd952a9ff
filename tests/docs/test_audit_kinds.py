"""Each kind of audit entry can be asked for, and is on the page of them and in the console."""

import ast
import re
from pathlib import Path

from supervisor.observability.audit_kinds import AuditKind

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "supervisor"
WRITERS = {"record", "_record", "append"}
ENTRY = 4
"""What an entry is made of: its kind, its session, its turn, its body."""


def written() -> set[str]:
    """The kinds that the source writes by name."""
    found = set()
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(attr=name) | ast.Name(id=name),
                    args=[ast.Constant(value=str(kind)), *rest],
                ) if name in WRITERS and len(rest) == ENTRY - 1:
                    found.add(kind)
    return found


def test_each_kind_that_is_written_is_one_of_those_that_can_be_asked_for() -> None:
    kinds = written()
    assert {"server", "kill", "grant", "access"} <= kinds
    assert kinds <= set(AuditKind)


def test_the_page_says_of_each_kind_when_it_is_written() -> None:
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
    (table,) = re.findall(r"\| kind \| written \| says \|\n\|.*\n((?:\|.*\n)+)", page)
    rows = [row.split("|")[1] for row in table.splitlines()]
    assert {kind for row in rows for kind in re.findall(r"`(\w+)`", row)} == set(AuditKind)


def test_the_console_filters_by_each_kind() -> None:
    view = (SOURCE / "console" / "static" / "views" / "audit.js").read_text("utf-8")
    (listed,) = re.findall(r"^const KINDS = \[(.*)\];$", view, re.MULTILINE)
    assert set(re.findall(r'"(\w+)"', listed)) == set(AuditKind)
