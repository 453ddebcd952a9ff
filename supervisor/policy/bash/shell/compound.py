"""The compound commands of the grammar: from `{` to `esac`."""

import re
from abc import abstractmethod
from typing import Final

from supervisor.policy.bash.shell.cursor import Broken
from supervisor.policy.bash.shell.redirections import Redirections
from supervisor.policy.bash.shell.scanner import PLAIN_WORDS
from supervisor.policy.bash.shell.syntax import (
    Calculation,
    Case,
    Command,
    Condition,
    Coprocess,
    Count,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Sequence,
    While,
    Word,
    plain_word,
    plain_words,
)

_TEST_OPERATOR: Final = re.compile(r"&&|\|\||[()<>!](?=[ \t\n]|$)|[()<>]")
_LACKS_WORD: Final = re.compile(r"(?:\A|[&|(!<>])(?:[&|)<>]|\Z)")
"""A condition's operators, by their first signs, between which no word stands (`x`)."""
_NAME_WORD: Final = re.compile(r"[^ \t\n|&;()<>]+")
_IN: Final = re.compile(r"in(?=[ \t\n;]|\\\n|$)")
_EMPTY_MIDDLE: Final = re.compile(r"[^;]*;[ \t\n]*;")
_CASE_END: Final = re.compile(r";;&|;;|;&")
_COPROC_NAME: Final = re.compile(
    r"([A-Za-z_][A-Za-z0-9_]*)[ \t]+(?=[{(]|(?:if|while|until|for|case|select)[ \t\n])"
)


