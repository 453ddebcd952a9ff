"""The shape of a shell script: what the two parsers make of a text and the walker walks.

Offsets are places in the text as it was given, so that a report can point at them. A text that
stood inside another one after its escapes were removed (backticks) has the outer place throughout.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias

from supervisor.policy.bash.shell.algebra import literal
from supervisor.policy.bash.value import Value

_SHORT: Final = 80


@dataclass(slots=True)
class Literal:
    """Characters of a word; `quoted` ones are taken as they are, the others may be a glob."""

    text: str
    quoted: bool


@dataclass(slots=True)
class Variable:
    """`$name`."""

    name: str
    quoted: bool


@dataclass(slots=True)
class Parameter:
    """`${…}`: `operator` is what follows the name (`:-`, `#`, `/`, `@`, `:`, …), if anything does.

    `length` is `${#x}`, `indirect` `${!x}`; `index` the parts of a subscript.
    """

    name: str
    quoted: bool
    index: "Parts | None" = None
    operator: str = ""
    argument: "Parts" = ()
    second: "Parts | None" = None
    length: bool = False
    indirect: bool = False


@dataclass(slots=True)
class Substitution:
    """`$(…)` and its older spelling."""

    script: "Script"
    quoted: bool


@dataclass(slots=True)
class Arithmetic:
    """`$((…))`: the parts of its expression."""

    parts: "Parts"
    quoted: bool


@dataclass(slots=True)
class Process:
    """`<(…)` or `>(…)`."""

    direction: str
    script: "Script"


Piece: TypeAlias = Literal | Variable | Parameter | Substitution | Arithmetic | Process
Parts: TypeAlias = tuple[Piece, ...]


@dataclass(slots=True)
class Word:
    """One word; `plain` is its text where nothing in it means anything to the shell.

    `value` is what it always becomes, quotes removed, where nothing in it is expanded.
    """

    plain: str | None
    parts: Parts = ()
    value: Value | None = None


@lru_cache(maxsize=4096)
def _short_word(text: str) -> Word:
    return Word(text, (), literal(text))


def plain_word(text: str) -> Word:
    """A word in which nothing means anything to the shell."""
    return _short_word(text) if len(text) <= _SHORT else Word(text, (), literal(text))


def plain_words(run: str) -> Iterable[Word]:
    """Such words, parted by blanks and tabs."""
    if "\t" in run:
        run = run.replace("\t", " ")
    found = run.split(" ")
    if "" in found:
        found = [each for each in found if each]
    return map(_short_word if len(run) <= _SHORT else plain_word, found)


@dataclass(slots=True)
class Element:
    """One element of an array's literal, with its key if it has one."""

    key: Parts | None
    value: Word


@dataclass(slots=True)
class Assignment:
    """`name=value`, `name+=value`, `name[index]=value`, `name=(…)`."""

    start: int
    end: int
    name: str
    value: "Word | tuple[Element, ...]"
    append: bool = False
    index: Parts | None = None


@dataclass(slots=True)
class HereDocument:
    """The text after `<<`; `quoted` if nothing in it is expanded."""

    delimiter: str
    quoted: bool
    strip: bool
    parts: Parts = ()
    closed: bool = False


@dataclass(slots=True)
class Redirection:
    """`operator` and its target; `descriptor` is a number or a variable's name in braces."""

    operator: str
    descriptor: str
    target: Word | HereDocument
    start: int
    end: int


@dataclass(slots=True)
class Command:
    """What all commands have: a place and redirects."""

    start: int
    end: int
    redirects: list[Redirection] = field(default_factory=list)


@dataclass(slots=True)
class Pipeline:
    """Commands whose output feeds the next one; of one command, mostly."""

    stages: list[Command]


@dataclass(slots=True)
class AndOr:
    """Pipelines, each with the operator before it (`""`, `&&`, `||`)."""

    links: list[tuple[str, Pipeline]]
    background: bool = False


@dataclass(slots=True)
class Sequence:
    """Lists one after the other."""

    items: list[AndOr] = field(default_factory=list)


@dataclass(slots=True)
class Simple(Command):
    """Assignments, then words; a declaration's words may be assignments too."""

    assignments: list[Assignment] = field(default_factory=list)
    words: list[Word | Assignment] = field(default_factory=list)
    fixed: bool = False
    """Whether each word has a value that nothing changes."""


@dataclass(slots=True)
class Condition(Command):
    """`[[ … ]]`: its words, operators included."""

    words: list[Word] = field(default_factory=list)


@dataclass(slots=True)
class Calculation(Command):
    """`(( … ))`."""

    parts: Parts = ()


@dataclass(slots=True)
class Group(Command):
    """`{ …; }`, or `( … )` with `subshell`."""

    body: Sequence = field(default_factory=Sequence)
    subshell: bool = False


@dataclass(slots=True)
class If(Command):
    """Pairs of condition and body, in order; `otherwise` is what `else` holds."""

    branches: list[tuple[Sequence, Sequence]] = field(default_factory=list)
    otherwise: Sequence | None = None


@dataclass(slots=True)
class While(Command):
    """`while` and `until`."""

    condition: Sequence = field(default_factory=Sequence)
    body: Sequence = field(default_factory=Sequence)
    until: bool = False


@dataclass(slots=True)
class For(Command):
    """`for name in words` and `select`; without `words` the positional parameters."""

    name: str = ""
    words: list[Word] | None = None
    body: Sequence = field(default_factory=Sequence)
    select: bool = False


@dataclass(slots=True)
class Count(Command):
    """`for ((a; b; c))`; `endless` if its middle is empty."""

    parts: Parts = ()
    body: Sequence = field(default_factory=Sequence)
    endless: bool = False


@dataclass(slots=True)
class Case(Command):
    """`case word in …`: for each item its patterns and its body."""

    word: Word = field(default_factory=lambda: Word(None))
    items: list[tuple[list[Word], Sequence]] = field(default_factory=list)
    falls: bool = False
    """Whether an item goes on in the next one (`;&`, `;;&`)."""


@dataclass(slots=True)
class Function(Command):
    """A definition; its redirects count at each call."""

    name: str = ""
    body: Command | None = None
    source: str = ""
    """Its body as it was written."""


@dataclass(slots=True)
class Coprocess(Command):
    """`coproc`: a command in the background with pipes at both ends."""

    name: str = "COPROC"
    body: Command | None = None


@dataclass(slots=True)
class Trouble:
    """What kept a text from being read to the end, and where."""

    reason: str
    start: int
    end: int


@dataclass(slots=True)
class Script:
    """A whole text, or what stands in a substitution."""

    body: Sequence
    troubles: list[Trouble] = field(default_factory=list)
    start: int = 0
    end: int = 0
