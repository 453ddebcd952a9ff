"""The table of commands, compiled: what programs, their options and their operands mean."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from supervisor.policy.bash.effect import Act

ROLES: Final[Mapping[str, str]] = {
    "text": "plain words, of no effect",
    "number": "digits that an option takes where they are attached (`perl -0777`)",
    "doubt": "words of which nothing is known; those that look like paths may be read",
    "either": "the same, where they may be written as well",
    "list": "its name or attributes are shown",
    "read": "a file that is read (`-` is standard input)",
    "tree": "a file or folder that is read with all below it",
    "member": "the same, or `@FILE`, a list of such",
    "write": "a file that is written (`-` is standard output)",
    "edit": "a file that is read and written in place",
    "delete": "a file that is removed",
    "wipe": "a file or device whose content is destroyed",
    "move": "a file that is read, and removed from its place",
    "mode": "a file whose permissions, owner or attributes change",
    "link": "a file that gets another name",
    "disk": "a device that is formatted, partitioned or wiped",
    "temporary": "the name or folder of a new file; the folders for such are left out",
    "dest": "the file or folder that something is copied to",
    "into": "the folder that something is put into",
    "fill": "the folder that something is perhaps put into",
    "report": "`[KIND:]FILE` or `NAME=FILE`: a file or folder that is perhaps written",
    "bound": "`KEY:ACTION(…)` of fzf, of which some run a shell's text",
    "unpacked": "a file that gets another name, without the ending, as it is unpacked",
    "renames": "`s,FIND,PUT,`: a change of names while they are unpacked",
    "from": "`host:path` on another machine, or a file here, that is read",
    "to": "`host:path` on another machine, or the file or folder here that is written",
    "bind": "`[HOST][:PORT]` that a program listens at; this machine's own is no server for others",
    "host": "a host that is reached",
    "download": "`HOST[:FILE]`: a host, whose file is put here or where the next operand says",
    "route": "`HOST:PORT:ADDRESS`: an address that is reached for another",
    "display": "`HOST:NUMBER`: the screen on which a program shows itself",
    "upload": "a file that is sent, or several between braces",
    "url": "an address that is reached (`file:` is read; `@FILE` lists some)",
    "addresses": "a file that lists addresses or hosts that are reached",
    "package": "a package; with a version behind `@` it is fetched",
    "page": "an address, or a file here that is shown",
    "site": "the same, where the address needs no scheme",
    "gone": "`host:path` on another machine, or a folder here, that is removed with all below it",
    "repository": "an address or folder of a repository",
    "data": "data that is sent; `@FILE` names a file",
    "template": "what `curl -w` prints: `@FILE` names a file, `%output{FILE}` writes one",
    "cookies": "`NAME=VALUE` for a server, or a file of such",
    "form": "`NAME=@FILE` or `NAME=<FILE`: a file that is sent",
    "field": "`NAME=VALUE`, `NAME@FILE`, `NAME=@FILE`, as HTTPie and `gh api` take it",
    "field-file": "`[NAME=]FILE`, as `kubectl --from-file` takes it",
    "data-file": "`file://FILE`, as `aws` takes it",
    "refspec": "`[+]HERE:THERE` of `git push`; a `+` forces, an empty HERE removes",
    "replaced": "a file, or a folder with all below it, that is put back as it was recorded",
    "restored": "a branch, or a file whose changes are thrown away",
    "pid": "a process that is signalled",
    "signal": "the name or number of a signal",
    "shell": "text that a shell runs",
    "line": "words that are joined by blanks, and run by a shell",
    "command": "the words of a command that is run",
    "argument": "a command whose words end at `;` or `+`",
    "program": "the name of one program that is run",
    "code": "text in a language (`code:python`)",
    "script": "a file that is run by an interpreter",
    "source": "a file whose text is run and isn't read by us",
    "module": "the name of a module that is run",
    "cd": "the folder to which all later paths are relative",
    "root": "the folder that stands for `/`",
    "assign": "`NAME=VALUE`, set for what is run",
    "setting": "`NAME=VALUE` of a program's own settings, of which some run programs",
    "only": "a glob: of files that are read below a folder, just those with such names",
    "mount": "`HERE:THERE` or `source=HERE,target=THERE`: a folder of this machine in a container",
    "revision": "a revision of a repository; `REVISION:PATH` reads a file",
    "pathspec": "paths in a repository that are shown",
    "socket": "an address of socat: a file, a host or a program",
    "reverse": "a program whose input and output go to the network",
    "suid": "the mode that files get; a set-user-id bit is a change of the system",
    "replace": "the word that stands for an item (`xargs -I`)",
    "items": "a file with an item a line, each a file that is read",
    "split": "text that is split to words and put before the rest (`env -S`)",
    "unset": "the name of a variable that is taken away",
    "tty": "a terminal's text that is typed to a shell",
}
"""What a word can mean for the command that gets it. `code` takes a language after a colon."""


@dataclass(frozen=True, slots=True)
class Role:
    """One of `ROLES`, with its language if it is code."""

    kind: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """What an option means: the role of its value, if it takes one, and the tags that it sets.

    `optional` says that a value counts only where it is attached (`-i.bak`, `--color=auto`);
    `second` is the role of a second word that it takes (`jq --arg NAME VALUE`).
    """

    role: Role | None = None
    optional: bool = False
    tags: tuple[str, ...] = ()
    second: Role | None = None


@dataclass(frozen=True, slots=True)
class Operands:
    """The roles of operands: the first ones, all in the middle, the last ones."""

    front: tuple[Role, ...] = ()
    middle: Role | None = None
    back: tuple[Role, ...] = ()


@dataclass(frozen=True, slots=True)
class Does:
    """An effect that a command has whatever its operands are."""

    act: Act
    reason: str
    severe: bool = False


@dataclass(frozen=True, slots=True)
class Overlay:
    """What is different once some tags are set, and others are not."""

    needs: frozenset[str]
    without: frozenset[str]
    operands: Operands | None = None
    default: "tuple[Role, str] | None" = None
    does: tuple[Does, ...] = ()
    turn: Mapping[str, Role] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    """A program or one of its subcommands.

    `style` says how options are spelt (see `commands.yaml`). `reader` names a reader of the
    program's own little language, where options and operands don't tell all. `plain` says that
    words with several possible texts need no look at each alone.
    """

    operands: Operands = Operands(middle=Role("text"))
    options: Mapping[str, Option] = field(default_factory=dict)
    longs: tuple[str, ...] = ()
    style: str = "gnu"
    tags: frozenset[str] = frozenset()
    when: tuple[Overlay, ...] = ()
    does: tuple[Does, ...] = ()
    commands: "Mapping[str, Command]" = field(default_factory=dict)
    reader: str | None = None
    default: tuple[Role, str] | None = None
    harmless: bool = False
    elsewhere: bool = False
    runs: bool = False
    plain: bool = True


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that makes programs run code.

    `role` says what its value is; `programs` are those that heed it, all if empty; `fine` are
    values that mean no harm; with `holding`, a value matters only if it holds one of these;
    `reason` says what it does.
    """

    role: Role
    reason: str
    programs: frozenset[str] = frozenset()
    fine: frozenset[str] = frozenset()
    holding: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Language:
    """What can be recognised in code: names that are called, and names that mean no harm.

    `words` are names that say something wherever they stand; `modules` those whose import is no
    reason for doubt. `quote_runs` says that backticks run a command, `bare_calls` that a call
    needs no parentheses, `long_texts` that `[[…]]` is a text.
    """

    name: str
    calls: Mapping[str, tuple[str, ...]]
    plain: frozenset[str]
    words: Mapping[str, str]
    modules: frozenset[str]
    quote_runs: bool = False
    bare_calls: bool = False
    long_texts: bool = False
    comment: tuple[str, ...] = ("#",)
    by_end: Mapping[str, tuple[str, ...]] = field(init=False)
    """Roles by the last part of a call's name; of several, those of the first in the table."""

    def __post_init__(self) -> None:
        by_end: dict[str, tuple[str, ...]] = {}
        for name, roles in self.calls.items():
            for mark in (".", "::"):
                _, behind, end = name.rpartition(mark)
                if behind:
                    by_end.setdefault(end, roles)
        object.__setattr__(self, "by_end", by_end)


