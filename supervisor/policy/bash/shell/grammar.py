"""The shell's grammar, as bash reads it: lists, pipelines, simple commands.

Exact where tree-sitter's grammar is known to err. What is malformed is read on after the fault,
command by command, so that what can be recognised still is; the trouble is noted.
"""

import re
from typing import Final

from supervisor.policy.bash.shell.compound import Compounds
from supervisor.policy.bash.shell.cursor import SKIPPED, Broken
from supervisor.policy.bash.shell.limits import Budget
from supervisor.policy.bash.shell.redirections import REDIRECTS
from supervisor.policy.bash.shell.scanner import PLAIN_WORD, PLAIN_WORDS
from supervisor.policy.bash.shell.syntax import (
    AndOr,
    Assignment,
    Command,
    Function,
    Pipeline,
    Script,
    Sequence,
    Simple,
    Trouble,
    Word,
    plain_words,
)

_RESERVED: Final = re.compile(
    r"(if|then|elif|else|fi|while|until|for|select|do|done|case|esac|function|time|coproc|\{|\}|!"
    r"|\[\[)(?=[ \t\n;&|()<>]|\\\n|$)"
)
_ENDING: Final = frozenset(("", "\n", ";", "|", ")", "#"))
_BREAKS: Final = frozenset(("", "\n", ")", "#"))
_CLOSERS: Final = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})
_PREFIX: Final = re.compile(r"(?:!|time(?:[ \t]+-p)?(?:[ \t]+--)?)(?=[ \t\n;&|()<>]|\\\n|$)")
_AND_OR: Final = re.compile(r"&(?:\\\n)*&|\|(?:\\\n)*\|")
_PIPE: Final = re.compile(r"\|(?:\\\n)*&|\|(?!(?:\\\n)*\|)")
_SEPARATOR: Final = re.compile(r";(?![;&])|&(?!(?:\\\n)*&)")
_PLAIN_COMMAND: Final = re.compile(
    rf"[ \t]*({PLAIN_WORD}(?:[ \t]+{PLAIN_WORD})*)[ \t]*"
    r"(?=([\n|;)#]|&(?!>)|$)?)"
)
"""Words in which nothing means anything to the shell, with the blanks around them, and what stands
behind if the command ends there."""

_DECLARES: Final = frozenset({"declare", "typeset", "local", "export", "readonly", "alias"})
_FUNCTION_NAME: Final = re.compile(r"[ \t]*\([ \t]*\)")
_FAULTY: Final = re.compile(r"[^\n;&|(){}`]*[\n;&|(){}`]?")
"""What is left out behind a fault."""

_SALVAGE: Final = 20
"""What going on behind a fault costs."""


