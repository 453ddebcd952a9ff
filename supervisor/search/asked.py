"""What a person types → what the index of words is asked. Pure; any text is a question.

Nothing in it is an operator but quotes, which hold words together, and a star at a word's end.
Scripts that put no blanks between words have no words for the index: they are looked for letter by
letter.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

LONGEST: Final = 1_000
"""Characters of a question."""

_PARTS: Final = re.compile(r'"(?P<phrase>[^"]*)"(?P<star>\*?)|(?P<word>[^\s"]+)|"')
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question. `match` is an expression of FTS5, None without words; all of it must be found.

    `letters` are to be found as they are.
    """

    match: str | None
    letters: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it asks for nothing."""
        return self.match is None and not self.letters


def asked(text: str) -> Asked:
    """The question that a text asks."""
    terms: list[str] = []
    letters: list[str] = []
    for part in _PARTS.finditer(text.replace("\0", " ")):
        words = part["phrase"] if part["phrase"] is not None else part["word"] or ""
        if _UNSPACED.search(words):
            letters.append(words.strip().rstrip("*"))
        elif any(_is_of_a_word(letter) for letter in words):
            is_beginning = bool(part["star"]) or words.endswith("*")
            terms.append(f'"{words}"{"*" if is_beginning else ""}')
    return Asked(" AND ".join(terms) or None, tuple(letters))


def _is_of_a_word(letter: str) -> bool:
    # As the index takes words apart: letters, numbers, and what people define themselves.
    category = unicodedata.category(letter)
    return category[0] in "LN" or category == "Co"
