"""A hostile process's bytes become lines, whatever they are and however they are cut."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.runtimes import objections, wire
from supervisor.runtimes.admitted import (
    Content,
    Flooded,
)
from tests.worlds.wire import (
    SESSION,
    a_wire,
    codes,
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


@pytest.mark.parametrize("piece", [1, 7, 333, 1000, 1001, 5000])
@pytest.mark.parametrize("more", [-1, 0, 1, 2, 1000, 3000])
def test_what_a_line_s_length_decides_is_the_same_however_it_is_cut(
    monkeypatch: pytest.MonkeyPatch, piece: int, more: int
) -> None:
    monkeypatch.setattr(wire, "MAX_LINE_BYTES", 1000)
    empty = len(line({"type": "system", "x": ""})) - 1
    sent = line({"type": "system", "x": "y" * (1000 - empty + more)})
    sent += line({"type": "system", "x": "after"})
    target = a_wire()
    admitted = [
        each
        for start in range(0, len(sent), piece)
        for each in target.feed(sent[start : start + piece])
    ]
    assert codes(admitted) == (["line_too_long"] if more > 0 else [])
    frames = [each.frame["x"] for each in admitted if isinstance(each, Content)]
    assert (len(frames), frames[-1]) == (1 if more > 0 else 2, "after")


def test_a_last_line_without_an_end_counts_once_the_output_has_closed() -> None:
    target = a_wire()
    whole = line({"type": "system", "x": "last"})
    assert not target.is_amid_a_line
    assert list(target.feed(whole[:-1])) == []
    assert target.is_amid_a_line
    assert [type(each) for each in target.finish()] == [Content]
    assert list(target.finish()) == []


def test_a_line_that_is_too_long_is_still_one_until_it_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(wire, "MAX_LINE_BYTES", 1000)
    target = a_wire()
    list(target.feed(b"x" * 2000))
    assert target.is_amid_a_line
    list(target.feed(b"x\n"))
    assert not target.is_amid_a_line


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
