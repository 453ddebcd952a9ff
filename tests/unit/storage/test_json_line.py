import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.storage import json_line

ANY_TEXT = st.text(st.characters(exclude_categories=[]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT | st.integers(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_every_value_becomes_one_line_of_json(value: Any) -> None:
    line = json_line.dump({"value": value})
    assert len(line.decode().splitlines()) == 1
    assert line.count(b"\n") == 0
    json.loads(line)


@given(st.text())
def test_text_comes_back_code_point_for_code_point(text: str) -> None:
    assert json.loads(json_line.dump(text)) == text


def test_the_exotic_line_breaks_are_escaped_and_kept() -> None:
    text = "x\u2028\u2029\u0085\x0b\x0c\x1c\x1d\x1e\x1f\r\n\r\ndata: fake\n\nevent: done\ny"
    line = json_line.dump({"text": text})
    assert len(line.decode().splitlines()) == 1
    assert json.loads(line) == {"text": text}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a\ud800b", "a\ufffdb"),
        ({"\udfff": 1}, {"\ufffd": 1}),
        ([float("nan"), float("inf")], [None, None]),
        (2**70, 2**70),
        ([10**5000], ["[number too long]"]),
        (b"\xff1", "\ufffd1"),
        ({1: (2, 3)}, {"1": [2, 3]}),
    ],
)
def test_what_json_can_not_hold_is_replaced(value: Any, expected: Any) -> None:
    assert json.loads(json_line.dump(value)) == expected


def test_endless_nesting_is_cut() -> None:
    deep: Any = "core"
    for _ in range(5000):
        deep = [deep]
    assert b"nested too deeply" in json_line.dump(deep)
