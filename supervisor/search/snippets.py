"""The part of a piece that shows why it was found. Pure."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

OPEN: Final = "\x02"
CLOSE: Final = "\x03"
"""What stands round a word that was found; no stored text has them (`plain_text`)."""
LENGTH: Final = 240
"""Characters of a snippet."""

_LEAD: Final = 48
_STRAY: Final = {code: " " for code in (*range(32), 127) if chr(code) not in "\t\n"}


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a text on one line. `marks` are where in it found words are: start and end.

    `line` is how many lines of the whole stand before the first of them.
    """

    text: str
    marks: tuple[tuple[int, int], ...]
    line: int


def plain_text(text: str) -> str:
    """The text without control characters but tabs and line ends; as long as it was."""
    return text.translate(_STRAY)


def snippet(marked: str) -> Snippet:
    """The part of a marked text where the most of it was found."""
    text, marks = _unmarked(marked)
    start = _best_start(text, marks)
    end = min(len(text), start + LENGTH)
    if end < len(text):
        end = text.rfind(" ", start + LENGTH * 3 // 4, end) if " " in text[end - 60 : end] else end
    part = text[start:end]
    before = "…" if start else ""
    within = tuple(
        (low - start + len(before), high - start + len(before))
        for low, high in marks
        if low >= start and high <= end
    )
    first = marks[0][0] if marks else 0
    first = next((low for low, high in marks if low >= start and high <= end), first)
    shown = before + part.translate({9: " ", 10: " "}) + ("…" if end < len(text) else "")
    return Snippet(shown, within, text.count("\n", 0, first))


def marked_by_letters(text: str, letters: tuple[str, ...]) -> str:
    """The text with marks round the first place of each of these."""
    for each in letters:
        at = text.find(each)
        if at >= 0:
            text = f"{text[:at]}{OPEN}{each}{CLOSE}{text[at + len(each) :]}"
    return text


def _unmarked(marked: str) -> tuple[str, list[tuple[int, int]]]:
    parts: list[str] = []
    marks: list[tuple[int, int]] = []
    at = 0
    for piece in marked.split(OPEN):
        found, closed, rest = piece.partition(CLOSE)
        if closed:
            marks.append((at, at + len(found)))
        parts += [found, rest]
        at += len(found) + len(rest)
    return "".join(parts), marks


def _best_start(text: str, marks: list[tuple[int, int]]) -> int:
    best, most = 0, 0
    ends = [high for _, high in marks]
    for index, (low, _) in enumerate(marks):
        count = bisect_right(ends, low - _LEAD + LENGTH) - index
        if count > most:
            best, most = low, count
    if most == 0 or best <= _LEAD:
        return 0
    start = best - _LEAD
    blank = max(text.find(" ", start, best), text.find("\n", start, best))
    return blank + 1 if blank >= 0 else start
