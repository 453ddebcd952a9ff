"""What a session brings along is told newest first, shown whole, and reached by no link."""

from pathlib import Path, PurePosixPath

import pytest

from supervisor.ids import new_session_id
from supervisor.sessions.brought import LONGEST_TOLD, Words, read_brought, text_block, write_brought
from supervisor.sessions.history import read_history
from supervisor.sessions.memory import MAX_EARLIER_CHARS, earlier
from supervisor.sessions.transcripts import brought_beside, delete_transcripts

SESSION = new_session_id()
POINTER = PurePosixPath(".claude/projects/imported-1") / f"{SESSION}.jsonl"


def said(*texts: str) -> list[Words]:
    return [
        Words("assistant" if number % 2 else "user", (text_block(text),))
        for number, text in enumerate(texts)
    ]


def test_what_is_brought_is_told_in_order_and_shown(tmp_path: Path) -> None:
    write_brought(tmp_path, POINTER, SESSION, said("hello", "hi"))
    told = earlier(read_brought(tmp_path, POINTER))
    assert told is not None
    assert (told.text, told.messages) == ("Person:\n> hello\n\nAgent:\n> hi", 2)
    shown = read_history(tmp_path, POINTER, SESSION).messages
    assert [each.text for each in shown] == ["hello", "hi"]


def test_of_much_the_newest_is_told_and_that_there_was_more(tmp_path: Path) -> None:
    write_brought(tmp_path, POINTER, SESSION, said(*(f"{n}:" + "x" * 9_000 for n in range(200))))
    events = read_brought(tmp_path, POINTER)
    assert len(events) < 30
    told = earlier(events)
    assert told is not None
    assert told.text.startswith("[earlier messages are left out]")
    assert "Agent:\n> 199:" in told.text
    assert told.messages == told.text.count("xx\n\n") + 1
    assert len(told.text) < MAX_EARLIER_CHARS + 1_000
    assert len(read_history(tmp_path, POINTER, SESSION, limit=500).messages) == 200


def test_a_last_message_of_any_length_is_told_in_part(tmp_path: Path) -> None:
    write_brought(tmp_path, POINTER, SESSION, said("first", "y" * 900_000))
    told = earlier(read_brought(tmp_path, POINTER))
    assert told is not None
    assert told.messages == 2
    assert told.text.count("y") == LONGEST_TOLD


def test_more_of_the_same_words_only_adds_to_the_end(tmp_path: Path) -> None:
    path = tmp_path / brought_beside(POINTER)
    write_brought(tmp_path, POINTER, SESSION, said("a", "b"))
    before = path.read_bytes()
    write_brought(tmp_path, POINTER, SESSION, said("a", "b", "c"))
    assert path.read_bytes().startswith(before)


def test_a_link_is_followed_neither_to_write_nor_to_read(tmp_path: Path) -> None:
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    outside.mkdir()
    write_brought(outside, PurePosixPath(POINTER.name), SESSION, said("SECRET"))
    folder = vault / POINTER.parent
    folder.mkdir(parents=True)
    (folder / "brought").symlink_to(outside / "brought")
    assert read_brought(vault, POINTER) == []
    with pytest.raises(OSError, match="link"):
        write_brought(vault, POINTER, SESSION, said("x"))
    assert b"SECRET" in (outside / "brought" / POINTER.name).read_bytes()


def test_deleted_transcripts_take_it_along(tmp_path: Path) -> None:
    write_brought(tmp_path, POINTER, SESSION, said("a"))
    assert delete_transcripts(tmp_path, POINTER)
    assert not (tmp_path / brought_beside(POINTER)).exists()
