"""What of a body could not be told again: named by its place, at any depth, in bounded time."""

from typing import Any

import pytest
from pydantic import ValidationError

from supervisor.api.tellable import DEEPEST, require_tellable

HALF = "\udc80"
TOLD = "\ufffd" * 3  # as pydantic tells such a key


def nested(levels: int, within: Any = 1) -> Any:
    for level in range(levels):
        within = [within] if level % 2 else {"a": within}
    return within


@pytest.mark.parametrize(
    ("given", "places"),
    [
        ({"a": [{"b": f"x{HALF}"}], "c": HALF}, [("a", 0, "b"), ("c",)]),
        ({HALF: 1}, [(TOLD,)]),
        ({"a": {HALF: HALF}}, [("a", TOLD), ("a", TOLD)]),
        (HALF, [()]),
        ({"a": nested(DEEPEST), "b": HALF}, [("a",), ("b",)]),
        ({"a": nested(100_000)}, [("a",)]),
    ],
    ids=["two texts", "a key", "a key and its text", "the whole", "deep", "very deep"],
)
def test_each_place_is_named(given: Any, places: list[tuple[str | int, ...]]) -> None:
    with pytest.raises(ValidationError) as refused:
        require_tellable(given)
    assert [each["loc"] for each in refused.value.errors()] == places


def test_of_very_many_faults_some_are_named() -> None:
    with pytest.raises(ValidationError) as refused:
        require_tellable([HALF] * 100_000)
    assert refused.value.error_count() == 20


@pytest.mark.parametrize(
    "given",
    [{"a": "🐝\0\u2028\uffff"}, nested(DEEPEST), [1.5, None, True, 10**400], "", {}],
    ids=["texts", "as deep as may be", "others", "no text", "nothing"],
)
def test_control_all_else_passes_as_it_is(given: Any) -> None:
    assert require_tellable(given) is given
