"""A call passes by a permit for just it: the tool's name, the whole input, and once."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from supervisor.mcp.permits import Permits

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
INPUTS = st.dictionaries(st.text(max_size=4), JSON, max_size=3)


@given(INPUTS)
def test_a_permit_lets_one_call_pass(call: dict[str, Any]) -> None:
    permits = Permits()
    assert permits.take("t", call) is None
    permits.give("t", call)
    assert permits.take("t", json.loads(json.dumps(call))) == call
    assert permits.take("t", call) is None


@given(INPUTS, INPUTS)
def test_another_input_does_not_pass(allowed: dict[str, Any], sent: dict[str, Any]) -> None:
    permits = Permits()
    permits.give("t", allowed)
    same = json.dumps(allowed, sort_keys=True) == json.dumps(sent, sort_keys=True)
    assert (permits.take("t", sent) is not None) == same


def test_another_tool_does_not_pass_and_two_permits_are_two_calls() -> None:
    permits = Permits()
    permits.give("t", {"a": 1})
    permits.give("t", {"a": 1})
    assert not permits.take("u", {"a": 1})
    assert [permits.take("t", {"a": 1}) for _ in range(3)] == [{"a": 1}, {"a": 1}, None]


def test_numbers_and_words_that_look_alike_are_told_apart() -> None:
    permits = Permits()
    permits.give("t", {"a": 1})
    assert not any(permits.take("t", {"a": each}) for each in ("1", True, [1], None, {"1": 1}))
    assert not permits.take("t", {})
    assert permits.take("t", {"a": 1})


def test_what_was_allowed_is_sent_and_no_other_order_of_names_that_could_say_something() -> None:
    permits = Permits()
    allowed = {"a": 1, "b": {"c": "ä", "d": [{"e": 1, "f": 2}]}}
    permits.give("t", allowed)
    sent = permits.take("t", {"b": {"d": [{"f": 2, "e": 1}], "c": "ä"}, "a": 1})
    assert json.dumps(sent) == json.dumps(allowed)