class Compounds(Redirections):
    """Reads compound commands; lists and simple commands are its heirs' matter."""

    @abstractmethod
    def lines(self) -> None:
        """Step over blanks, comments and newlines."""

    @abstractmethod
    def sequence(self) -> Sequence:
        """Lists up to a closer."""

    @abstractmethod
    def pipeline(self) -> Pipeline:
        """One pipeline."""

    @abstractmethod
    def reserved(self) -> str:
        """The reserved word that stands here."""

    @abstractmethod
    def command(self) -> Command:
        """One command."""

    @abstractmethod
    def function(self, start: int, name: str) -> Function:
        """A definition, its name read."""

    def compound(self, here: str) -> Command:
        """The compound command that starts here, with its redirects."""
        self.nest()
        start = self.at
        word = "(" if here == "(" else self.reserved()
        readers = {
            "(": self.parenthesis, "{": self.braces, "if": self._if, "while": self._while,
            "until": self._while, "for": self._for, "select": self._for, "case": self._case,
            "[[": self._condition, "function": self._function, "coproc": self._coproc,
        }  # fmt: skip
        reader = readers.get(word)
        if reader is None:
            raise Broken(f"{word!r} can't stand here", start)
        node = reader(start)
        if not isinstance(node, Function | Coprocess):
            self.redirects(node)
        node.start, node.end = self.place(start, self.at)
        self.budget.nesting += 1
        return node

    def expect(self, word: str, opened: int) -> None:
        """Step over a reserved word or a closer that must stand here."""
        self.lines()
        if not self.text.startswith(word, self.at):
            raise Broken(f"{word!r} is missing", opened)
        self.at += len(word)

    def braces(self, start: int) -> Command:
        """`{ …; }`."""
        self.at += 1
        body = self._filled(start)
        self.expect("}", start)
        return Group(start, self.at, [], body)

    def parenthesis(self, start: int) -> Command:
        """`( … )`, or a calculation."""
        if self.text.startswith("((", start):
            parts = self.calculation(start + 2)
            if parts is not None:
                return Calculation(start, self.at, [], parts)
        self.at = start + 1
        body = self._filled(start)
        self.expect(")", start)
        return Group(start, self.at, [], body, subshell=True)

    def _filled(self, start: int) -> Sequence:
        """Lists, at least one."""
        body = self.sequence()
        if not body.items:
            raise Broken("a group is empty", start)
        return body

    def _if(self, start: int) -> Command:
        node = If(start, start)
        self.at += 2
        while True:
            condition = self.sequence()
            self.expect("then", start)
            node.branches.append((condition, self.sequence()))
            word = self.reserved()
            if word == "elif":
                self.at += 4
                continue
            if word == "else":
                self.at += 4
                node.otherwise = self.sequence()
            self.expect("fi", start)
            return node

    def _while(self, start: int) -> Command:
        until = self.text.startswith("until", start)
        self.at += 5
        condition = self.sequence()
        return While(start, start, [], condition, self._body(start), until)

    def _body(self, start: int) -> Sequence:
        """`do …; done`, or braces in its place."""
        self.lines()
        if self.text.startswith(";", self.at):
            self.at += 1
            self.lines()
        if self.reserved() == "{":
            self.at += 1
            body = self.sequence()
            self.expect("}", start)
            return body
        self.expect("do", start)
        body = self.sequence()
        self.expect("done", start)
        return body

    def _for(self, start: int) -> Command:
        select = self.text.startswith("select", start)
        self.at += 6 if select else 3
        self.blanks()
        if self.text.startswith("((", self.at):
            inside = self.at + 2
            parts = self.calculation(inside)
            if parts is None:
                raise Broken("this loop's head is never closed", start)
            endless = _EMPTY_MIDDLE.match(self.text, inside, self.at) is not None
            self.blanks()
            if self.text.startswith(";", self.at):
                self.at += 1
            return Count(start, start, [], parts, self._body(start), endless)
        name = _NAME_WORD.match(self.text, self.at)
        if name is None:
            raise Broken("this loop has no variable", start)
        self.at = name.end()
        self.lines()
        words: list[Word] | None = None
        if _IN.match(self.text, self.at):
            self.at += 2
            words = []
            if (run := PLAIN_WORDS.match(self.text, self.at)) is not None:
                words += plain_words(run[0])
                self.at = run.end()
            self.blanks()
            while self.peek() not in ("", "\n", ";", "&", "|", ")", "#"):
                before = self.at
                words.append(self.word())
                if self.at == before:
                    raise Broken("this can't stand in a list of words", before)
                self.blanks()
        return For(start, start, [], name[0], words, self._body(start), select)

    def _case(self, start: int) -> Command:
        self.at += 4
        self.lines()
        node = Case(start, start, [], self.word())
        self.lines()
        if not self.text.startswith("in", self.at):
            raise Broken("'in' is missing", start)
        self.at += 2
        while True:
            self.lines()
            if self.reserved() == "esac":
                self.at += 4
                return node
            if self.peek() == "(":
                self.at += 1
                self.blanks()
            patterns: list[Word] = []
            while True:
                before = self.at
                patterns.append(self.word())
                if self.at == before:
                    raise Broken("a pattern is missing", start)
                self.blanks()
                if self.peek() == "|":
                    self.at += 1
                    self.blanks()
                    continue
                break
            self.expect(")", start)
            node.items.append((patterns, self.sequence()))
            end = _CASE_END.match(self.text, self.at)
            if end is not None:
                self.at = end.end()
                node.falls = node.falls or end[0] != ";;"

    def _condition(self, start: int) -> Command:
        node = Condition(start, start)
        text = self.text
        self.at += 2
        regex = False
        signs = ""
        while True:
            self.lines()
            here = self.at
            if not self.peek():
                raise Broken("a condition is never closed", start)
            if text.startswith("]]", here) and text[here + 2 : here + 3] in "\n \t;&|()<>":
                self.at += 2
                if _LACKS_WORD.search(signs):
                    raise Broken("a condition lacks a word", start)
                return node
            operator = None if regex else _TEST_OPERATOR.match(text, here)
            if operator is not None and not text.startswith(("<(", ">("), here):
                self.at = operator.end()
                node.words.append(plain_word(operator[0]))
                signs += operator[0][0]
                self.count()
                continue
            signs += "x"
            if regex:
                parts = self.parts(regex=True)
                word = Word(None, parts)
            else:
                word = self.word()
            if self.at == here:
                raise Broken("this can't stand in a condition", here)
            regex = text[here : self.at] == "=~"
            if regex:
                word = plain_word("=~")
            node.words.append(word)
            self.count()

    def _function(self, start: int) -> Command:
        self.at += 8
        self.blanks()
        name = _NAME_WORD.match(self.text, self.at)
        if name is None:
            raise Broken("a function has no name", start)
        self.at = name.end()
        self.blanks()
        if self.peek() == "(":
            self.at += 1
            self.expect(")", start)
        return self.function(start, name[0])

    def _coproc(self, start: int) -> Command:
        self.at += 6
        self.blanks()
        name = _COPROC_NAME.match(self.text, self.at)
        if name is not None:
            self.at = name.end()
        return Coprocess(
            start, start, [], name[1] if name is not None else "COPROC", self.command()
        )