@dataclass(frozen=True, slots=True)
class CommandTable:
    """All that is known of commands.

    `prefixes` are programs known by the start of their name (`mkfs.`), longest first, as
    `variable_prefixes` and `variable_suffixes` are variables by the start or end of theirs;
    `folders` are the standard places of programs.
    """

    commands: Mapping[str, Command]
    prefixes: tuple[tuple[str, Command], ...]
    variables: Mapping[str, Variable]
    variable_prefixes: tuple[tuple[str, Variable], ...]
    languages: Mapping[str, Language]
    folders: frozenset[str]
    variable_suffixes: tuple[tuple[str, Variable], ...] = ()
    variable_starts: tuple[str, ...] = field(init=False)
    variable_ends: tuple[str, ...] = field(init=False)
    families: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        starts = tuple(start for start, _ in self.variable_prefixes)
        ends = tuple(end for end, _ in self.variable_suffixes)
        object.__setattr__(self, "variable_starts", starts)
        object.__setattr__(self, "variable_ends", ends)
        object.__setattr__(self, "families", tuple(start for start, _ in self.prefixes))

    def find(self, program: str) -> Command | None:
        """What is known of a program, by its base name; versions (`python3.12`) don't matter.

        A shell's own word with a version behind it (`cd-2`) is some program, of any kind.
        """
        base = program.rpartition("/")[2]
        command = self.commands.get(base)
        if command is not None:
            return command
        base = base.removesuffix(".exe")
        command = self.commands.get(base) or self.commands.get(base.rstrip("0123456789.-"))
        if command is not None and not command.harmless:
            return command
        for start, command in self.prefixes:
            if base.startswith(start):
                return command
        return None

    def variable(self, name: str) -> Variable | None:
        """What is known of an environment variable that runs code or names what is written."""
        found = self.variables.get(name)
        if found is None and name.startswith(self.variable_starts):
            for start, variable in self.variable_prefixes:
                if name.startswith(start):
                    return variable
        if found is None and name.endswith(self.variable_ends):
            for end, variable in self.variable_suffixes:
                if name.endswith(end):
                    return variable
        return found
