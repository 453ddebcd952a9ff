"""What a shell knows at one moment: variables, folder, functions, positional parameters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from supervisor.policy.bash.effect import ShellContext
from supervisor.policy.bash.invocation import Stdin
from supervisor.policy.bash.shell.algebra import EMPTY, blurred, literal, mapped, union
from supervisor.policy.bash.shell.sink import Sink
from supervisor.policy.bash.shell.syntax import Function
from supervisor.policy.bash.value import UNKNOWN, Value
from supervisor.policy.record import record

DEFAULT_SEPARATORS: Final = literal(" \t\n")
"""`$IFS` where nobody has changed it."""

INHERITED: Final = frozenset(
    """PATH HOME USER LOGNAME SHELL PWD OLDPWD TMPDIR LANG TERM EDITOR VISUAL PAGER MANPAGER BROWSER
    GIT_EDITOR GIT_PAGER GIT_ASKPASS GIT_SSH_COMMAND GIT_EXTERNAL_DIFF SSH_ASKPASS
    LESSOPEN""".split()  # noqa: SIM905  (a table to read)
)
"""Variables that a shell may have from its environment: its children get a new value of them."""
CALLED: Final = frozenset({"BASH_ALIASES", "BASH_CMDS"})
"""Arrays of what names of commands stand for: a text, or a program's path."""

SHELLS: Final = frozenset({"SHELL", "BASH"})
"""Variables that name a shell, whichever it is."""

_A_SHELL: Final = literal("/bin/bash")
_MOST_REFERENCES: Final = 8


@record
class Shell:
    """The state a shell starts in.

    `positional` is None where its arguments aren't known. `functions` are definitions that it
    inherits, as `Walker` keeps them.
    """

    cwd: Value
    home: str
    variables: Mapping[str, Value] = field(default_factory=dict)
    functions: Mapping[str, Function] = field(default_factory=dict)
    positional: tuple[Value, ...] | None = None
    stdin: Stdin | None = None
    name: Value = field(default_factory=lambda: literal("bash"))

    @classmethod
    def fresh(cls, context: ShellContext) -> "Shell":
        """The shell that runs a call's command."""
        variables = {name: literal(value) for name, value in context.environment.items()}
        return cls(literal(context.cwd), context.home, variables)


