"""Regular expressions over paths (`find -regex`) as globs of the same paths."""

from typing import Final

MOST_GLOBS: Final = 32
_DEEPEST: Final = 12
_SIGNS: Final = frozenset("*?[]\\")


class _Hard(Exception):
    """The expression has a form that no glob says."""


def path_globs(expression: str, *, extended: bool) -> tuple[str, ...]:
    """Globs of which one at least fits each path that the expression fits; none if it is too hard.

    `extended` says that `(`, `)`, `|` and `{` are signs by themselves, as in the POSIX extended
    syntax; else they are where a backslash stands before them (Emacs, POSIX basic).
    """
    reader = _Reader(expression, extended=extended)
    try:
        found = reader.either(_DEEPEST)
    except _Hard:
        return ()
    if reader.at < len(expression):
        return ()
    return tuple(dict.fromkeys(_tidy(each) for each in found))


def _tidy(glob: str) -> str:
    while "**" in glob:
        glob = glob.replace("**", "*")
    return glob


class _Reader:
    """Reads an expression from left to right; each part is the globs that it may be."""

    def __init__(self, text: str, *, extended: bool) -> None:
        self.text = text
        self.extended = extended
        self.at = 0

    def either(self, depth: int) -> list[str]:
        """Alternatives."""
        if not depth:
            raise _Hard
        found = self._row(depth)
        while self._sign("|"):
            found += self._row(depth)
        return _few(found)

    def _row(self, depth: int) -> list[str]:
        found = [""]
        while self.at < len(self.text) and not self._is("|") and not self._is(")"):
            piece = self._counted(depth)
            found = _few([start + each for start in found for each in piece])
        return found

    def _counted(self, depth: int) -> list[str]:
        """One piece with the sign behind it that says how often."""
        piece = self._piece(depth)
        while self.at < len(self.text):
            sign = self.text[self.at]
            if sign == "\\" and self.text[self.at + 1 : self.at + 2] in ("+", "?"):
                self.at += 1
                sign = self.text[self.at]
            if sign == "*":
                piece = ["*"]
            elif sign == "+":
                piece = [each + "*" for each in piece]
            elif sign == "?":
                piece = ["", *piece]
            elif self._sign("{"):
                end = self.text.find("}", self.at)
                if end < 0:
                    raise _Hard
                self.at = end
                piece = ["*"]
            else:
                break
            self.at += 1
        return piece

    def _piece(self, depth: int) -> list[str]:
        if self._sign("("):
            found = self.either(depth - 1)
            if not self._sign(")"):
                raise _Hard
            return found
        each = self.text[self.at]
        self.at += 1
        if each in "^$":
            return [""]
        if each == ".":
            return ["?"]
        if each == "[":
            return [self._set()]
        if each == "\\":
            each = self.text[self.at : self.at + 1]
            self.at += 1
            if not each or each.isalnum() or each in "<>`'":
                raise _Hard
        return [f"\\{each}" if each in _SIGNS else each]

    def _set(self) -> str:
        start = self.at
        self.at += 1 if self.text[start : start + 1] == "^" else 0
        end = self.text.find("]", self.at + 1)
        if end < 0 or "[:" in self.text[start:end]:
            raise _Hard
        self.at = end + 1
        inner = self.text[start:end]
        return f"[!{inner[1:]}]" if inner[0] == "^" else f"[{inner}]"

    def _is(self, sign: str) -> bool:
        """Whether the sign stands here, in the syntax at hand."""
        return self.text.startswith(sign if self.extended else f"\\{sign}", self.at)

    def _sign(self, sign: str) -> bool:
        if not self._is(sign):
            return False
        self.at += 1 if self.extended else 2
        return True


def _few(found: list[str]) -> list[str]:
    if len(found) > MOST_GLOBS:
        raise _Hard
    return found
