"""One member of a JSON text is changed, and all the rest stays byte for byte."""

import json

import pytest

from supervisor.mcp.json_places import NotJson, read_object

TEXT = '{\n    "b": {"x": 1.50, "y": 1e400},\n    "a": [1,2],\n\n    "c": "ü"\n}\n'


def test_a_changed_member_leaves_the_others_as_they_were() -> None:
    changed = read_object(TEXT).put("a", {"k": ["v"]})
    before, _, after = TEXT.partition("[1,2]")
    assert changed.startswith(before)
    assert changed.endswith(after)
    assert json.loads(changed)["a"] == {"k": ["v"]}


@pytest.mark.parametrize("text", ["{}", "{ }", "{\n}\n", '{"a": 1}', TEXT, '{\r\n\t"a": 1\r\n}'])
def test_a_new_member_is_the_last_and_looks_like_the_others(text: str) -> None:
    changed = read_object(text).put("n", {"command": "x"})
    assert list(json.loads(changed)) == [*json.loads(text), "n"]
    assert read_object(changed).without("n") in {text, text.replace("{ }", "{}"), "{}\n", "{}"}
    if "\r\n" in text:
        assert "\n" not in changed.replace("\r\n", "")
        assert '\r\n\t"n": {\r\n\t\t"command"' in changed


@pytest.mark.parametrize("key", ["a", "b", "c"])
def test_each_member_can_be_taken_out(key: str) -> None:
    left = json.loads(read_object(TEXT).without(key))
    assert list(left) == [each for each in "bac" if each != key]


def test_an_object_within_is_found_and_changed_in_its_place() -> None:
    text = '{"x": 1, "inner": {\n  "a": {}\n}, "y": 2}'
    inner = read_object(text).member("inner")
    assert inner is not None
    changed = read_object(text, inner.value_at, alone=False).put("b", {"c": 1})
    assert json.loads(changed) == {"x": 1, "inner": {"a": {}, "b": {"c": 1}}, "y": 2}


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("", 0),
        ("[]", 0),
        ("{", 1),
        ('{"a": 1,}', 8),
        ('{"a": 1 "b": 2}', 8),
        ('{"a" 1}', 5),
        ("{a: 1}", 1),
        ('{"a": nul}', 6),
        ('{"a": NaN}', 6),
        ('{"a": "x\ny"}', 8),
        ('{"a": 1} x', 9),
        ('{"a": 1, "a": 2}', 9),
        ('{"a": // no\n 1}', 6),
        ('{"a":' + "[" * 100_000 + "}", 5),
        ('{"a":' + "[" * 100 + "]" * 100 + "}", 5),
    ],
)
def test_what_is_no_json_is_said_with_its_place(text: str, at: int) -> None:
    with pytest.raises(NotJson) as caught:
        read_object(text)
    assert caught.value.at == at
