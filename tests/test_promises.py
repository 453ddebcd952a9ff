"""The ledger of promises holds in both directions, and the security page speaks of it too."""

import ast
from pathlib import Path

import pytest

from tests.promises import INVARIANTS, LEDGER, Promise

TESTS = Path(__file__).parent


def functions(file: Path) -> set[str]:
    tree = ast.parse(file.read_text())
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
    }


@pytest.mark.parametrize("promise", LEDGER, ids=lambda promise: promise.id)
def test_every_promise_has_tests_that_exist(promise: Promise) -> None:
    assert promise.tests
    for named in promise.tests:
        file, _, prefix = named.partition("::")
        found = functions(TESTS / file)
        assert any(name.startswith(prefix) for name in found), f"{named} names no test"


def test_every_attack_and_every_field_report_belongs_to_a_promise() -> None:
    claimed = {named.partition("::")[0] for promise in LEDGER for named in promise.tests}
    files = [*TESTS.glob("security/test_*.py"), *TESTS.glob("integration/test_field_*.py")]
    unclaimed = {str(file.relative_to(TESTS)) for file in files} - claimed
    assert not unclaimed


def test_ids_are_unique() -> None:
    ids = [promise.id for promise in LEDGER]
    assert len(ids) == len(set(ids))


def test_the_security_page_lists_the_same_invariants() -> None:
    page = (TESTS.parent / "docs" / "security.md").read_text()
    for promise in INVARIANTS:
        number = int(promise.id.removeprefix("INV-"))
        assert f"| {number} |" in page, promise.id
