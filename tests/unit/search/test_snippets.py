"""What is shown of a piece: the place with most of what was found, as plain text."""

from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.search.snippets import (
    CLOSE,
    LENGTH,
    OPEN,
    marked_by_letters,
    plain_text,
    snippet,
)


def mark(word: str) -> str:
    return f"{OPEN}{word}{CLOSE}"


def test_the_snippet_is_where_most_was_found_and_says_on_which_line() -> None:
    best = f"the {mark('quick')} brown {mark('fox')} jumps"
    shown = snippet(f"{mark('fox')} {'a ' * 400}\n\n{best} {'b ' * 400}")
    assert [shown.text[start:end] for start, end in shown.marks] == ["quick", "fox"]
    assert shown.text.startswith("…")
    assert shown.text.endswith("…")
    assert shown.line == 2


def test_a_text_without_marks_is_shown_from_its_beginning() -> None:
    assert snippet("just\nwords").text == "just words"
    assert snippet("just\nwords").marks == ()
    assert snippet("").text == ""


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.text("ab \n\t", max_size=90), st.booleans()), max_size=30))
def test_marks_are_within_the_snippet_and_on_what_was_found(parts: list[tuple[str, bool]]) -> None:
    text = "".join(mark(part) if found and part else part for part, found in parts)
    shown = snippet(text)
    assert len(shown.text) <= LENGTH + 2
    whole = text.replace(OPEN, "").replace(CLOSE, "").translate({9: " ", 10: " "})
    assert shown.text.strip("…") in whole
    for start, end in shown.marks:
        assert 0 <= start < end <= len(shown.text)


def test_control_characters_become_blanks_and_letters_are_marked_where_they_are() -> None:
    assert plain_text("a\x02b\x00c\td\ne\x7f") == "a b c\td\ne "
    assert marked_by_letters("日本語の文章", ("文章", "無い")) == f"日本語の{mark('文章')}"
