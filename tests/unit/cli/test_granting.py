"""Suggestions as a person at a terminal reads them, and what their numbers mean."""

from typing import Any

import pytest

from supervisor.cli.granting import after_p, chosen, own_pattern, suggestion_lines

SUGGESTED: list[dict[str, Any]] = [
    {"id": "s1", "covers": "reads the file `a.md` and no other", "matches": 1},
    {"id": "s2", "covers": "reads any file", "matches": 1_234, "earlierPrompts": 14},
    {
        "id": "s3",
        "covers": "reads all",
        "matches": 20_000,
        "matchesMore": True,
        "earlierPrompts": 1,
    },
    {"id": "s4", "covers": "runs any command that begins with `ls`", "matches": None},
]


def test_each_says_what_it_covers_and_how_much_that_is_now() -> None:
    assert suggestion_lines(SUGGESTED) == [
        "  1. reads the file `a.md` and no other (1 file now)",
        "  2. reads any file (1,234 files now; would have covered 14 earlier requests)",
        "  3. reads all (more than 20,000 files now; would have covered 1 earlier request)",
        "  4. runs any command that begins with `ls`",
    ]


@pytest.mark.parametrize(
    ("said", "ids"),
    [
        ("2", ["s2"]),
        (" 4 , 1 ", ["s1", "s4"]),
        ("1 3", ["s1", "s3"]),
        ("1,1", ["s1"]),
        ("5", []),
        ("0", []),
        ("1,9", []),
        ("", None),
        ("no", None),
        ("-1", None),
        ("1st", None),
    ],
)
def test_numbers_choose_and_anything_else_does_not(said: str, ids: list[str] | None) -> None:
    assert chosen(said, SUGGESTED) == ids


@pytest.mark.parametrize(
    ("said", "pattern"),
    [
        ("bash curl", {"kind": "bash", "pattern": "curl"}),
        ("Bash: git log", {"kind": "bash", "pattern": "git log"}),
        ("Bash(git log:*)", {"kind": "bash", "pattern": "git log:*"}),
        ("bash =cat a | wc", {"kind": "bash", "pattern": "=cat a | wc"}),
        ("Edit Notes/*.md", {"kind": "write", "pattern": "Notes/*.md"}),
        (" read  My notes/** ", {"kind": "read", "pattern": "My notes/**"}),
        ("tool mcp__notes__*", {"kind": "tool", "pattern": "mcp__notes__*"}),
        ("WebFetch:docs.example", {"pattern": "WebFetch:docs.example"}),
        ("git status", {"pattern": "git status"}),
        ("bash", {"pattern": "bash"}),
        ("reading/*.md", {"pattern": "reading/*.md"}),
        ("  ", {}),
    ],
)
def test_a_pattern_may_have_its_kind_or_tool_in_front(said: str, pattern: dict[str, str]) -> None:
    assert own_pattern(said) == pattern


@pytest.mark.parametrize(
    ("said", "rest"),
    [("p", ""), ("P ", ""), ("p bash curl", "bash curl"), ("pattern x", "x"), ("please", None)],
)
def test_what_follows_p_is_the_pattern(said: str, rest: str | None) -> None:
    assert after_p(said) == rest
