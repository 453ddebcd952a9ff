"""What an attachment is, its bytes say; what can't come along is refused with its place."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.errors import InvalidRequest
from supervisor.sessions.attachments import (
    LARGEST,
    LARGEST_TOGETHER,
    MOST,
    Attachment,
    attached,
    with_texts,
)
from supervisor.sessions.message import Message, text_of

PNG = b"\x89PNG\r\n\x1a\n rest"


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0 rest", "image/jpeg"),
        (b"GIF89a rest", "image/gif"),
        (b"RIFF\n\r\n\0WEBPVP8 ", "image/webp"),
        (b"%PDF-1.7\n", "application/pdf"),
        (b"a: text\n", "text/plain"),
        ("\ufeffé".encode(), "text/plain"),
    ],
)
def test_the_bytes_say_what_it_is(content: bytes, media_type: str) -> None:
    (made,) = attached([Attachment("photo.exe", content)])
    assert (made.media_type, made.size) == (media_type, len(content))
    if made.block is None:
        assert made.text is not None
        assert not made.text.startswith("\ufeff")
    else:
        source = made.block["source"]
        assert (source["type"], source["media_type"]) == ("base64", media_type)
        assert base64.b64decode(source["data"]) == content


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ([Attachment("a", b"\0binary")], "attachments.0.content"),
        ([Attachment("a", b"caf\xe9")], "attachments.0.content"),
        ([Attachment("a", b"")], "attachments.0.content"),
        ([Attachment("a", b"x"), Attachment("  ", b"x")], "attachments.1.filename"),
        ([Attachment("a\nb", b"x")], "attachments.0.filename"),
        ([Attachment("a\u202eb", b"x")], "attachments.0.filename"),
        ([Attachment("a" * 256, b"x")], "attachments.0.filename"),
        ([Attachment("a", PNG + bytes(LARGEST))], "attachments.0.content"),
        ([Attachment("a", PNG + bytes(LARGEST_TOGETHER // 2))] * 3, "attachments"),
        ([Attachment("a", b"x")] * (MOST + 1), "attachments"),
    ],
)
def test_what_cant_come_along_is_refused_with_its_place(
    given: list[Attachment], where: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        attached(given)
    assert refused.value.where == where


@given(st.text(alphabet="`a\n ", min_size=1, max_size=40))
def test_no_text_ends_its_own_fence(text: str) -> None:
    (made,) = attached([Attachment("note.md", text.encode())])
    lines = with_texts("look", [made]).split("\n")
    fence = lines[4]
    assert set(fence) == {"`"}
    assert lines[-1] == fence
    inner = lines[5:-1]
    assert "\n".join(inner) == text
    assert not any(line.strip(" ").startswith(fence) for line in inner)


def test_a_picture_alone_is_a_message_and_nothing_is_none() -> None:
    picture = attached([Attachment("a.png", PNG)])
    assert text_of(Message("", attached=picture), is_first=True) == ""
    with pytest.raises(InvalidRequest, match="empty"):
        text_of(Message(""), is_first=True)


def test_a_text_stands_behind_the_message_within_its_context() -> None:
    files = attached([Attachment("a.txt", b"data")])
    said = text_of(Message("sum it up", initial_context="context", attached=files), is_first=True)
    assert said == (
        "## Context\n\ncontext\n\n---\n\n## Request\n\n"
        "sum it up\n\n## Attached: a.txt\n\n```\ndata\n```"
    )
