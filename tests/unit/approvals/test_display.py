"""The display of an input: nothing in it stays unseen, and no two inputs look the same."""
# ruff: noqa: RUF001

import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from supervisor.approvals.display import Display, display_call, display_input, make_visible

TEXT = st.text(max_size=20) | st.text(
    alphabet='a"\\\n\t ⟨⟩│|:{}[],U+0\u202e\u200b\u0430', max_size=20
)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
INPUTS = st.dictionaries(TEXT, JSON, max_size=3)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("rm \u202ecod.x", "rm ⟨U+202E⟩cod.x"),
        ("a\u200bb", "a⟨U+200B⟩b"),
        ("a\rb", "a⟨U+000D⟩b"),
        ("\x1b[2J", "⟨U+001B⟩[2J"),
        ("a\u00a0b", "a⟨U+00A0⟩b"),
        ("p\u0430ypal", "p⟨U+0430⟩ypal"),
        ("\u0441\u043e\u0440\u0443", "⟨U+0441⟩⟨U+043E⟩⟨U+0440⟩⟨U+0443⟩"),
        ("\uff52\uff4d", "⟨U+FF52⟩⟨U+FF4D⟩"),
        ("a\u2215b", "a⟨U+2215⟩b"),
        ("\u2212rf", "⟨U+2212⟩rf"),
        ("x\u3164", "x⟨U+3164⟩"),
        ("a\ufe0fb", "a⟨U+FE0F⟩b"),
        ("\U000e0041", "⟨U+E0041⟩"),
        ("\u2028", "⟨U+2028⟩"),
        ("\ud800", "⟨U+D800⟩"),
    ],
)
def test_what_deceives_the_eye_is_named_and_flagged(text: str, shown: str) -> None:
    made = make_visible(text)
    assert made.text == shown
    assert made.has_hidden_characters


@pytest.mark.parametrize(
    "text",
    ["plain", "Größe", "日本語", "привет мир", "Ελληνικά", "café — “quoted” …", "naïve", "😀"],
)
def test_ordinary_writing_is_left_alone(text: str) -> None:
    made = make_visible(text)
    assert made.text == text
    assert not made.has_hidden_characters


def test_a_tab_and_our_own_bracket_are_named_without_alarm() -> None:
    made = make_visible("a\tb⟨TAB⟩")
    assert made.text == "a⟨TAB⟩b⟨U+27E8⟩TAB⟩"
    assert not made.has_hidden_characters


def test_a_command_of_several_lines_is_shown_line_by_line() -> None:
    made = display_input({"command": "cd notes\nls", "timeout": 5})
    assert made.text == "command: |\n  │ cd notes\n  │ ls\ntimeout: 5"
    assert not made.has_hidden_characters


def test_a_control_character_in_a_nested_text_is_flagged() -> None:
    assert display_input({"edits": [{"old": "a\rb"}]}).has_hidden_characters
    assert display_input({"a\x00b": 1}).has_hidden_characters
    assert display_input({"command": "a\rb"}).has_hidden_characters


@given(INPUTS, INPUTS)
def test_two_different_inputs_never_look_the_same(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    if display_input(one).text == display_input(other).text:
        assert list(one.items()) == list(other.items())
        assert repr(one) == repr(other)


@given(st.text(max_size=60))
@example("ა¹")
def test_what_is_shown_holds_only_what_the_eye_can_trust(text: str) -> None:
    shown = make_visible(text).text
    assert "\n" not in shown
    # A blank, so that a letter before a name doesn't become one word with it.
    assert make_visible(shown.replace("⟨", " ")).has_hidden_characters is False


@given(TEXT, TEXT)
def test_one_line_shown_can_be_told_from_any_other(one: str, other: str) -> None:
    assert (make_visible(one).text == make_visible(other).text) == (one == other)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("con\ufb01g", "con⟨U+FB01⟩g"),
        ("\u2025/x", "⟨U+2025⟩/x"),
        ("Cafe\u0301", "Cafe⟨U+0301⟩"),
        ("\u212bngstr\u00f6m", "⟨U+212B⟩ngström"),
        ("\u0261it", "⟨U+0261⟩it"),
        ("a\u2571b", "a⟨U+2571⟩b"),
        ("x\u2223sh", "x⟨U+2223⟩sh"),
        ("\ua4da\ua4ee", "⟨U+A4DA⟩⟨U+A4EE⟩"),
        ("\U0001d6c2bc", "⟨U+1D6C2⟩bc"),
        ("\u1112\u1161\u11ab", "⟨U+1112⟩⟨U+1161⟩⟨U+11AB⟩"),
        ("p\u0966rn", "p⟨U+0966⟩rn"),
    ],
)
def test_what_only_looks_like_something_else_is_named(text: str, shown: str) -> None:
    made = make_visible(text)
    assert (made.text, made.has_hidden_characters) == (shown, True)


@pytest.mark.parametrize(
    "text",
    [
        "APIノート", "第〇章", "הלו", "سلام", "नमस्ते ०१२", "ภาษาไทย ๐", "Հայերեն։", "ქართული",
        "kırmızı ısı", "5′ × 3", "d’accord", "«да»", "Ĉu ŝi?",
        "Việt Nam", "한국어", "ᓄᓇᕗᑦ",
    ],
)  # fmt: skip
def test_more_ordinary_writing_is_left_alone(text: str) -> None:
    assert make_visible(text) == Display(text, has_hidden_characters=False)


def test_a_tool_whose_name_deceives_is_named_in_front() -> None:
    made = display_call("mcp__n\u043etes__read", {"path": "a"})
    assert made.text == 'the tool\'s name: mcp__n⟨U+043E⟩tes__read\npath: "a"'
    assert made.has_hidden_characters
    assert display_call("Read", {"path": "a"}) == display_input({"path": "a"})


@given(st.text(max_size=20), st.text(max_size=20))
def test_texts_that_a_font_shows_alike_are_told_apart(one: str, other: str) -> None:
    shown = [unicodedata.normalize("NFC", make_visible(text).text) for text in (one, other)]
    assert (shown[0] == shown[1]) == (one == other)
