"""A transcript is read from its end, whatever its size and whatever is wrong with it."""

import json
import os
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.errors import InvalidRequest
from supervisor.ids import SessionId
from supervisor.sessions import history
from supervisor.sessions.history import Page, read_history
from supervisor.sessions.records_back import BLOCK, records_back

SESSION = SessionId("11111111-2222-4333-8444-555555555555")
POINTER = PurePosixPath(f".claude/projects/-v/{SESSION}.jsonl")


def record(number: int, role: str = "user", **more: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": role, "content": f"message {number}"}
    if role == "assistant":
        message = {"role": role, "id": f"msg_{number}", "model": "claude-x",
                   "content": [{"type": "text", "text": f"message {number}"}]}  # fmt: skip
    return {
        "type": role,
        "uuid": f"u{number}",
        "timestamp": f"2026-01-01T00:{number // 60:02}:{number % 60:02}.000Z",
        "message": message,
        **more,
    }


def write(vault: Path, records: list[Any], *, sandboxed: bool = False, end: bytes = b"") -> Path:
    path = vault / POINTER
    if sandboxed:
        path = path.parent / "sandboxed" / path.name
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in records]
    path.write_bytes(b"".join(line + b"\n" for line in lines) + end)
    return path


def texts(page: Page) -> list[str]:
    return [each.text for each in page.messages]


def all_pages(vault: Path, limit: int) -> list[str]:
    found: list[str] = []
    before = None
    while True:
        page = read_history(vault, POINTER, SESSION, limit=limit, before=before)
        found = texts(page) + found
        before = page.before
        if before is None:
            return found


@pytest.mark.parametrize("limit", [1, 2, 7, 100])
def test_all_pages_together_are_the_whole_conversation(tmp_path: Path, limit: int) -> None:
    write(tmp_path, [record(n, "user" if n % 2 else "assistant") for n in range(50)])
    assert all_pages(tmp_path, limit) == [f"message {n}" for n in range(50)]


def test_both_sides_are_one_conversation_in_the_order_of_time(tmp_path: Path) -> None:
    write(tmp_path, [record(n) for n in (0, 1, 4, 5)])
    write(tmp_path, [record(n) for n in (2, 3, 6)], sandboxed=True)
    for limit in (1, 3, 100):
        assert all_pages(tmp_path, limit) == [f"message {n}" for n in range(7)]


def test_parts_of_one_answer_are_one_message(tmp_path: Path) -> None:
    part = record(1, "assistant")
    tool = json.loads(json.dumps(part))
    tool["message"]["content"] = [
        {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "a"}}
    ]
    write(tmp_path, [record(0), part, tool, record(2)])
    page = read_history(tmp_path, POINTER, SESSION)
    assert [each.role for each in page.messages] == ["user", "assistant", "user"]
    assert [block["type"] for block in page.messages[1].blocks] == ["text", "tool_use"]


def test_cut_after_every_byte_of_its_last_record_it_costs_that_record_and_says_so(
    tmp_path: Path,
) -> None:
    last = json.dumps(record(3)).encode()
    for cut in range(1, len(last)):
        path = write(tmp_path, [record(n) for n in range(3)], end=last[:cut])
        before = path.read_bytes()
        page = read_history(tmp_path, POINTER, SESSION)
        assert texts(page) == ["message 0", "message 1", "message 2"]
        assert page.notes == ("torn_last_line",)
        assert path.read_bytes() == before


def test_a_last_record_that_is_whole_but_for_its_line_end_counts(tmp_path: Path) -> None:
    write(tmp_path, [record(0)], end=json.dumps(record(1)).encode())
    page = read_history(tmp_path, POINTER, SESSION)
    assert texts(page) == ["message 0", "message 1"]
    assert page.notes == ()


@pytest.mark.parametrize(
    "line",
    [b"{", b"\xff\xfe{}", b"[1]", b'"text"', b"null", b"\0\0\0", b"{" * 100_000, b"1e999999"],
    ids=lambda line: repr(line[:12]),
)
def test_a_damaged_line_costs_that_line(tmp_path: Path, line: bytes) -> None:
    write(tmp_path, [record(0), line, record(1)])
    page = read_history(tmp_path, POINTER, SESSION)
    assert texts(page) == ["message 0", "message 1"]
    assert page.notes == ("unreadable_lines",)


