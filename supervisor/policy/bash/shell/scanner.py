"""Reads words: where one ends, and which of its characters mean something to the shell."""

import re
from typing import Final

from supervisor.policy.bash.shell.algebra import literal
from supervisor.policy.bash.shell.cursor import Broken
from supervisor.policy.bash.shell.expansions import Expansions, flush
from supervisor.policy.bash.shell.syntax import (
    Assignment,
    Element,
    Literal,
    Parts,
    Piece,
    Word,
    plain_word,
)

_META: Final = frozenset(" \t\n|&;()<>")
_LETTER: Final = r"[^ \t\n|&;()<>'\"$`\\*?\[~{\0]"
# Nothing possessive in these patterns, nor atomic: Python 3.11 misreads that before 3.11.5
# (gh-106052). Each letter fits in one way only, so going back finds nothing and costs little.
_LETTERS: Final = rf"(?:{_LETTER}|\{{\}}){_LETTER}*(?:\{{\}}{_LETTER}*)*"
_PLAIN: Final = re.compile(_LETTERS)
PLAIN_WORD: Final = rf"(?!#){_LETTERS}(?=[ \t\n|;)]|&(?!>)|$)"
"""A word in which nothing means anything to the shell."""

PLAIN_WORDS: Final = re.compile(rf"(?:[ \t]+{PLAIN_WORD})+")
"""Several of them, each behind blanks."""

_ONE_QUOTE: Final = re.compile(r"""(?:'([^']*)'|"([^"$`\\]*)")(?=[ \t\n|;)&]|$)""")
"""A word that is one quote, with nothing to expand in it."""

