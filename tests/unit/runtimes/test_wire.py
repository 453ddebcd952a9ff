"""The filter between a hostile process and the SDK (invariant 7), without any process."""

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.runtimes import frame_shapes, wire
from supervisor.runtimes.admitted import (
    Astray,
    Content,
    Control,
    Objection,
)
from supervisor.runtimes.wire import Wire
from tests.worlds.wire import (
    OTHER,
    PROJECTS,
    SESSION,
    a_wire,
    codes,
    fed,
    hook,
    line,
)


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_no_bytes_make_the_filter_raise(chunks: list[bytes]) -> None:
    target = a_wire()
    for chunk in chunks:
        list(target.feed(chunk))
    list(target.finish())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
_TYPES = st.sampled_from(
    ["system", "assistant", "control_request", "control_response", "control_cancel_request",
     "transcript_mirror", "session", "done", "permission_request", "result"]
)  # fmt: skip


@given(
    _TYPES,
    st.dictionaries(
        st.sampled_from(["request", "request_id", "response", "entries", "filePath", "session_id"]),
        _JSON,
    ),
)
def test_no_json_makes_the_filter_raise(kind: str, rest: dict[str, object]) -> None:
    fed({"type": kind, **rest})


@pytest.mark.parametrize(
    "kind", ["session", "done", "permission_resolved", "isolation", "error", "aborted", 7, None]
)
def test_an_event_that_only_the_supervisor_speaks_is_left_out(kind: object) -> None:
    admitted = fed({"type": kind, "sessionId": SESSION})
    assert codes(admitted) == ["unknown_frame"]
    assert len(admitted) == 1


def test_a_frame_that_names_another_session_is_left_out() -> None:
    assert codes(fed({"type": "assistant", "session_id": OTHER})) == ["foreign_session"]
    assert not codes(fed({"type": "assistant", "session_id": SESSION}))


def test_an_answer_counts_only_for_a_request_we_made_and_only_once() -> None:
    target = a_wire()
    answer = line(
        {"type": "control_response", "response": {"request_id": "q", "subtype": "success"}}
    )
    assert [type(each) for each in target.feed(answer)] == [Objection]
    target.sent(json.dumps({"type": "control_request", "request_id": "q", "request": {}}))
    assert [type(each) for each in target.feed(answer)] == [Control]
    assert list(target.feed(answer)) == []


@pytest.mark.parametrize("subtype", ["mcp_message", "set_permission_mode", "initialize", "", None])
def test_only_hooks_and_permission_requests_may_be_asked_of_us(subtype: object) -> None:
    assert codes(fed(hook(subtype=subtype))) == ["request_not_allowed"]


@pytest.mark.parametrize(
    "broken", [{"input": None}, {"input": {"tool_name": 1, "tool_input": {}}}, {"callback_id": []}]
)
def test_a_request_without_its_parts_never_reaches_the_sdk(broken: dict[str, object]) -> None:
    assert codes(fed(hook(**broken))) == ["bad_request"]


def test_open_requests_are_bounded() -> None:
    target = a_wire()
    asked = [
        each for n in range(wire.MAX_OPEN_REQUESTS + 1) for each in target.feed(line(hook(f"r{n}")))
    ]
    assert sum(isinstance(each, Control) for each in asked) == wire.MAX_OPEN_REQUESTS
    assert codes(asked) == ["too_many_requests"]
    answer = {"type": "control_response", "response": {"request_id": "r0"}}
    target.sent(json.dumps(answer))
    assert [type(each) for each in target.feed(line(hook("again")))] == [Control]


def test_a_cancellation_counts_only_for_a_request_of_the_process() -> None:
    cancel = {"type": "control_cancel_request", "request_id": "r1"}
    assert fed(cancel) == []
    assert [type(each) for each in fed(hook("r1"), cancel)] == [Control, Control]


def test_json_nested_beyond_the_limit_is_left_out() -> None:
    def nested(depth: int) -> bytes:
        return b'{"type":"system","x":' + b"[" * depth + b"]" * depth + b"}\n"

    assert [type(each) for each in a_wire().feed(nested(frame_shapes.MAX_DEPTH - 2))] == [Content]
    assert codes(list(a_wire().feed(nested(frame_shapes.MAX_DEPTH + 1)))) == ["too_deep"]
    assert codes(list(a_wire().feed(nested(100_000)))) == ["not_json"]