@dataclass(slots=True)
class Scope:
    """The state of a shell while its text is walked."""

    cwd: Value
    home: str
    variables: dict[str, Value]
    arrays: dict[str, dict[str, Value]] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    aliases: dict[str, Value] = field(default_factory=dict)
    positional: tuple[Value, ...] | None = None
    name: Value = EMPTY
    previous: Value = UNKNOWN
    """`$OLDPWD`."""
    folders: tuple[Value, ...] = ()
    """The stack of `pushd`, without the current one."""
    files: dict[str, Stdin] = field(default_factory=dict)
    """What open descriptors read from."""
    exported: dict[str, None] = field(default_factory=dict)
    unset: frozenset[str] = frozenset()
    last: Value = UNKNOWN
    """`$_`."""
    globbing: bool = True
    environment: tuple[tuple[str, Value], ...] = ()
    references: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Names that stand for another variable (`declare -n`), with what that may be."""
    shapes: dict[str, str] = field(default_factory=dict)
    """Attributes that change what an assignment leaves: lower, upper, integer, readonly."""
    exports_all: bool = False
    """`set -a`."""
    secrets: frozenset[str] = frozenset()
    """Variables that the call has given the text of a secret one."""
    written: dict[str, Sink] = field(default_factory=dict)
    """What the call has put into files, by their names; one for all copies of the state."""

    @classmethod
    def starting(cls, shell: Shell) -> "Scope":
        """The state at the start of a text."""
        return cls(
            shell.cwd,
            shell.home,
            dict(shell.variables),
            functions=dict(shell.functions),
            positional=shell.positional,
            name=shell.name,
        )

    def held_by(self, path: str) -> Sink | None:
        """What the call has put into a file, if it has put anything there."""
        return self.written.get(path.removeprefix("./")) if self.written else None

    def fill(self, path: str) -> Sink:
        """Where what the call puts into a file is gathered."""
        return self.written.setdefault(path.removeprefix("./"), Sink())

    def copy(self) -> "Scope":
        """A state that can change without this one."""
        return Scope(
            self.cwd, self.home, dict(self.variables), dict(self.arrays), dict(self.functions),
            dict(self.aliases), self.positional, self.name, self.previous, self.folders,
            dict(self.files), dict(self.exported), self.unset, self.last, self.globbing,
            self.environment, self.references, self.shapes, self.exports_all, self.secrets,
            self.written,
        )  # fmt: skip

    def get(self, name: str) -> Value | None:  # noqa: PLR0911 - a table of the special ones
        """A variable's value; None if the call doesn't say."""
        value = self.variables.get(name)
        if value is not None:
            return value
        if name in self.references:
            return self._behind(self.references[name])
        if name in SHELLS:
            return _A_SHELL
        if name == "PWD":
            return self.cwd
        if name == "HOME":
            return literal(self.home)
        if name == "OLDPWD":
            return self.previous
        if name == "IFS":
            return DEFAULT_SEPARATORS
        if name in self.arrays:
            return next(iter(self.arrays[name].values()), EMPTY)
        return EMPTY if name in self.unset else None

    def _behind(self, targets: tuple[str, ...]) -> Value | None:
        """What the variables hold that a reference may stand for."""
        found: list[Value] = []
        for target in targets:
            name, bracket, rest = target.partition("[")
            key = rest.removesuffix("]")
            if bracket:
                value = self.arrays.get(name, {}).get(key)
            else:
                name = self.resolved(name)
                value = None if name in self.references else self.get(name)
            found.append(UNKNOWN if value is None else value)
        return union(found) if targets else None

    def resolved(self, name: str) -> str:
        """The variable that a name stands for, if it is a reference to just one."""
        for _ in range(_MOST_REFERENCES):
            targets = self.references.get(name, ())
            if len(targets) != 1:
                return name
            name = targets[0]
        return name

    def refer(self, name: str, targets: Value) -> None:
        """Make a name stand for the variables that a value names."""
        self.variables.pop(name, None)
        self.arrays.pop(name, None)
        names = tuple(each.text for each in targets.texts if each.text and each.text != name)
        self.references = {**self.references, name: names}

    def put(self, name: str, value: Value) -> None:
        """Give a variable, or an element of an array (`a[1]`), a value."""
        array, bracket, rest = name.partition("[")
        if not bracket:
            self.assign(name, value)
            return
        array = self.resolved(array)
        self.fill_array(array, {**self.arrays.get(array, {}), rest.removesuffix("]"): value})

    def fill_array(self, name: str, elements: dict[str, Value]) -> None:
        """Give an array its elements; of one that the shell itself heeds, the first counts."""
        self.arrays[name] = elements
        if name in CALLED:
            self.aliases.update(elements)
        if name in INHERITED:
            first = elements.get("0") or next(iter(elements.values()), EMPTY)
            self.variables[name] = first
            self.export(name)

    def assign(self, name: str, value: Value) -> None:
        """Give a variable a value."""
        if self.references and name in self.references:
            targets = self.references[name]
            if not targets:
                self.refer(name, value)
                return
            for each in targets:
                target = self.resolved(each)
                if target not in self.references:
                    before = self.get(target.partition("[")[0])
                    other = [] if len(targets) == 1 else [before or UNKNOWN]
                    self.put(target, union((value, *other)))
            return
        if self.shapes and name in self.shapes:
            value = self._shaped(name, value)
        self.variables[name] = value
        if name in self.arrays:
            self.arrays[name] = {**self.arrays[name], "0": value}
        if self.exports_all or name in self.exported or name in INHERITED:
            self.exported[name] = None
            self._environment()

    def _shaped(self, name: str, value: Value) -> Value:
        letters = self.shapes[name]
        if "r" in letters and (before := self.variables.get(name)) is not None:
            return union((before, value))
        if "l" in letters or "u" in letters:
            return mapped(value, str.lower if "l" in letters else str.upper)
        return value

    def export(self, name: str) -> None:
        """Hand a variable on to what is started from now on."""
        self.exported[name] = None
        self._environment()

    def export_function(self, name: str) -> None:
        """`export -f`: a shell hands its functions on as variables with names of this form."""
        definition = self.functions.get(name)
        if definition is not None and definition.source:
            variable = f"BASH_FUNC_{name}%%"
            self.variables[variable] = literal(f"() {definition.source}")
            self.export(variable)

    def forget(self, name: str) -> None:
        """`unset`."""
        self.variables.pop(name, None)
        self.arrays.pop(name, None)
        self.functions.pop(name, None)
        self.references = {each: of for each, of in self.references.items() if each != name}
        self.unset |= {name}
        if name in self.exported:
            del self.exported[name]
            self._environment()

    def _environment(self) -> None:
        variables = self.variables
        self.environment = tuple(
            [(name, variables[name]) for name in self.exported if name in variables]
        )

    def home_folder(self) -> Value:
        """Where `~` leads."""
        return self.variables.get("HOME") or literal(self.home)


def merged(first: Scope, second: Scope) -> Scope:
    """The state after one of two ways; it may be either."""
    both = first.copy()
    if first.cwd != second.cwd:
        both.cwd = union((first.cwd, second.cwd))
    if first.previous != second.previous:
        both.previous = union((first.previous, second.previous))
    if first.folders != second.folders:
        both.folders = ()
    if first.variables != second.variables:
        ours, theirs = first.variables, second.variables
        differing = [name for name, value in theirs.items() if ours.get(name) is not value]
        for name in (*differing, *(ours.keys() - theirs.keys())):
            one, other = first.get(name), second.get(name)
            if one != other:
                both.variables[name] = union((one or UNKNOWN, other or UNKNOWN))
    for name, array in second.arrays.items():
        before = first.arrays.get(name)
        if before != array:
            held = union([*array.values(), *(before or {}).values()]) if array or before else EMPTY
            both.arrays[name] = {"@": blurred(held)}
    both.functions = {**second.functions, **first.functions}
    both.aliases = {**second.aliases, **first.aliases}
    both.files = {**second.files, **first.files}
    _merge_attributes(both, first, second)
    if first.positional != second.positional:
        both.positional = None
    both.exported = {**first.exported, **second.exported}
    both.environment = tuple(
        (name, value) for name in both.exported if (value := both.variables.get(name))
    )
    both.unset = first.unset & second.unset
    both.globbing = first.globbing or second.globbing
    return both


def _merge_attributes(both: Scope, first: Scope, second: Scope) -> None:
    """References and shapes after one of two ways."""
    if first.references != second.references:
        names = first.references.keys() | second.references.keys()
        both.references = {
            each: tuple(dict.fromkeys((*first.references.get(each, ()),
                                       *second.references.get(each, ()))))
            for each in names
        }  # fmt: skip
    if first.shapes != second.shapes:
        both.shapes = {**second.shapes, **first.shapes}
    both.exports_all = first.exports_all or second.exports_all
    both.secrets = first.secrets | second.secrets
