"""The filter between a hostile process and the SDK (invariant 7), without any process."""

import itertools
import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.runtimes import frame_shapes, objections, wire
from supervisor.runtimes.admitted import (
    Astray,
    Content,
    Control,
    Flooded,
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


def test_frames_are_the_same_however_the_bytes_are_cut() -> None:
    frames = [
        {"type": "system", "subtype": "init", "n": n, "text": "ü\u2028" * n} for n in range(9)
    ]
    stream = b"".join(line(frame) for frame in frames)
    for size in (1, 2, 3, 7, 64, len(stream)):
        target = a_wire()
        admitted = [
            each
            for start in range(0, len(stream), size)
            for each in target.feed(stream[start : start + size])
        ]
        assert [each.frame for each in admitted if isinstance(each, Content)] == frames


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


def test_a_line_at_the_limit_passes_and_one_above_it_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire, "MAX_LINE_BYTES", 1000)
    frame = line({"type": "system", "x": ""})
    fits = line({"type": "system", "x": "y" * (1001 - len(frame))})
    assert len(fits) == 1001  # 1000 bytes and the line's end
    target = a_wire()
    assert [type(each) for each in target.feed(fits)] == [Content]
    over = line({"type": "system", "x": "y" * (1002 - len(frame))})
    after = line({"type": "system", "x": "after"})
    admitted = [
        each
        for start in range(0, len(over), 100)
        for each in target.feed(over[start : start + 100])
    ]
    admitted += target.feed(after)
    assert codes(admitted) == ["line_too_long"]
    assert [each.frame["x"] for each in admitted if isinstance(each, Content)] == ["after"]


def test_an_endless_line_takes_no_more_memory_than_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire, "MAX_LINE_BYTES", 10_000)
    target = a_wire()
    for _ in range(1000):
        list(target.feed(b"x" * 1000))
    assert len(target._pending) <= 11_000


@pytest.mark.parametrize("raw", [b"\xff\xfe\x00", b"hello", b"[1]", b'"x"', b"{", b"\x00" * 50])
def test_binary_and_broken_lines_are_left_out_and_said_once(raw: bytes) -> None:
    target = a_wire()
    admitted = [*target.feed(raw + b"\n"), *target.feed(raw + b"\n"), *target.finish()]
    assert codes(admitted) == ["not_json", "not_json"]
    assert "2 such lines" in admitted[-1].message  # type: ignore[union-attr]


def test_what_was_left_out_once_is_not_told_of_again_at_the_end() -> None:
    target = a_wire()
    assert codes(list(target.feed(b"no frame\n"))) == ["not_json"]
    assert list(target.finish()) == []


def test_half_a_character_is_replaced_and_not_fatal() -> None:
    admitted = list(a_wire().feed(b'{"type":"system","x":"a\\ud83d"}\n'))
    assert [each.frame["x"] for each in admitted if isinstance(each, Content)] == [
        "a\N{REPLACEMENT CHARACTER}"
    ]


def test_json_nested_beyond_the_limit_is_left_out() -> None:
    def nested(depth: int) -> bytes:
        return b'{"type":"system","x":' + b"[" * depth + b"]" * depth + b"}\n"

    assert [type(each) for each in a_wire().feed(nested(frame_shapes.MAX_DEPTH - 2))] == [Content]
    assert codes(list(a_wire().feed(nested(frame_shapes.MAX_DEPTH + 1)))) == ["too_deep"]
    assert codes(list(a_wire().feed(nested(100_000)))) == ["not_json"]


_FRAME = json.dumps({"type": "system", "session_id": SESSION}).encode()
_PIECES = st.sampled_from(
    [b"", b" ", b"x", b"\r", b"[1]", b"{", b"}", b'"{"', _FRAME, b"\t " + _FRAME]
)


@given(lines=st.lists(_PIECES, max_size=30), cuts=st.lists(st.integers(0, 600), max_size=6))
def test_frames_are_found_among_any_junk_however_it_is_cut(
    lines: list[bytes], cuts: list[int]
) -> None:
    target, sent = a_wire(), b"\n".join(lines) + b"\n"
    places = [0, *sorted(each for each in cuts if each < len(sent)), len(sent)]
    admitted = [
        each for start, end in itertools.pairwise(places) for each in target.feed(sent[start:end])
    ] + list(target.finish())
    frames = [each for each in admitted if isinstance(each, Content)]
    assert len(frames) == sum(line.strip() == _FRAME for line in lines)
    junk = sum(line.strip() not in (b"", _FRAME) for line in lines)
    assert ("not_json" in codes(admitted)) is (junk > 0)


def test_blank_lines_are_told_of_once_there_are_very_many() -> None:
    target = a_wire()
    assert not list(target.feed(b"\n" * objections.MAX_BLANK_LINES))
    assert codes(list(target.feed(b"\r\n" * 10))) == ["blank_lines"]
    assert not list(target.feed(b"\n" * 10))


def test_a_million_frames_that_mean_nothing_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("supervisor.runtimes.objections.MAX_OBJECTIONS", 100)
    target = a_wire()
    assert codes(list(target.feed(b"{}\n" * 100))) == ["unknown_frame"]
    list(target.feed(b"x\n" * 1000))  # what can't be a frame isn't read, and may come
    with pytest.raises(Flooded):
        list(target.feed(b"{}\n"))


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
    assert isinstance(next(target.feed(line(BEGUN))), Astray)


def test_a_foreign_session_is_only_left_out_where_none_was_given() -> None:
    assert codes(fed(BEGUN)) == ["foreign_session"]
