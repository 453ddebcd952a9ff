"""The engine's stream is taken apart byte for byte, however it arrives."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.runtimes.container.frames import MAX_FRAME, BadFrame, Demultiplexer


def frame(stream: int, payload: bytes) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(payload).to_bytes(4, "big") + payload


FRAMES = st.lists(st.tuples(st.sampled_from([1, 2, 3]), st.binary(max_size=40)), max_size=12)


@given(FRAMES, st.lists(st.integers(1, 17), min_size=1, max_size=8))
def test_any_cutting_of_the_stream_gives_the_same_bytes(frames: Any, steps: Any) -> None:
    stream = b"".join(frame(kind, payload) for kind, payload in frames)
    demultiplexer = Demultiplexer()
    stdout = stderr = b""
    at = turn = 0
    while at < len(stream):
        step = steps[turn % len(steps)]
        output = demultiplexer.feed(stream[at : at + step])
        stdout += output.stdout
        stderr += output.stderr
        at, turn = at + step, turn + 1
    assert stdout == b"".join(payload for kind, payload in frames if kind == 1)
    assert stderr == b"".join(payload for kind, payload in frames if kind != 1)


@pytest.mark.parametrize(
    "header",
    [
        bytes([0, 0, 0, 0, 0, 0, 0, 1]),
        bytes([4, 0, 0, 0, 0, 0, 0, 1]),
        bytes([1, 1, 0, 0, 0, 0, 0, 1]),
        b"HTTP/1.1",
        bytes([1, 0, 0, 0]) + (MAX_FRAME + 1).to_bytes(4, "big"),
    ],
)
def test_what_is_no_frame_is_refused(header: Any) -> None:
    with pytest.raises(BadFrame):
        Demultiplexer().feed(header)


@given(st.binary(max_size=200))
def test_any_bytes_are_followed_or_refused(data: Any) -> None:
    demultiplexer = Demultiplexer()
    try:
        output = demultiplexer.feed(data)
    except BadFrame:
        return
    assert len(output.stdout) + len(output.stderr) <= len(data)


def test_a_claimed_length_costs_no_memory() -> None:
    demultiplexer = Demultiplexer()
    tracemalloc.start()
    try:
        demultiplexer.feed(bytes([1, 0, 0, 0]) + MAX_FRAME.to_bytes(4, "big") + b"x")
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
