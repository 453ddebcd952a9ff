import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.gateway.budget import Usage
from supervisor.gateway.usage import BodyMeter, StreamMeter

START = {
    "type": "message_start",
    "message": {
        "usage": {
            "input_tokens": 100,
            "output_tokens": 1,
            "cache_read_input_tokens": 7,
            "cache_creation_input_tokens": 9,
            "cache_creation": {"ephemeral_1h_input_tokens": 4},
        }
    },
}
DELTA = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x" * 300}}
END = {"type": "message_delta", "usage": {"output_tokens": 42}}


def stream(*events: Any) -> Any:
    return b"".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events)


def metered(data: Any, *cuts: Any, prompt: Any = 0) -> Any:
    meter = StreamMeter()
    for start, end in zip((0, *cuts), (*cuts, len(data)), strict=True):
        meter.feed(data[start:end])
    return meter.result(prompt)


WHOLE = Usage(
    input_tokens=100,
    output_tokens=42,
    cache_read_tokens=7,
    cache_write_tokens=9,
    cache_write_1h_tokens=4,
)


@given(st.lists(st.integers(0, len(stream(START, DELTA, END))), max_size=12).map(sorted))
def test_a_stream_counts_the_same_however_it_is_cut_into_chunks(cuts: Any) -> None:
    assert metered(stream(START, DELTA, END), *cuts) == WHOLE


def test_line_ends_with_carriage_returns_count_as_well() -> None:
    assert metered(stream(START, END).replace(b"\n", b"\r\n")) == WHOLE


def test_a_stream_that_is_cut_before_its_count_is_charged_for_what_was_seen() -> None:
    usage = metered(stream(START, DELTA))
    assert usage.input_tokens == 100
    assert usage.output_tokens >= 100  # 300 bytes of text


def test_a_stream_that_never_began_is_charged_for_its_prompt() -> None:
    assert metered(b"", prompt=3000) == Usage(input_tokens=1000)


def test_the_newest_of_several_cumulative_counts_stands() -> None:
    late = {"type": "message_delta", "usage": {"output_tokens": 50, "input_tokens": 120}}
    usage = metered(stream(START, END, late))
    assert (usage.input_tokens, usage.output_tokens) == (120, 50)


@given(st.binary(max_size=400))
def test_no_bytes_make_a_meter_fail(data: Any) -> None:
    for meter in (StreamMeter(), BodyMeter()):
        meter.feed(b"data: " + data + b"\n")
        assert meter.result(10).input_tokens >= 0


@pytest.mark.parametrize("value", [-5, "12", True, 1.5, None, [], {}])
def test_counts_that_are_no_counts_are_not_believed(value: Any) -> None:
    body = json.dumps({"usage": {"input_tokens": value, "output_tokens": 3}}).encode()
    meter = BodyMeter()
    meter.feed(body)
    assert meter.result(0) == Usage(output_tokens=3)


def test_a_body_is_counted_when_it_is_whole() -> None:
    meter = BodyMeter()
    meter.feed(b'{"usage": {"input_tokens"')
    meter.feed(b': 5, "output_tokens": 6}}')
    assert meter.result(9999) == Usage(input_tokens=5, output_tokens=6)


def test_a_line_without_end_takes_no_memory_without_end() -> None:
    meter = StreamMeter()
    for _ in range(12):
        meter.feed(b"data: " + b"x" * 1024 * 1024)
    assert len(meter._rest) <= 4 * 1024 * 1024
    meter.feed(b"\n" + stream(START, END))
    assert meter.result(0).output_tokens == 42
