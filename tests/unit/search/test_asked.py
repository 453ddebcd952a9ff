"""Any text is a question, and what is in it is never an operator."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supervisor.search.asked import asked

TEXT = "The quick brown fox, naïve and NEAR foo-bar's end; AND OR NOT title 日本語の文章です"


@pytest.fixture(scope="module")
def words() -> Iterator[sqlite3.Connection]:
    """One text, indexed as the pieces are."""
    with closing(sqlite3.connect(":memory:")) as cx:
        cx.execute(
            "CREATE VIRTUAL TABLE words USING fts5"
            " (title, body, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3')"
        )
        cx.execute("INSERT INTO words VALUES ('', ?)", (TEXT,))
        yield cx


def found(words: sqlite3.Connection, question: str) -> bool:
    match = asked(question).match
    assert match is not None
    return bool(words.execute("SELECT 1 FROM words WHERE words MATCH ?", (match,)).fetchall())


@settings(max_examples=500, deadline=None)
@given(question=st.text(max_size=80) | st.text("ab\"*^(){}:+-NEAROT ,.'\\\0", max_size=40))
def test_any_text_can_be_asked(words: sqlite3.Connection, question: str) -> None:
    match = asked(question).match
    if match is not None:
        words.execute("SELECT 1 FROM words WHERE words MATCH ?", (match,)).fetchall()


@pytest.mark.parametrize(
    "question",
    [
        "quick",
        "QUICK Brown",
        "fox quick",
        '"quick brown"',
        '"quick bro"*',
        '"quick bro*"',
        "qui*",
        "naive",
        "foo-bar",
        "foo bar's",
        "NEAR",
        "NOT fox",
        "AND",
        "fox OR",
        '"fox',
        "-fox",
        "title",
        "quick ... fox",
        "(fox)",
        "body fox".removeprefix("body "),
    ],
)
def test_what_is_there_is_found(words: sqlite3.Connection, question: str) -> None:
    assert found(words, question)


@pytest.mark.parametrize(
    "question",
    ['"brown quick"', "quic", "fox zebra", "title:fox", "fox NOT zebra", "^brown x"],
)
def test_what_is_not_there_is_not_found(words: sqlite3.Connection, question: str) -> None:
    assert not found(words, question)


@pytest.mark.parametrize("question", ["***", '""', "-", "…", '"*"', "\0"])
def test_a_text_without_a_word_asks_for_nothing(question: str) -> None:
    assert asked(question).is_empty


def test_scripts_without_blanks_are_looked_for_by_their_letters() -> None:
    assert asked("文章 fox").letters == ("文章",)
    assert asked("文章 fox").match == '"fox"'
    assert asked("文章*").match is None
    assert asked("한국어").match == '"한국어"'
