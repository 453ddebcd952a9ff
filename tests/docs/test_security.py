"""docs/security.md and tests/security name each other: no promise untested, no attack unlisted."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (\d+) \| .* \| `(tests/security/test_inv_(\d+)_\*)` \|$", re.MULTILINE)


def test_each_invariant_is_attacked_by_a_test_that_is_there() -> None:
    rows = ROW.findall(PAGE)
    assert rows
    for number, pattern, named in rows:
        assert int(number) == int(named)
        assert list(ROOT.glob(pattern)), pattern


def test_each_attack_belongs_to_an_invariant_on_the_page() -> None:
    listed = {int(number) for number, _, _ in ROW.findall(PAGE)}
    for file in (ROOT / "tests" / "security").glob("test_*.py"):
        number = re.match(r"test_inv_(\d+)_", file.name)
        assert number, file.name
        assert int(number[1]) in listed, file.name