_RUN: Final = re.compile(r"[^ \t\n|&;()<>'\"$`\\*?+@!\[]+")
_IN_QUOTES: Final = re.compile(r"[^\"$`\\]+")
_IN_DOCUMENT: Final = re.compile(r"[^$`\\]+")
_SINGLE: Final = re.compile(r"'([^']*)'")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\\\n)*(\+?=|\[)")
_ARRAY_GAP: Final = re.compile(r"(?:[ \t\n]|\\\n)*(?:#[^\n]*(?:\n|$)(?:[ \t\n]|\\\n)*)*")


class Scanner(Expansions):
    """Reads words, arrays and here-documents' bodies."""

    def word(self) -> Word:
        """The word that starts here."""
        match = _PLAIN.match(self.text, self.at)
        if match is not None and self._ends(match.end()):
            self.at = match.end()
            return plain_word(match[0])
        match = _ONE_QUOTE.match(self.text, self.at)
        if match is not None:
            self.at = match.end()
            quoted = match[1] if match[1] is not None else match[2]
            return Word(None, (Literal(quoted, quoted=True),), literal(quoted))
        parts = self.parts()
        texts: list[str] = []
        for part in parts:
            if type(part) is not Literal or not (part.quoted or _PLAIN.fullmatch(part.text)):
                return Word(None, parts)
            texts.append(part.text)
        text = "".join(texts)
        bare = len(parts) == 1 and isinstance(parts[0], Literal) and not parts[0].quoted
        return Word(text if bare else None, parts, literal(text))

    def _ends(self, end: int) -> bool:
        """Whether a word ends here: at a character that means something, and no part of it."""
        if end >= self.size:
            return True
        after = self.text[end]
        if after == "(":
            return self.text[end - 1] not in "?*+@!"
        return after in _META and not (after in "<>" and self.text.startswith("(", end + 1))

    def parts(self, *, regex: bool = False) -> Parts:
        """The parts of a word up to what ends it.

        With `regex` parentheses and bars belong to it (the operand of `=~`).
        """
        text, size = self.text, self.size
        found: list[Piece] = []
        plain: list[str] = []
        inside = 0
        while self.at < size:
            here = text[self.at]
            if inside and here in " \t\n|&;<>)":
                inside -= here == ")"
                plain.append(here)
                self.at += 1
            elif here in _META:
                if here in "<>" and text.startswith("(", self.at + 1):
                    flush(plain, found)
                    found.append(self.process(here))
                elif here == "(" and (
                    regex or inside or (self.at and text[self.at - 1] in "?*+@!" and plain)
                ):
                    inside += 1
                    plain.append(here)
                    self.at += 1
                elif regex and here in "|)<>":
                    plain.append(here)
                    self.at += 1
                else:
                    break
            elif here in "'\"$`\\":
                self.special(here, found, plain)
            else:
                match = _RUN.match(text, self.at)
                end = match.end() if match is not None else self.at + 1
                plain.append(text[self.at : end])
                self.at = end
        flush(plain, found)
        return tuple(found)

    def special(self, here: str, found: list[Piece], plain: list[str]) -> None:
        """Read a quote or an expansion outside of double quotes."""
        text, at = self.text, self.at
        self.count()
        if here == "\\":
            if text.startswith("\n", at + 1):
                self.at += 2
                return
            flush(plain, found)
            found.append(Literal(text[at + 1 : at + 2] or "\\", quoted=True))
            self.at = min(at + 2, self.size)
            return
        if here == "'":
            match = _SINGLE.match(text, at)
            if match is None:
                raise Broken("a quote is never closed", at)
            flush(plain, found)
            found.append(Literal(match[1], quoted=True))
            self.at = match.end()
            return
        if here == '"':
            flush(plain, found)
            self.at += 1
            self.quoted(found)
            return
        piece = self.expansion(quoted=False)
        if piece is None:
            plain.append("$")
            return
        flush(plain, found)
        found.extend(piece if isinstance(piece, list) else [piece])

    def quoted(self, found: list[Piece]) -> None:
        """What stands between double quotes, up to the closing one."""
        opened = self.at - 1
        count = len(found)
        text = self.text
        plain: list[str] = []
        while self.at < self.size:
            here = text[self.at]
            if here == '"':
                self.at += 1
                if plain or len(found) == count:
                    found.append(Literal("".join(plain), quoted=True))
                return
            if here in "$`\\":
                self._escaped_or_expanded(found, plain, '$`\\"')
                continue
            match = _IN_QUOTES.match(text, self.at)
            end = match.end() if match is not None else self.size
            plain.append(text[self.at : end])
            self.at = end
        raise Broken("a quote is never closed", opened)

    def document(self) -> Parts:
        """The parts of an unquoted here-document's body (this scanner's whole text)."""
        found: list[Piece] = []
        plain: list[str] = []
        while self.at < self.size:
            if (match := _IN_DOCUMENT.match(self.text, self.at)) is not None:
                plain.append(match[0])
                self.at = match.end()
            else:
                self._escaped_or_expanded(found, plain, "$`\\")
        if plain:
            found.append(Literal("".join(plain), quoted=True))
        return tuple(found)

    def _escaped_or_expanded(self, found: list[Piece], plain: list[str], escapable: str) -> None:
        """A backslash or an expansion where only those mean something."""
        self.count()
        if self.text[self.at] == "\\":
            after = self.text[self.at + 1 : self.at + 2]
            if after and after in escapable:
                plain.append(after)
            elif after != "\n":
                plain.append("\\" + after)
            self.at = min(self.at + 2, self.size)
            return
        piece = self.expansion(quoted=True)
        if piece is None:
            plain.append("$")
            return
        if plain:
            found.append(Literal("".join(plain), quoted=True))
            plain.clear()
        found.extend(piece if isinstance(piece, list) else [piece])

    def array(self) -> tuple[Element, ...]:
        """The elements of `(…)`; the parenthesis has been read."""
        self.nest()
        text = self.text
        start = self.at
        found: list[Element] = []
        while True:
            gap = _ARRAY_GAP.match(text, self.at)
            self.at = gap.end() if gap is not None else self.at
            here = self.peek()
            if here == ")":
                self.at += 1
                self.budget.nesting += 1
                return tuple(found)
            if not here:
                raise Broken("an array is never closed", start)
            key: Parts | None = None
            if here == "[":
                kept = self.at
                self.at += 1
                key = self.bracketed("]")
                if text.startswith("+=", self.at):
                    self.at += 2
                elif text.startswith("=", self.at):
                    self.at += 1
                else:
                    key, self.at = None, kept
            before = self.at
            word = self.word()
            if self.at == before and key is None:
                raise Broken("this can't stand in an array", self.at)
            self.budget.spend()
            found.append(Element(key, word))

    def assignment(self) -> Assignment | None:
        """The assignment that starts here, if one does."""
        start = self.at
        match = _ASSIGNMENT.match(self.text, start)
        if match is None:
            return None
        index = None
        append = match[2] == "+="
        self.at = match.end()
        if match[2] == "[":
            index = self._subscript()
            operator = self.text[self.at : self.at + 2]
            append = operator == "+="
            if index is None or not (append or operator.startswith("=")):
                self.at = start
                return None
            self.at += 1 + append
        value: Word | tuple[Element, ...]
        if self.peek() == "(":
            self.at += 1
            value = self.array()
        else:
            before = self.at
            value = self.word()
            if self.at == before:
                value = plain_word("")
        begin, end = self.place(start, self.at)
        return Assignment(begin, end, match[1], value, append, index)

    def _subscript(self) -> Parts | None:
        """What stands between `[` and `]`; None if it isn't a subscript."""
        troubles, nesting = len(self.troubles), self.budget.nesting
        try:
            return self.bracketed("]")
        except Broken as problem:
            if problem.fatal:
                raise
            self.budget.nesting = nesting
            del self.troubles[troubles:]
            return None
