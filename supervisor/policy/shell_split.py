"""Splits a shell command into simple commands and words: quotes, operators, redirects, here-texts.

A scanner for the common forms, not a grammar: it never fails, and where a form is open at the end
of the text it takes the rest as belonging to it.
"""

import re
from dataclasses import dataclass, field

_PLAIN = re.compile(r"[^\\'\"`$<>#\s|&;()]+")
_REDIRECT = re.compile(r"<<<|<<-?|<&|<>|>>|>\||>&|&>>?|[<>]")
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL
)
_LAST_CHARACTER = 0x10FFFF


@dataclass(slots=True)
class Word:
    """One word with its quotes taken off. `redirected`: it names what a redirect opens."""

    text: str = ""
    started: bool = False
    quoted: bool = False
    redirected: bool = False


@dataclass(slots=True)
class Command:
    """A simple command. `piped`: its output goes on; `documents`: here-texts it is given."""

    words: list[Word] = field(default_factory=list)
    piped: bool = False
    documents: list[str] = field(default_factory=list)


def split_shell(text: str) -> tuple[list[Command], list[str]]:
    """The simple commands of the text, and the texts inside that the shell runs by themselves."""
    scanner = _Scanner(text)
    scanner.run()
    return scanner.commands, scanner.nested


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.commands: list[Command] = []
        self.nested: list[str] = []
        self._command = Command()
        self._word = Word()
        self._redirect: str | None = None
        self._awaited: list[tuple[Command, Word, bool]] = []

    def run(self) -> None:
        while self.at < len(self.text):
            plain = _PLAIN.match(self.text, self.at)
            if plain is not None:
                self._say(plain.group(0), plain.end())
            elif not self._quotation() and not self._boundary():
                self._say(self.text[self.at], self.at + 1)
        self._end_command(piped=False)

    def _say(self, said: str, upto: int, *, quoted: bool = False) -> None:
        self._word.text += said
        self._word.started = True
        self._word.quoted = self._word.quoted or quoted
        self.at = upto

    def _quotation(self) -> bool:
        text, at = self.text, self.at
        pair = text[at : at + 2]
        if text[at] == "\\":
            if pair == "\\\n":
                self.at += 2
            else:
                self._say(pair[1:], at + 2, quoted=pair[1:].isalnum())
        elif text[at] == "'" or pair == "$'":
            end, said = _single_quoted(text, at)
            self._say(said, end, quoted=True)
        elif text[at] == '"' or pair == '$"':
            end, said, nested = _double_quoted(text, at + len(pair) - (text[at] == '"'))
            self.nested.extend(nested)
            self._say(said, end, quoted=True)
        elif text[at] == "`" or pair in ("$(", "<(", ">("):
            end, inner = _substitution(text, at)
            self.nested.append(inner)
            self._say("", end)
        else:
            return False
        return True

    def _boundary(self) -> bool:
        text, c = self.text, self.text[self.at]
        if c == "#" and not self._word.started:
            newline = text.find("\n", self.at)
            self.at = len(text) if newline < 0 else newline
        elif c == "\n":
            self._end_command(piped=False)
            self.at += 1
            self._take_documents()
        elif c.isspace():
            self._end_word()
            self.at += 1
        elif (redirect := _REDIRECT.match(text, self.at)) is not None:
            if self._word.text.isdigit():
                self._word = Word()
            self._end_word()
            self._redirect = redirect.group(0)
            self.at = redirect.end()
        elif c in "|&;()":
            double = text[self.at : self.at + 2] in ("||", "&&", ";;", "|&")
            self._end_command(piped=c == "|" and text[self.at : self.at + 2] != "||")
            self.at += 2 if double else 1
        else:
            return False
        return True

    def _end_word(self) -> None:
        word, self._word = self._word, Word()
        if not word.started:
            return
        redirect, self._redirect = self._redirect, None
        if redirect in ("<<", "<<-"):
            self._awaited.append((self._command, word, word.quoted))
        elif redirect == "<<<":
            self._command.documents.append(word.text)
        else:
            word.redirected = redirect is not None
            self._command.words.append(word)

    def _end_command(self, *, piped: bool) -> None:
        self._end_word()
        command, self._command = self._command, Command()
        if command.words or command.documents:
            command.piped = piped
            self.commands.append(command)

    def _take_documents(self) -> None:
        """The here-texts that were announced on the line that just ended."""
        awaited, self._awaited = self._awaited, []
        for command, delimiter, literal in awaited:
            lines: list[str] = []
            while self.at < len(self.text):
                newline = self.text.find("\n", self.at)
                newline = len(self.text) if newline < 0 else newline
                line = self.text[self.at : newline]
                self.at = newline + 1
                if line.strip() == delimiter.text:
                    break
                lines.append(line)
            document = "\n".join(lines)
            command.documents.append(document)
            if not literal:
                self.nested.extend(_run_inside(document))


def _run_inside(document: str) -> list[str]:
    """What the shell runs while it expands a here-text."""
    nested: list[str] = []
    at = 0
    while at < len(document):
        at, _said, found = _double_quoted(document, at)
        nested.extend(found)
    return nested


def _single_quoted(text: str, at: int) -> tuple[int, str]:
    """A quotation in single quotes from `at` on: where it ends, and what it says."""
    if text[at] == "'":
        stop = text.find("'", at + 1)
        stop = len(text) if stop < 0 else stop
        return stop + 1, text[at + 1 : stop]
    stop = at + 2
    while stop < len(text) and text[stop] != "'":
        stop += 2 if text[stop] == "\\" else 1
    return stop + 1, _ESCAPE.sub(_unescape, text[at + 2 : stop])


def _unescape(match: re.Match[str]) -> str:
    for group, base in ((1, 16), (2, 16), (3, 16), (4, 8)):
        if match.group(group):
            code = int(match.group(group), base)
            return chr(code) if code <= _LAST_CHARACTER else ""
    plain = match.group(5)
    return {"n": "\n", "t": "\t", "r": "\r"}.get(plain, plain)


def _double_quoted(text: str, at: int) -> tuple[int, str, list[str]]:
    """What follows an opening double quote: where it ends, what it says, what it would run."""
    said: list[str] = []
    nested: list[str] = []
    while at < len(text) and text[at] != '"':
        if text[at] == "\\":
            said.append(text[at + 1 : at + 2])
            at += 2
        elif text[at] == "`" or text.startswith("$(", at):
            at, inner = _substitution(text, at)
            nested.append(inner)
        else:
            said.append(text[at])
            at += 1
    return at + 1, "".join(said), nested


def _substitution(text: str, at: int) -> tuple[int, str]:
    """What stands in `` `…` ``, `$(…)`, `<(…)`: where it ends, and the text inside."""
    if text[at] == "`":
        stop = at + 1
        while stop < len(text) and text[stop] != "`":
            stop += 2 if text[stop] == "\\" else 1
        return stop + 1, text[at + 1 : stop]
    start = stop = at + 2
    depth = 1
    while stop < len(text):
        c = text[stop]
        if c in "'\"":
            closing = text.find(c, stop + 1)
            stop = len(text) if closing < 0 else closing
        elif c == "\\":
            stop += 1
        elif c == "(":
            depth += 1
        elif c == ")":
            depth -= 1
            if depth == 0:
                return stop + 1, text[start:stop]
        stop += 1
    return len(text), text[start:]