def test_a_line_of_very_many_small_values_is_not_even_parsed() -> None:
    target = a_wire()
    values = b"[" + b"[]," * (wire.MAX_VALUES // 2) + b"[]]"
    (objection,) = target.feed(b'{"type":"system","a":' + values + b"}\n")
    assert isinstance(objection, Objection)
    assert objection.code == "too_many_values"


def test_a_turns_output_is_bounded_and_its_result_still_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("supervisor.runtimes.wire.MAX_CONTENT_BYTES", 1000)
    target = a_wire()
    line = json.dumps({"type": "assistant", "x": "y" * 400}).encode() + b"\n"
    admitted = [each for _ in range(9) for each in target.feed(line)]
    assert [type(each).__name__ for each in admitted] == ["Content", "Content", "Objection"]
    (end,) = target.feed(b'{"type":"result"}\n')
    assert type(end).__name__ == "Content"


def test_control_requests_have_a_byte_budget_for_the_turn_and_for_those_that_are_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire, "MAX_OPEN_BYTES", 5_000)
    monkeypatch.setattr(wire, "MAX_CONTROL_BYTES", 9_000)
    big = {"tool_name": "Write", "tool_input": {"content": "A" * 2_000}}

    def asked(target: Wire, name: str) -> list[type]:
        return [type(each) for each in target.feed(line(hook(name, input=big)))]

    target = a_wire()
    assert [asked(target, "a"), asked(target, "b")] == [[Control], [Control]]
    assert asked(target, "c") == [Objection], "a third open one is too much"
    for name in "ab":
        target.sent(json.dumps({"type": "control_response", "response": {"request_id": name}}))
    assert [asked(target, "d"), asked(target, "e")] == [[Control], [Control]]
    for name in "de":
        target.sent(json.dumps({"type": "control_response", "response": {"request_id": name}}))
    assert asked(target, "f") == [], "the turn's budget is used up, which was said already"


@pytest.mark.parametrize(
    "long",
    [
        {"tool_use_id": "A" * 257},
        {"callback_id": "A" * 257},
        {"input": {"tool_name": "A" * 257, "tool_input": {}}},
        {"input": {"tool_name": "Bash", "tool_input": {}, "agent_id": "A" * 257}},
    ],
)
def test_names_and_ids_are_bounded(long: dict[str, object]) -> None:
    assert codes(fed(hook(**long))) == ["bad_request"]
    assert codes(fed(hook("r" * 257))) == ["bad_request"]


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "123456789012345678901234567890"]
)
def test_the_second_way_to_read_json_admits_no_more_than_the_first(number: str) -> None:
    raw = b'{"type":"system","x":"\\ud800","n":' + number.encode() + b"}\n"
    admitted = list(a_wire().feed(raw))
    frames = [each.frame for each in admitted if isinstance(each, Content)]
    for frame in frames:
        orjson.dumps(frame)


BEGUN: dict[str, object] = {"type": "system", "subtype": "init", "session_id": OTHER}


def test_a_process_that_takes_a_conversation_for_another_sessions_has_gone_astray() -> None:
    target = Wire(SESSION, PROJECTS, resumes=True)
    assert [type(each) for each in target.feed(line(BEGUN))] == [Astray, Objection]


def test_what_has_begun_as_the_sessions_own_can_not_be_said_to_have_gone_astray() -> None:
    target = Wire(SESSION, PROJECTS, resumes=True)
    own = line({**BEGUN, "session_id": SESSION})
    assert [type(each) for each in target.feed(own + line(BEGUN))] == [Content, Objection]


def test_a_foreign_session_is_only_left_out_where_none_was_given_or_nothing_is_begun() -> None:
    assert [type(each) for each in fed(BEGUN)] == [Objection]
    target = Wire(SESSION, PROJECTS, resumes=True)
    said = line({"type": "assistant", "session_id": OTHER})
    assert [type(each) for each in target.feed(said)] == [Objection]
