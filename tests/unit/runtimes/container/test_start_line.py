"""Both halves of the start line: what the supervisor builds, the entry program understands."""

import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner_image import start_line as inside
from supervisor.errors import InvalidRequest
from supervisor.runtimes.container.start_line import (
    MAX_ARGUMENT_BYTES,
    MAX_BYTES,
    Resume,
    StartLine,
    encode,
)

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
NAME = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", min_size=1, max_size=12)
CONFIG = {"CLAUDE_CONFIG_DIR": "/home/agent/.claude"}


def understood(sent: bytes, after: bytes = b"") -> tuple[inside.StartLine | None, bytes]:
    """What the entry makes of these bytes on its input, and what it left unread."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # a pipe holds less than a start line may have
        os.close(reader)
        view = memoryview(sent + after)
        while view:
            view = view[os.write(writer, view) :]
        os._exit(0)
    os.close(writer)
    try:
        line = inside.read_start_line(reader)
        left = b""
        while piece := os.read(reader, 1 << 16):
            left += piece
        return line, left
    finally:
        os.close(reader)
        os.waitpid(child, 0)


@given(st.lists(TEXT, max_size=6), st.dictionaries(NAME, TEXT, max_size=6), TEXT)
def test_what_is_built_is_understood_as_it_was_meant(arguments: Any, env: Any, cwd: Any) -> None:
    line = StartLine(("/bin/true", *arguments), "/" + cwd, env)
    body = encode(line)[inside.HEADER_BYTES :]
    found = inside.parse(body)
    assert found.argv == [each.encode() for each in line.argv]
    assert found.env == {name.encode(): value.encode() for name, value in env.items()}
    assert found.cwd == line.cwd.encode()
    assert found.session == b""


def test_a_transcript_has_its_place() -> None:
    found = inside.parse(encode(StartLine(("/x",), "/", CONFIG, Resume("-vault", "s1")))[9:])
    assert (found.project, found.session) == (b"-vault", b"s1")


def test_not_one_byte_of_what_follows_is_taken() -> None:
    line, left = understood(encode(StartLine(("/x",), "/")), b'{"type":"user"}\n')
    assert line is not None
    assert left == b'{"type":"user"}\n'


def test_a_long_line_arrives_whole() -> None:
    arguments = ("/x", *["y" * 100_000] * 9)
    line, left = understood(encode(StartLine(arguments, "/")), b"next")
    assert line is not None
    assert [len(each) for each in line.argv] == [2, *[100_000] * 9]
    assert left == b"next"


def test_an_input_that_closes_first_is_no_error() -> None:
    assert understood(b"") == (None, b"")


@pytest.mark.parametrize(
    "sent",
    [
        b"0",
        b"0000000",
        b"0000000A\nxxxxxxxxxx",
        b"0x00000a\nxxxxxxxxxx",
        b"+0000010\n" + b"x" * 16,
        b"00000010 " + b"x" * 16,
        b"ffffffff\n",
        b"%08x\n" % (MAX_BYTES + 1),
        b"00000010\nshort",
    ],
)
def test_what_is_no_start_line_is_refused(sent: Any) -> None:
    with pytest.raises(inside.BadStartLine):
        understood(sent)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\0",
        b"no end",
        b"/\0\0\0",
        b"/\0\0\0x\0/x\0",
        b"/\0\0\x000\0",
        b"/\0\0\x002\0/x\0",
        b"/\0\0\x00-1\0/x\0",
        b"relative\0\0\x001\0/x\0",
        b"/\0\0\x001\0relative\0",
        b"/\0\0\x001\0/x\0NO-EQUALS\0",
        b"/\0\0\x001\0/x\0=value\0",
        b"/\0\0\x001\0/x\0A=1\0A=2\0",
        b"/\0p\0s\x001\0/x\0",
        b"/\0..\0s\x001\0/x\0CLAUDE_CONFIG_DIR=/c\0",
        b"/\0a/b\0s\x001\0/x\0CLAUDE_CONFIG_DIR=/c\0",
        b"/\0p\0\x001\0/x\0CLAUDE_CONFIG_DIR=/c\0",
        b"/\0p\0s\x001\0/x\0CLAUDE_CONFIG_DIR=relative\0",
    ],
)
def test_an_impossible_body_is_refused(body: Any) -> None:
    with pytest.raises(inside.BadStartLine):
        inside.parse(body)


@given(st.binary(max_size=80))
def test_any_body_is_understood_or_refused(body: Any) -> None:
    try:
        found = inside.parse(body)
    except inside.BadStartLine:
        return
    assert found.argv[0].startswith(b"/")


@pytest.mark.parametrize(
    ("line", "where"),
    [
        (StartLine((), "/"), "argv"),
        (StartLine(("x",), "/"), "argv"),
        (StartLine(("/x", "a\0b"), "/"), "argv"),
        (StartLine(("/x", "é" * (MAX_ARGUMENT_BYTES // 2 + 1)), "/"), "argv"),
        (StartLine(("/x",), "vault"), "cwd"),
        (StartLine(("/x",), "/", {"A=B": "c"}), "env"),
        (StartLine(("/x",), "/", {"": "c"}), "env"),
        (StartLine(("/x",), "/", {"A": "c\0"}), "env"),
        (StartLine(("/x",), "/", {}, Resume("p", "s")), "env"),
        (StartLine(("/x",), "/", CONFIG, Resume("../p", "s")), "resume"),
        (StartLine(("/x",), "/", CONFIG, Resume("p", "")), "resume"),
        (StartLine(("/x", *["y" * 100_000] * 11), "/"), "start line"),
    ],
)
def test_the_supervisor_refuses_first_what_the_entry_would(line: Any, where: Any) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        encode(line)
    assert refusal.value.where == where


def test_the_bounds_of_both_halves_are_the_same() -> None:
    assert inside.MAX_BYTES == MAX_BYTES
