"""awk's programs: `system`, pipes, and files that are read and written."""

import re
from typing import Final

from supervisor.policy.bash.awk_values import Words, expression, printed, variables
from supervisor.policy.bash.code_loops import goes_on, spins
from supervisor.policy.bash.effect import Act
from supervisor.policy.bash.literals import A_SHELL, doubtful
from supervisor.policy.bash.places import join
from supervisor.policy.bash.use import NO_FILES, Use
from supervisor.policy.bash.value import HOLE, known

_TOKEN: Final = re.compile(
    r'(?P<text>"(?:[^"\\\n]|\\.)*")|(?P<comment>\#[^\n]*)|(?P<name>[A-Za-z_]\w*)|(?P<number>\d[\w.]*)'
    r"|(?P<sign>\|&|>>|\|\||==|!=|>=|<=|.)|(?P<space>\s+)",
    re.DOTALL,
)
_REGEX: Final = re.compile(r"/(?:[^/\\\n]|\\.)+/")
_OPERANDS: Final = frozenset({"text", "number", "name"})
_PRINTS: Final = frozenset({"print", "printf"})
_ENDS: Final = frozenset({";", "\n", "}"})
_SHELLS: Final = re.compile(rf"{A_SHELL}(?:\s+-s?)?\s*")
_LOADS: Final = re.compile(r"@(?:load|include)\b\s*\"?([^\"\n]*)")
_MOST_RECORDS: Final = 8


def awk(use: Use, code: str) -> None:
    """What a program of awk runs, reads and writes, for each line of an input that is known."""
    tokens = tokens_of(code)
    names = variables(use)
    stdin = use.invocation.stdin
    text = stdin.text.only if stdin is not None else None
    if text is None or ("$" not in code and "print" not in code):
        _Program(use, tokens, names, None).run()
    else:
        for line in text.split("\n")[:_MOST_RECORDS]:
            _Program(use, tokens, dict(names), line).run()
    if "@" in code and _LOADS.search(code):
        use.unknown("loads code into awk")
        for each in _LOADS.finditer(code):
            use.emit(Act.READ, "is read by awk", known(each[1]))


