from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from supervisor.events.redact import REPLACEMENT, Redactor

KEY = "sk-ant-canary-0123456789"
JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def with_key(value: Any, around: str) -> Any:
    """The value with the key put into every string of it."""
    if isinstance(value, str):
        return value + KEY + around
    if isinstance(value, list):
        return [with_key(item, around) for item in value]
    if isinstance(value, dict):
        return {name + KEY: with_key(item, around) for name, item in value.items()}
    return value


@given(JSON, st.text(max_size=3))
def test_a_secret_is_found_wherever_it_stands(value: Any, around: str) -> None:
    spoiled = with_key([value, ""], around)
    line = orjson.dumps(spoiled)
    redactor = Redactor([KEY])
    assert KEY.encode() in line
    assert redactor.may_be_in(line)
    assert KEY.encode() not in orjson.dumps(redactor.apply(spoiled))


@given(JSON)
def test_without_a_secret_nothing_changes(value: Any) -> None:
    assert Redactor([KEY]).apply(value) == value
    assert Redactor([]).apply(value) == value


def test_of_two_secrets_the_longer_one_is_replaced_whole() -> None:
    assert Redactor(["token", "token-long"]).text("a token-long b") == f"a {REPLACEMENT} b"


def test_a_secret_that_json_escapes_is_never_ruled_out() -> None:
    redactor = Redactor(['quo"te'])
    assert redactor.may_be_in(orjson.dumps({"a": 'quo"te'}))
    assert redactor.apply({"a": 'quo"te'}) == {"a": REPLACEMENT}


def test_blank_secrets_are_none_and_the_redactor_shows_none() -> None:
    assert Redactor(["", "  "]).text("a b") == "a b"
    assert KEY not in repr(Redactor([KEY]))


def test_bytes_and_endless_nesting_hide_nothing() -> None:
    deep: Any = KEY
    for _ in range(5000):
        deep = [deep]
    redactor = Redactor([KEY])
    assert redactor.apply(KEY.encode()) == REPLACEMENT
    assert KEY not in str(redactor.apply({"deep": deep}))