@pytest.mark.parametrize(
    "other",
    [
        {"type": "of-a-later-version", "message": {"role": "user", "content": "x"}},
        {"type": "user"},
        {"type": "user", "message": {"content": 5}},
        {"type": "user", "message": {"content": [{"type": "new-kind"}, 7, None]}},
        {"type": "summary", "summary": "x"},
        record(9, isMeta=True),
        record(9, isSidechain=True),
        {},
    ],
)
def test_what_is_no_message_says_nothing(tmp_path: Path, other: dict[str, Any]) -> None:
    write(tmp_path, [record(0), other, record(1)])
    page = read_history(tmp_path, POINTER, SESSION)
    assert texts(page) == ["message 0", "message 1"]
    assert page.notes == ()


def test_no_link_is_followed_to_a_transcript(tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_text(json.dumps(record(0)) + "\n")
    vault = tmp_path / "vault"
    path = vault / POINTER
    path.parent.mkdir(parents=True)
    path.symlink_to(outside)
    assert read_history(vault, POINTER, SESSION) == Page()


def test_without_one_in_the_vault_the_home_folder_s_is_read(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write(home, [record(0)])
    assert texts(read_history(tmp_path / "vault", POINTER, SESSION, home=home)) == ["message 0"]


@pytest.mark.parametrize(
    "cursor", ["", "x", "1", "1.2", "1.2.3.4", "-1.2.3", "1.2.3\n", "1" * 20 + ".1.1"]
)
def test_a_cursor_that_is_none_is_refused(tmp_path: Path, cursor: str) -> None:
    with pytest.raises(InvalidRequest):
        read_history(tmp_path, POINTER, SESSION, before=cursor)


def test_of_a_large_file_only_the_end_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, [record(n) for n in range(5)])
    with path.open("r+b") as file:  # sparse: half a gigabyte that nobody wrote
        content = file.read()
        file.seek(512 * 1024 * 1024)
        file.write(b"\n" + content)
    page = read_history(tmp_path, POINTER, SESSION, limit=3)
    assert texts(page) == ["message 2", "message 3", "message 4"]


@given(
    st.lists(st.integers(min_value=0, max_value=3 * BLOCK), min_size=1, max_size=4),
    st.booleans(),
)
def test_records_of_any_size_come_back_whole_and_in_order(sizes: list[int], ended: bool) -> None:
    records = [{"n": n, "x": "y" * size} for n, size in enumerate(sizes)]
    text = b"\n".join(json.dumps(each).encode() for each in records) + (b"\n" if ended else b"")
    descriptor = os.memfd_create("records")
    try:
        os.write(descriptor, text)
        lines = list(records_back(descriptor))
        assert [line.record for line in lines] == records[::-1]
        for line in lines:
            again = list(records_back(descriptor, line.start))
            assert [each.start for each in again] == [
                each.start for each in lines if each.start < line.start
            ]
    finally:
        os.close(descriptor)


def one_message(parts: int, size: int) -> list[Any]:
    """A message in very many parts, as a sandbox may write it."""
    text = "x" * size
    made = [record(n, "assistant") for n in range(parts)]
    for each in made:
        each["message"] |= {"id": "msg_endless", "content": [{"type": "text", "text": text}]}
    return made


def test_a_page_is_bounded_in_bytes_and_the_rest_is_on_the_pages_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "LARGEST_PAGE", 10_000)
    write(tmp_path, [record(0), *one_message(50, 1_000), record(51)])
    pages: list[Page] = []
    before = None
    while not pages or before is not None:
        pages.append(read_history(tmp_path, POINTER, SESSION, before=before))
        before = pages[-1].before
    assert all(sum(len(each.text) for each in page.messages) <= 10_000 for page in pages)
    assert sum(len(each.blocks) for page in pages for each in page.messages) == 52
    assert texts(pages[-1])[0] == "message 0"
    assert texts(pages[0])[-1] == "message 51"


def test_a_record_that_is_larger_than_a_page_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "LARGEST_PAGE", 100)
    write(tmp_path, [record(n) for n in range(3)])
    assert all_pages(tmp_path, 10) == ["message 0", "message 1", "message 2"]
