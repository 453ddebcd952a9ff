"""Patterns mean the same under every Python that may run us.

Python 3.11 has possessive quantifiers and atomic groups, and misreads them before 3.11.5
(gh-106052): in a word like `a/*` the star became a word of its own, so `rm -rf a/*` was the whole
vault. Debian 12 ships 3.11.2.
"""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import supervisor
from supervisor.policy.bash.sed import _up_to
from supervisor.policy.bash.shell.scanner import PLAIN_WORD, PLAIN_WORDS

_ROOT = Path(supervisor.__file__).parent
_NO_QUANTIFIER = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_MISREAD = re.compile(r"[*+?}]\+|\(\?>")


def misread(pattern: str) -> bool:
    """Whether something in a pattern is possessive or atomic."""
    return _MISREAD.search(_NO_QUANTIFIER.sub("x", pattern)) is not None


def _made_with_a_module() -> Iterator[tuple[str, str]]:
    for module in pkgutil.walk_packages([str(_ROOT)], "supervisor."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern):
                text = value.pattern
                said = text if isinstance(text, str) else text.decode("latin-1")
                yield f"{module.name}.{name}", said


def _written_in_calls() -> Iterator[tuple[str, str]]:
    for file in _ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            of = node.func.value
            if isinstance(of, ast.Name) and of.id == "re" and node.args:
                yield f"{file}:{node.lineno}", _literal(node.args[0])


def _literal(node: ast.expr) -> str:
    if isinstance(node, ast.JoinedStr):
        return "".join(_literal(each) for each in node.values)
    if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
        return node.value if isinstance(node.value, str) else node.value.decode("latin-1")
    return "x"


def test_no_pattern_needs_what_the_first_releases_of_python_3_11_misread() -> None:
    found = [*_made_with_a_module(), *_written_in_calls()]
    assert len(found) > 200, "patterns are looked at"
    assert [where for where, pattern in found if misread(pattern)] == []


@pytest.mark.parametrize("pattern", ["a*+", "(?:a|b)++c", "a?+", "a{2}+", "x(?>a|b)"])
def test_what_they_misread_is_seen(pattern: str) -> None:
    assert misread(pattern)


@pytest.mark.parametrize("pattern", [r"\*+", "[*+]+", "[^]*]+", r"a\++", "(?:a+)+"])
def test_what_they_read_well_is_let_be(pattern: str) -> None:
    assert not misread(pattern)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" a/* b", None),
        (" a b/*", " a"),
        (" a b{}c {}{} d", " a b{}c {}{} d"),
        (" a b(", " a"),
        (" a&>b", None),
        (" a &", " a"),
        (" #a", None),
    ],
)
def test_a_word_is_plain_as_a_whole_or_not_at_all(text: str, words: str | None) -> None:
    found = PLAIN_WORDS.match(text)
    assert (found and found[0]) == words


def test_words_without_an_end_are_read_in_time_that_grows_with_their_length() -> None:
    for text in ("a" * 200_000 + "(", "{}" * 100_000 + "(", "a{}" * 60_000 + "<"):
        assert re.match(PLAIN_WORD, text) is None


@pytest.mark.parametrize(
    ("mark", "text", "piece"),
    [("/", r"a\/b/c", r"a\/b"), ("]", r"a\]b]c", r"a\]b"), ("^", "a^b", "a"), ("/", r"a\/b", None)],
)
def test_a_backslash_takes_the_mark_behind_it_along(
    mark: str, text: str, piece: str | None
) -> None:
    found = _up_to(mark).match(text)
    assert (found and found[1]) == piece
