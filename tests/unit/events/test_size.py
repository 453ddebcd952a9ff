"""What is left of an event that is too large: its form, its own fields, and the start of texts."""

import json
from itertools import repeat
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.events.redact import Redactor
from supervisor.events.size import LARGEST_EVENT, cut, is_light
from supervisor.storage import json_line

MANY = 3_000_000
ENVELOPE = {"turn_id": "turn_1", "ts": "2026-01-01T00:00:00+00:00", "session_id": "s" * 36}


def nested(depth: int, inside: Any) -> Any:
    for _ in range(depth):
        inside = [inside]
    return inside


HEAVY = {
    "a long text": {"response": "x" * MANY * 4},
    "control characters": {"response": "\x00" * MANY},
    "line separators": {"response": "\u2028" * MANY},
    "two long texts": {"response": "x" * MANY * 3, "partial": "y" * MANY * 3},
    "many denials": {"denials": [{"reason": "r" * 500, "tool": "Read"}] * 100_000},
    "many fields": {"input": {str(n): "x" * 100 for n in range(200_000)}},
    "many numbers": {"input": {"n": [1.0e300] * 1_000_000}},
    "a long number": {"input": {"n": 10 ** (MANY // 1000), "x": "x" * MANY * 4}},
    "a long key": {"input": {"k" * MANY * 4: 1}},
    "deep": {"input": nested(5_000, "x" * MANY * 4)},
    "bytes": {"input": {"x": b"x" * MANY * 4}},
    "lone surrogates": {"response": "\ud800" * MANY},
}


@pytest.mark.parametrize("event", HEAVY.values(), ids=HEAVY.keys())
def test_a_heavy_event_is_cut_below_the_limit_and_keeps_envelope_and_fields(event: Any) -> None:
    whole = ENVELOPE | {"type": "done"} | event | {"spending": {"requests": 3}, "model": "m"}
    made = cut(whole, str)
    line = json_line.dump(made)
    assert len(line) <= LARGEST_EVENT
    found = json.loads(line)
    assert {**found, **ENVELOPE} == found
    assert (found["type"], found["spending"], found["model"]) == ("done", {"requests": 3}, "m")
    assert list(found) == list(whole)
    assert b"cut]" in line or b"nested" in line or b"null" in line


def test_the_longest_text_is_cut_first_and_says_by_how_much() -> None:
    made = cut({"short": "s" * 10_000, "long": "x" * 20_000_000}, str)
    assert made["short"] == "s" * 10_000
    kept, _, note = made["long"].partition("…")
    assert len(kept) > 500_000
    assert note == f" [{20_000_000 - len(kept)} characters cut]"


def test_a_secret_across_the_cut_leaves_nothing_behind() -> None:
    secret = "sk-CANARY-0123456789"
    redactor = Redactor([secret])
    for shift in range(len(secret)):
        made = cut({"x": "." * shift + secret * 500_000}, redactor.text)
        assert "CANARY" not in made["x"]
        assert "sk-" not in made["x"]


def test_looking_at_a_value_without_end_has_an_end() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert not is_light(endless, 100)
    assert not is_light(list(repeat("x", 1_000)), 999)
    assert is_light(list(repeat("x", 1_000)), 1_000)
    assert not is_light([0] * 100, 100, values=100)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(1 << 63), 1 << 63) | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_what_is_small_is_left_as_it_is(value: Any) -> None:
    whole = {"type": "x", "value": value}
    assert is_light(whole, 1_000_000)
    assert json.loads(json_line.dump(cut(whole, str))) == json.loads(json_line.dump(whole))
