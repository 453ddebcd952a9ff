"""From a text to a script: bash's grammar reads it, tree-sitter's vouches for the reading."""

import re
from typing import Final

from supervisor.policy.bash.shell.grammar import Grammar
from supervisor.policy.bash.shell.limits import Budget
from supervisor.policy.bash.shell.syntax import Script, Trouble
from supervisor.policy.bash.shell.witness import overlooked

_HIDING: Final = re.compile(r"(?<!\$)\{|\$\{[A-Za-z0-9_]*[^A-Za-z0-9_}]")
"""Braces that are more than `${name}`. Without them and parentheses nothing can hide a command:
there are words, quotes and operators only."""

_BARE: Final = re.compile(r"\((?<!\$\()")
"""Parentheses without a dollar in front: none of them is left out where no backslash stands."""

_ESCAPED: Final = re.compile(r"(?<!\\)(?:\\\\)*\\\(")
"""Parentheses behind a backslash, which open nothing, be they in quotes or not."""

_OPEN: Final = re.compile(r"\$\([\w ./:=@%+,~|-]*\)")
"""A substitution of plain words: it hides nothing either."""


def _hides(text: str) -> bool:
    """Whether the text has something in which a reader could overlook a command."""
    if "(" in text:
        if "\\" not in text and _BARE.search(text) is not None:
            return True
        if "(" in _OPEN.sub("", _ESCAPED.sub("", text)):
            return True
    return "{" in text and _HIDING.search(text) is not None


def parsed(text: str, budget: Budget, place: tuple[int, int] | None) -> tuple[Script, int]:
    """The script that a text is, and its length without its here-documents.

    With `place` all of it is said to stand there.
    """
    grammar = Grammar(text, budget, place)
    script = grammar.whole()
    if not script.troubles and _hides(text):
        missed = overlooked(text, grammar.starts)
        if missed is not None:
            start, end = place or (missed, len(text))
            script.troubles.append(Trouble("two parsers disagree on what it runs", start, end))
    return script, len(text) - grammar.documented_length