class _Program:
    """One run through the tokens of a program."""

    def __init__(self, use: Use, tokens: Words, names: dict[str, str], record: str | None) -> None:
        self.use = use
        self.tokens = tokens
        self.kinds = [each for each, _ in tokens]
        self.texts = [each for _, each in tokens]
        self.names = names
        self.record = record
        self.inet = any(kind == "text" and text.startswith("/inet") for kind, text in tokens)
        self.spins = spins(self.texts)
        self.runs = self.reads = False
        """Whether it runs, or reads, what can't be told."""

    def value(self, at: int) -> str:
        """What the expression is that begins there."""
        return expression(self.tokens, at, self.names, self.record)

    def run(self) -> None:  # noqa: C901 - one case a kind of word
        """All that it does."""
        texts, kinds = self.texts, self.kinds
        began, deep = -1, 0
        for at, text in enumerate(texts):
            kind = kinds[at]
            if kind == "name" and texts[at + 1 : at + 2] == ["="]:
                self.names[text] = self.value(at + 2)
            if kind == "name" and text in _PRINTS:
                began, deep = at, 0
            elif kind != "text" and text in _ENDS:
                began = -1
            elif kind == "sign" and text in "()":
                deep += 1 if text == "(" else -1
            elif kind == "name" and (text == "system" or self.by_name(at)):
                self.script(self.value(at + 1))
            elif kind == "name" and text == "readfile" and texts[at + 1 : at + 2] == ["("]:
                self.file(self.value(at + 1))
            elif kind == "name" and text == "getline":
                self.getline(at)
            elif kind == "name" and text == "ENVIRON":
                self.environment(at)
            elif kind == "name" and text == "ARGV":
                self.argument(at)
            elif kind == "sign" and began >= 0 and deep == 0 and text in {">", ">>", "|", "|&"}:
                self.output(text, self.value(at + 1), began, at)
        if self.runs or self.reads:
            held = [text for kind, text in self.tokens if kind == "text"]
            doubtful(self.use, [*held, *self.names.values()], "system" if self.runs else "")

    def by_name(self, at: int) -> bool:
        """Whether this is `@NAME`, where the variable holds the name of `system`."""
        return at > 0 and self.texts[at - 1] == "@" and self.names.get(self.texts[at]) == "system"

    def script(self, text: str) -> None:
        """A text that a shell runs."""
        if self.inet and not text.strip(HOLE):
            self.use.emit(Act.REMOTE_SHELL, "runs what the network says")
        self.runs = self.runs or not text.strip(HOLE)
        if self.spins and goes_on(text):
            self.use.emit(Act.EXHAUST, "starts programs without end")
        self.use.script(known(text))

    def argument(self, at: int) -> None:
        """`ARGV[1] = NAME`: another file to read."""
        texts = self.texts
        if texts[at + 1 : at + 2] == ["["] and texts[at + 3 : at + 5] == ["]", "="]:
            self.use.emit(Act.READ, "is read by awk", known(self.value(at + 5)))

    def output(self, sign: str, target: str, began: int, at: int) -> None:
        """What is printed goes to a file, to a program, or to the network."""
        if sign.startswith("|"):
            self.script(target)
            if _SHELLS.fullmatch(target):
                self.script(printed(self.tokens, began + 1, at, self.names, self.record))
        elif target.startswith("/inet"):
            host = re.match(r"/inet\d?/\w+/\d+/([^/]+)", target)
            self.use.send(known(host[1] if host else HOLE))
        elif target not in NO_FILES:
            self.use.emit(Act.WRITE, "is written by awk", known(target))
            text = printed(self.tokens, began + 1, at, self.names, self.record)
            self.use.look.kept.hold(join(self.use.cwd, known(target)), text)

    def getline(self, at: int) -> None:
        """`COMMAND | getline`, `getline < FILE`."""
        tokens = self.tokens
        if at > 1 and tokens[at - 1][1] in {"|", "|&"}:
            start = at - 2
            while start > 0 and tokens[start - 1][0] == "text":
                start -= 1
            text = printed(tokens, start, at - 1, self.names, self.record)
            if "/inet" in text:  # what the network says is read, and not run
                self.use.send(None)
            else:
                self.script(text)
            return
        for place in range(at + 1, min(at + 4, len(tokens))):
            if tokens[place][1] == "<":
                self.file(self.value(place + 1))
                return

    def file(self, name: str) -> None:
        """A file that is read beside the input."""
        if name not in {"-", *NO_FILES}:
            self.reads = self.reads or not name.strip(HOLE)
            self.use.emit(Act.READ, "is read by awk", known(name))

    def environment(self, at: int) -> None:
        """`ENVIRON["NAME"]`, or all of it."""
        texts, kinds = self.texts, self.kinds
        named = at + 2 < len(texts) and texts[at + 1] == "[" and kinds[at + 2] == "text"
        if not named or re.search(r"key|token|secret|passw|cred", texts[at + 2], re.IGNORECASE):
            self.use.emit(Act.REVEAL, "prints the environment, which may hold secrets")


def tokens_of(code: str) -> list[tuple[str, str]]:
    """Kinds and texts; a `/` starts a pattern where no operand stands before it."""
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(code):
        kind, text = found[-1] if found else ("", "")
        operand = (kind in _OPERANDS and text not in _PRINTS) or text in {")", "]"}
        each = _REGEX.match(code, at) if code[at] == "/" and not operand else None
        if each is not None:
            found.append(("number", "1"))
            at = each.end()
            continue
        each = _TOKEN.match(code, at)
        if each is None:
            break
        at = each.end()
        kind, text = str(each.lastgroup), each[0]
        if kind == "comment" or (text.isspace() and text != "\n"):
            continue
        if kind == "text":
            text = re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text[1:-1])
        found.append((kind, text))
    return found
