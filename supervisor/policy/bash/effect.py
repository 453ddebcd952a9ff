"""Effects: what a command does, as far as that can be told without running it."""

from collections.abc import Mapping
from enum import StrEnum

from supervisor.policy.bash.invocation import Part
from supervisor.policy.bash.value import Value
from supervisor.policy.record import record


class Act(StrEnum):
    """The kinds of things that a command can do."""

    EXECUTE = "executes"
    """Runs a program; `words` are its words as far as they are known."""
    LIST = "lists"
    """Shows names or attributes, never content."""
    READ = "reads"
    """Reads or copies a file's content; with `recursive`, of all below a folder."""
    WRITE = "writes"
    DELETE = "deletes"
    """Removes; with `recursive`, all below a folder."""
    CHANGE_MODE = "changes permissions"
    """Permissions, owner, attributes, access lists."""
    LINK = "links"
    """Gives the target another name, by which it could be read later."""
    SEND = "sends"
    """Reaches the network; `target` is the host or address, as far as it is known."""
    ESCALATE = "escalates"
    """Runs something with another user's rights (`sudo` and its kin)."""
    SIGNAL = "signals"
    """Ends or signals processes; `target` is the process id as spelt."""
    OVERWRITE_DISK = "overwrites a disk"
    """A tool that formats, partitions or wipes; `target` is the device or image."""
    REMOTE_SHELL = "hands a shell to the network"
    EXHAUST = "starts processes without end"
    REVEAL = "reveals secrets"
    """Prints what may be secret: the environment, a login's token, a key; `reason` says what."""
    LOSE = "may lose work"
    """Throws work away that can't be had back, or changes it beyond the files it names."""
    REPOSITORY = "makes a repository"
    """Makes a git repository, or another working tree of one: hooks and settings that git runs."""
    SYSTEM = "changes the system"
    """Services, timers, users, power, kernel, settings outside of the work."""
    UNKNOWN = "unknown"
    """Does something that can't be told; `reason` says why."""


@record
class Effect:
    """One thing that a command does.

    `target` is a path for LIST, READ, WRITE, DELETE, CHANGE_MODE, LINK, OVERWRITE_DISK (relative
    to `cwd`), a host for SEND, a process for SIGNAL. `program` names the program that does it.
    `severe` marks what is never right, whoever asks (a key export, a group of signals to all).
    `elsewhere` says that it happens on another machine or in a container of the command's own, so
    its paths aren't this machine's. `named` tells a path that stands in the command from one that
    only follows from it (the working folder of `ls`). The `words` of a SEND without a target are
    those that name what is asked for or sent (packages, branches).
    """

    act: Act
    program: str
    part: Part
    reason: str
    target: Value | None = None
    cwd: Value | None = None
    recursive: bool = False
    severe: bool = False
    elsewhere: bool = False
    named: bool = True
    words: tuple[str, ...] = ()
    harmless: bool = False
    """For EXECUTE: a builtin or keyword that needs no permission (`cd`, `read`, `test`, …)."""
    only: tuple[str, ...] = ()
    """For a recursive READ: globs of the file names that are read; empty for all."""
    aside: bool = False
    """An option names it (`--registry`), not the words that the command is about."""
    listed: bool = False
    """For EXECUTE: the table knows the program, and it runs no text or file of others."""


@record
class Analysis:
    """What a command does: all its effects in the order of its text.

    `complete` is False where a limit cut the look short; then an UNKNOWN says so. `notes` are for
    a reader who asks how the command was understood.
    """

    effects: tuple[Effect, ...] = ()
    complete: bool = True
    notes: tuple[str, ...] = ()


@record
class ShellContext:
    """Where a command runs: absolute paths as its shell sees them.

    `environment` holds variables whose values are known before it runs (`USER`, say).
    """

    cwd: str
    home: str
    environment: Mapping[str, str]
