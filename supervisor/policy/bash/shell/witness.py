"""A second opinion: what tree-sitter-bash sees as commands must be among those that were read.

The walker needs bash's exact rules, and tree-sitter's grammar leaves them in known places
(continued lines, here-documents, backticks, `coproc`, `time`, `!`), silently in a dozen. So the
grammar in this folder reads, and tree-sitter, written by others, vouches for it: a command that
only it sees makes the call unknown, not allowed.
"""

import re
from collections.abc import Iterable
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser, Query, QueryCursor

LONGEST: Final = 8 * 1024
"""Characters; tree-sitter's time grows faster than the text on what is malformed."""

_MOST_STEPS: Final = 400
"""Calls of the parser's progress callback, in place of a clock."""

_DIRECT: Final = 1024
"""Bytes up to which a parse ends in a few milliseconds whatever they are."""

_ERRS_ON: Final = (
    "\\\n", "<<", "`", "!", "\r", "\v", "\f", "\0", "\ufeff", "$[", "((", "[[", "<>", ";;&",
    "coproc", "time",
)  # fmt: skip
_WIDE: Final = re.compile(r"[^\x00-\x7f]")
_BRACE: Final = re.compile(r"(?:^|[;&|({\n])\s*\{")
"""What tree-sitter-bash 0.25 is known to read differently from bash."""

_LANGUAGE: Final = Language(tree_sitter_bash.language())
_COMMANDS: Final = Query(_LANGUAGE, "(command_name) @name")


def overlooked(text: str, starts: Iterable[int]) -> int | None:
    """Where tree-sitter sees a command that starts at none of `starts`; None if there is none.

    Only asked about texts in which it isn't known to err; where it finds them malformed it has
    no opinion.
    """
    if len(text) > LONGEST or ("{" in text and _BRACE.search(text)):
        return None
    for each in _ERRS_ON:
        if each in text:
            return None
    data = _ascii(text)
    root = _tree(data)
    if root is None or root.has_error:
        return None
    found = QueryCursor(_COMMANDS).captures(root).get("name", ())
    missing = {node.start_byte for node in found}.difference(starts)
    return min(missing) if missing else None


def _ascii(text: str) -> bytes:
    """The text with a letter for each character that isn't ASCII, as bash takes them all.

    The scanner of tree-sitter-bash 0.25.1 looks wide characters up in a table of 256 (`isdigit`
    after a brace, say), which ends the process: it never gets one. Places stay what they were.
    """
    return _WIDE.sub("x", text).encode("ascii")


def _tree(data: bytes) -> Node | None:
    """The tree of a text; None if it takes too long. A parser for each: threads may ask at once."""
    parser = Parser(_LANGUAGE)
    if len(data) <= _DIRECT:
        return parser.parse(data).root_node
    steps = 0

    def too_long(*_: object) -> bool:
        nonlocal steps
        steps += 1
        return steps > _MOST_STEPS

    try:
        return parser.parse(
            lambda offset, _: data[offset : offset + 4096], progress_callback=too_long
        ).root_node
    except ValueError:
        return None
