"""Reads redirects and the here-documents that some of them announce."""

import re
from abc import abstractmethod
from typing import Final

from supervisor.policy.bash.shell.cursor import Broken
from supervisor.policy.bash.shell.limits import Budget
from supervisor.policy.bash.shell.scanner import Scanner
from supervisor.policy.bash.shell.syntax import (
    Command,
    HereDocument,
    Literal,
    Parts,
    Redirection,
    Script,
    Sequence,
    Substitution,
    Word,
)

_REDIRECT: Final = re.compile(
    r"([0-9]+|\{[A-Za-z_][A-Za-z0-9_]*\})?"
    r"(<(?:\\\n)*<(?:\\\n)*<|<<-|<(?:\\\n)*<|<>|<&|>&|>(?:\\\n)*>|>\||&>>|&>|<|>)"
)
_DELIMITER: Final = re.compile(
    r"(?:\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"|[^ \t\n|&;()<>'\"\\])+", re.DOTALL
)
_DELIMITER_QUOTES: Final = re.compile(r"\$?'([^']*)'|\$?\"((?:[^\"\\]|\\.)*)\"|\\(.)", re.DOTALL)
REDIRECTS: Final = frozenset("<>&0123456789{")
"""What a redirect may start with."""


class Redirections(Scanner):
    """Reads redirects; commands are its heirs' matter."""

    def __init__(self, text: str, budget: Budget, fixed: tuple[int, int] | None = None) -> None:
        super().__init__(text, budget, fixed)
        self.pending: list[HereDocument] = []
        self.documented_length = 0
        """Characters of the text that are bodies of here-documents."""

    @abstractmethod
    def recognised(self) -> Sequence:
        """The simple commands met so far."""

    @abstractmethod
    def another(self, text: str, place: tuple[int, int]) -> "Redirections":
        """A reader for a text that stood at this place."""

    def redirects(self, node: Command) -> None:
        """Those that follow a compound command."""
        while True:
            self.blanks()
            redirect = self.redirect() if self.peek() in REDIRECTS else None
            if redirect is None:
                return
            node.redirects.append(redirect)

    def redirect(self) -> Redirection | None:
        """The redirect that starts here, if one does."""
        text, start = self.text, self.at
        match = _REDIRECT.match(text, start)
        if match is None or (
            match[2] in "<>" and not match[1] and text.startswith("(", match.end())
        ):
            return None
        self.afford()
        operator = match[2].replace("\\\n", "")
        self.at = match.end()
        self.blanks()
        target: Word | HereDocument
        if operator in ("<<", "<<-"):
            target = self._delimiter(operator)
        else:
            before = self.at
            target = self.word()
            if self.at == before:
                raise Broken("a redirect has no target", before)
        begin, end = self.place(start, self.at)
        return Redirection(operator, (match[1] or "").strip("{}"), target, begin, end)

    def _delimiter(self, operator: str) -> HereDocument:
        match = _DELIMITER.match(self.text, self.at)
        if match is None:
            raise Broken("a here-document has no end word", self.at)
        self.at = match.end()
        raw = match[0].replace("\\\n", "")
        quoted = any(each in raw for each in "'\"\\")
        delimiter = _DELIMITER_QUOTES.sub(lambda m: m[1] or m[2] or m[3] or "", raw)
        document = HereDocument(delimiter, quoted, operator == "<<-")
        self.pending.append(document)
        return document

    def documents(self) -> None:
        """Read the bodies that are due; a newline has just been read."""
        pending, self.pending = self.pending, []
        for document in pending:
            start = self.at
            body = self._document_body(document)
            self.documented_length += self.at - start
            if not document.closed:
                self.note(Broken("a here-document is never closed", start))
            if document.quoted:
                document.parts = (Literal(body, quoted=True),)
                continue
            reader = self.another(body, self.place(start, self.at))
            document.parts = reader.documented()
            self.troubles.extend(reader.troubles)

    def _document_body(self, document: HereDocument) -> str:
        """The lines up to the end word's; in an unquoted one continued lines are joined first."""
        text = self.text
        found: list[str] = []
        while self.at < self.size:
            end = text.find("\n", self.at)
            line = text[self.at : end if end >= 0 else self.size]
            self.at = end + 1 if end >= 0 else self.size
            if not document.quoted:
                while _continued(line) and self.at < self.size:
                    end = text.find("\n", self.at)
                    line = line[:-1] + text[self.at : end if end >= 0 else self.size]
                    self.at = end + 1 if end >= 0 else self.size
            if document.strip:
                line = line.lstrip("\t")
            if line == document.delimiter:
                document.closed = True
                break
            found.append(line + "\n")
        return "".join(found)

    def documented(self) -> Parts:
        """This whole text as an unquoted here-document's body."""
        try:
            return self.document()
        except Broken as problem:
            if problem.fatal:
                raise
            self.note(problem)
            script = Script(self.recognised(), [], *self.place(0, self.size))
            return (Literal(self.text, quoted=True), Substitution(script, quoted=True))


def _continued(line: str) -> bool:
    """Whether a line ends in a backslash that no other one takes."""
    return line.endswith("\\") and (len(line) - len(line.rstrip("\\"))) % 2 == 1