class Grammar(Compounds):
    """Reads a whole text into a script.

    `simples` are all simple commands met so far, `starts` where they begin in this text.
    """

    def __init__(self, text: str, budget: Budget, fixed: tuple[int, int] | None = None) -> None:
        super().__init__(text, budget, fixed)
        self.simples: list[Simple] = []
        self.starts: list[int] = []

    def another(self, text: str, place: tuple[int, int]) -> "Grammar":
        """A reader for a text that stood at this place."""
        return Grammar(text, self.budget, place)

    def whole(self) -> Script:
        """All of the text; never fails, its troubles say what couldn't be read."""
        nesting = self.budget.nesting
        try:
            body = self.sequence()
        except Broken as problem:
            body = self._salvaged(problem, nesting)
        else:
            if self.at < self.size:
                body = self._salvaged(self._misplaced(), nesting)
        if self.pending:
            self.note(Broken("a here-document is never begun", self.size))
        self.budget.nesting = nesting
        start, end = self.place(0, self.size)
        return Script(body, self.troubles, start, end)

    def script(self, closer: str) -> Script:
        """Commands up to the closer of a substitution."""
        self.nest()
        start = self.at
        body = self.sequence()
        if not self.text.startswith(closer, self.at):
            raise Broken("a substitution is never closed", start)
        self.at += len(closer)
        self.budget.nesting += 1
        begin, end = self.place(start, self.at)
        return Script(body, [], begin, end)

    def inner(self, text: str, place: tuple[int, int]) -> Script:
        """A text of its own, at one place of this one."""
        self.nest()
        script = Grammar(text, self.budget, place).whole()
        self.troubles.extend(script.troubles)
        self.budget.nesting += 1
        return script

    def _token(self) -> str:
        return self.text[self.at : self.at + 12].split("\n", 1)[0].split(" ", 1)[0]

    def _salvaged(self, problem: Broken, nesting: int) -> Sequence:
        """Go on behind each fault, one command at a time, and keep what was recognised."""
        while True:
            self.budget.nesting = nesting
            self.note(problem)
            if problem.fatal or not self.budget.spend(_SALVAGE):
                break
            self.at = max(self.at, problem.start)
            skip = _FAULTY.match(self.text, self.at)
            self.at = max(skip.end() if skip is not None else 0, self.at + 1)
            if self.at >= self.size:
                break
            try:
                self.sequence()
                if self.at >= self.size:
                    break
                problem = Broken("what comes before doesn't fit", self.at)
            except Broken as again:
                problem = again
        return self.recognised()

    def recognised(self) -> Sequence:
        """The simple commands met so far, one after the other."""
        return Sequence([AndOr([("", Pipeline([each]))]) for each in self.simples])

    # Lists

    def lines(self) -> None:
        """Step over blanks, comments and newlines; read the here-documents that are due."""
        text, size = self.text, self.size
        while self.at < size:
            here = text[self.at]
            if here in SKIPPED:
                here = self.blanks()
            if here == "#":
                end = text.find("\n", self.at)
                self.at = self.size if end < 0 else end
            elif here == "\n":
                self.at += 1
                if self.pending:
                    self.documents()
            else:
                return

    def sequence(self) -> Sequence:
        """Lists up to a closer (which isn't read) or the end."""
        found = Sequence()
        text = self.text
        size = self.size
        while True:
            self.lines()
            here = text[self.at] if self.at < size else ""
            if not here or here == ")":
                return found
            if here == ";" and text.startswith((";;", ";&"), self.at):
                return found
            if here in "tefdet}" and self.reserved() in _CLOSERS:
                return found
            item = self._and_or()
            found.items.append(item)
            here = text[self.at] if self.at < size else ""
            if here in SKIPPED:
                here = self.blanks()
            if here in _BREAKS:
                continue
            separator = _SEPARATOR.match(text, self.at) if here in (";", "&") else None
            if separator is not None:
                self.at = separator.end()
                item.background = here == "&"
            elif here != ";":
                if self.reserved() in _CLOSERS:
                    return found
                raise self._misplaced()

    def reserved(self) -> str:
        """The reserved word that stands here, if one does."""
        match = _RESERVED.match(self.text, self.at)
        return match[1] if match is not None else ""

    def _and_or(self) -> AndOr:
        links = [("", self.pipeline())]
        while True:
            here = self.text[self.at] if self.at < self.size else ""
            match = _AND_OR.match(self.text, self.at) if here in ("&", "|") else None
            if match is None:
                return AndOr(links)
            self.at = match.end()
            self.lines()
            links.append((match[0][0] * 2, self.pipeline()))

    def pipeline(self) -> Pipeline:
        """Commands joined by bars, after any `!` and `time`."""
        text, size = self.text, self.size
        while self.at < size and text[self.at] in "!t":
            prefix = _PREFIX.match(text, self.at)
            if prefix is None:
                break
            self.at = prefix.end()
            if self.blanks() in ("", "\n", ";", "&", ")"):
                return Pipeline([])
        stages = [self.command()]
        while True:
            here = text[self.at] if self.at < size else ""
            if here in SKIPPED:
                here = self.blanks()
            if here != "|":
                return Pipeline(stages)
            match = _PIPE.match(text, self.at)
            if match is None:
                return Pipeline(stages)
            self.at = match.end()
            self.lines()
            stages.append(self.command())

    def command(self) -> Command:
        """One command with its redirects."""
        here = self.text[self.at] if self.at < self.size else ""
        if here in "(iwufsctdeb{}![" and (here == "(" or self.reserved()):
            return self.compound(here)
        return self.simple()

    def simple(self) -> Command:
        """Assignments, words and redirects in any order; or a function's definition."""
        self.afford()
        start = self.at
        run = _PLAIN_COMMAND.match(self.text, start)
        if run is None:
            return self._mixed(start, start, [])
        words: list[Word | Assignment] = [*plain_words(run[1])]
        first, name = run.start(1), words[0].plain or ""  # type: ignore[union-attr]
        if name in _DECLARES:
            self.at = first + len(name)
            return self._mixed(start, first, words[:1], declares=True)
        if "=" in name:
            return self._mixed(start, start, [])
        self.at = run.end()
        if run[2] is None:
            return self._mixed(start, first, words)
        start, end = self.fixed or (start, run.end(1))
        node = Simple(start, end, [], [], words, fixed=True)
        self.simples.append(node)
        self.starts.append(first)
        return node

    def _mixed(
        self, start: int, first: int, words: list[Word | Assignment], *, declares: bool = False
    ) -> Command:
        """The rest of a command whose first words, from `first` on, have been read."""
        fixed = True
        node = Simple(start, start, words=words)
        self.simples.append(node)
        while here := self._behind():
            if here == "(":
                return self._definition(node)
            before = self.at
            if here in REDIRECTS and (redirect := self.redirect()) is not None:
                node.redirects.append(redirect)
            elif (declares or not words) and (assignment := self.assignment()) is not None:
                fixed = False
                if words:
                    words.append(assignment)
                else:
                    node.assignments.append(assignment)
            else:
                word = self._must(self.word(), before)
                fixed = fixed and word.value is not None
                if not words:
                    first, declares = before, word.plain in _DECLARES
                words.append(word)
            if (
                words
                and not declares
                and (run := PLAIN_WORDS.match(self.text, self.at)) is not None
            ):
                words += plain_words(run[0])
                self.at = run.end()
        self.starts.append(first)
        node.fixed = fixed
        node.start, node.end = self.fixed or (
            start,
            start + len(self.text[start : self.at].rstrip(" \t")),
        )
        if not words and not node.assignments and not node.redirects:
            self.simples.pop()
            raise self._misplaced()
        return node

    def _behind(self) -> str:
        """The character behind the blanks, if the command goes on with it; else empty."""
        here = self.text[self.at] if self.at < self.size else ""
        if here in SKIPPED:
            here = self.blanks()
        if here in _ENDING or (here == "&" and not self.text.startswith("&>", self.at)):
            return ""
        return here

    def _must(self, word: Word, before: int) -> Word:
        """The word, if one was read; it costs something."""
        if self.at == before:
            raise self._misplaced()
        self.afford()
        return word

    def _misplaced(self) -> Broken:
        return Broken(f"{self._token()!r} can't stand here", self.at)

    def _definition(self, node: Simple) -> Command:
        """A function's definition, its name read as a word."""
        name = _FUNCTION_NAME.match(self.text, self.at)
        if len(node.words) != 1 or node.assignments or node.redirects or name is None:
            raise Broken("a parenthesis can't stand here", self.at)
        self.simples.pop()
        self.at = name.end()
        return self.function(node.start, self.text[node.start : name.start()].rstrip())

    def function(self, start: int, name: str) -> Function:
        """A definition, its name and parentheses read."""
        self.nest()
        self.lines()
        begin = self.at
        if self.peek() == "{":
            # zsh takes a brace here without a blank after it; a reader can't know which shell runs.
            body: Command = self.braces(begin)
            self.redirects(body)
        else:
            body = self.command()
        if isinstance(body, Simple | Function):
            # zsh takes it; bash says that the text is wrong, and runs none of it.
            self.troubles.append(Trouble("a function's body stands without braces", start, begin))
        source = self.text[begin : self.at]
        begin, end = self.place(start, self.at)
        self.budget.nesting += 1
        return Function(begin, end, [], name, body, source)

    # Redirects
