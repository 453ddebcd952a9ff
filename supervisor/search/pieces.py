"""Cuts a text into the pieces that are searched: by headings and paragraphs, of bounded size. Pure.

A heading begins a new piece, so that a change of one section leaves the pieces of the others as
they are. Code between fences stays together where it fits. Nothing is lost: the pieces, put
together, are the text.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

GOOD: Final = 1_200
"""Characters: a piece that has so many ends at the next paragraph."""
MOST: Final = 2_400
"""Characters of a piece, and of a line that is handed in; a longer one is cut."""
MOST_CODE: Final = 6_000
"""Characters of code between fences that stay in one piece."""
LONGEST_HEADING: Final = 300

_HEADING: Final = re.compile(r" {0,3}(?P<marks>#{1,6})(?=[ \t]|\Z)")
_FENCE: Final = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})(?P<rest>.*)\Z", re.DOTALL)
_BETWEEN: Final = " > "


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text. `heading` are the headings it stands under, `line` its first line, from 1.

    `text` is as it stands there, its line ends too.
    """

    text: str
    heading: str
    line: int


def pieces(lines: Iterable[str], *, markdown: bool = True) -> Iterator[Piece]:
    """The pieces of a text that comes in lines, each with its end; the end may lack.

    A part of a line without its end goes on in the next one that comes. Plain text, where it isn't
    `markdown`, has no headings and no fences.
    """
    cutting = _Cutting(markdown=markdown)
    for line in lines:
        for start in range(0, len(line), MOST):
            yield from cutting.take(line[start : start + MOST])
    yield from cutting.end()


class _Cutting:
    """The state on the way: `piece` is what is gathered for one, `block` a paragraph or code."""

    def __init__(self, *, markdown: bool) -> None:
        self._markdown = markdown
        self._line = 1
        self._at_line_start = True
        self._piece: list[str] = []
        self._piece_size = 0
        self._piece_line = 1
        self._has_body = False
        self._block: list[str] = []
        self._block_size = 0
        self._block_line = 1
        self._fence: str | None = None
        self._headings: dict[int, str] = {}

    def take(self, line: str) -> Iterator[Piece]:
        """The pieces that are whole now that this line has come."""
        words = line.rstrip("\r\n")
        begins, self._at_line_start = self._at_line_start, line.endswith("\n")
        if begins and self._markdown:
            yield from self._take_marked(line, words)
        else:
            yield from self._add(line)
        if begins and self._fence is None and not words.strip():
            yield from self._end_block()
        self._line += line.endswith("\n")

    def end(self) -> Iterator[Piece]:
        """What is left."""
        yield from self._end_block()
        yield from self._end_piece()

    def _take_marked(self, line: str, words: str) -> Iterator[Piece]:
        fence = _FENCE.match(words)
        if self._fence is not None:
            yield from self._add(line)
            if fence and fence["marks"].startswith(self._fence) and not fence["rest"].strip():
                self._fence = None
                yield from self._end_block()
            return
        if fence and not (fence["marks"][0] == "`" and "`" in fence["rest"]):
            yield from self._end_block()
            self._fence = fence["marks"]
            yield from self._add(line)
            return
        heading = _HEADING.match(words)
        if heading is None:
            yield from self._add(line)
            return
        yield from self._end_block()
        if self._has_body:
            yield from self._end_piece()
        level = len(heading["marks"])
        self._headings = {each: text for each, text in self._headings.items() if each < level}
        self._headings[level] = _words_of(words[heading.end() :])
        yield from self._add(line)
        yield from self._end_block(is_heading=True)

    def _add(self, line: str) -> Iterator[Piece]:
        most = MOST if self._fence is None else MOST_CODE
        if self._block and self._block_size + len(line) > most:
            yield from self._end_block()
        if not self._block:
            self._block_line = self._line
        self._block.append(line)
        self._block_size += len(line)

    def _end_block(self, *, is_heading: bool = False) -> Iterator[Piece]:
        if not self._block:
            return
        # A short beginning doesn't stand alone because a long paragraph follows.
        good = GOOD if self._piece_size * 4 > GOOD else MOST
        if self._piece and self._piece_size + self._block_size > good:
            yield from self._end_piece()
        if not self._piece:
            self._piece_line = self._block_line
        self._piece += self._block
        self._piece_size += self._block_size
        self._has_body = self._has_body or not (
            is_heading or all(line.isspace() for line in self._block)
        )
        self._block, self._block_size = [], 0

    def _end_piece(self) -> Iterator[Piece]:
        if self._piece:
            heading = _BETWEEN.join(text for _, text in sorted(self._headings.items()) if text)
            yield Piece("".join(self._piece), heading[:LONGEST_HEADING], self._piece_line)
        self._piece, self._piece_size, self._has_body = [], 0, False


def _words_of(heading: str) -> str:
    """A heading's words without the marks that may close it."""
    words = heading.strip(" \t")
    bare = words.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else words
