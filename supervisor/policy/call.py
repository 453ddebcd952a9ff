"""A tool call, the facts about it, and the three answers to it: what policy speaks of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from supervisor.policy.record import record
from supervisor.trust.levels import TrustLevel


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call as the agent made it.

    `input` is the tool's input exactly as it came; `agent` names the sub-agent that made the call,
    None for the session's own; `as_seen_vault`, `as_seen_cwd` and `as_seen_home` are absolute
    paths as the agent sees them.
    """

    tool: str
    input: Mapping[str, Any]
    tool_use_id: str
    level: TrustLevel
    as_seen_vault: str
    as_seen_cwd: str
    agent: str | None = None
    as_seen_home: str = "/root"


class Use(StrEnum):
    """What a call does with a path it names."""

    READ = "read"
    SEARCH = "search"
    WRITE = "write"
    WORD = "word"
    """A word of a shell command: perhaps a path, and it can't be seen what is done with it."""
    ARGUMENT = "argument"
    """A text in the input of a tool that we don't know: perhaps a path."""
    PATH_ARGUMENT = "path_argument"
    """The same, in a field whose name says that it is a path."""
    EFFECT = "effect"
    """What a shell command does something to; its effect says what."""


class Kind(StrEnum):
    """What lies at a path."""

    FILE = "file"
    FOLDER = "folder"
    BLOCK_DEVICE = "block device"
    OTHER = "other"
    """A pipe, a socket, a character device."""
    ABSENT = "absent"
    UNSEEN = "unseen"
    """Nobody looked, or the look failed."""


@record
class PathFact:
    """What the file system says of one path that a call names.

    `named` is the text in the call; `names` are all the spellings that must be judged: the path
    itself, every link on the way, the resolved target and other hard links, each relative to the
    vault if it lies in it, absolute otherwise. `inside` holds if the path as spelt and all that it
    leads to lie in the vault. `resolved` is the target with all links followed, `entry` the same
    but for a link at its end, both spelt like `names`; None if nobody looked. `mount` is the mount
    point it lies on, where that isn't the vault's. `links` is the number of hard links.

    `holds_denied`: a search below this folder would read denied files, or it is too large to tell.
    `holds_protected` is the rule that protects something below this folder. `matches` are the files
    that a pattern matches, None if it wasn't looked for. `problem` says why no file can be meant by
    this text; `doubt` why what was found isn't the whole truth.
    """

    named: str
    inside: bool
    names: tuple[str, ...]
    is_directory: bool = False
    holds_denied: bool = False
    use: Use = Use.READ
    problem: str | None = None
    doubt: str | None = None
    resolved: str | None = None
    entry: str | None = None
    kind: Kind = Kind.UNSEEN
    links: int = 1
    mount: str | None = None
    holds_protected: str | None = None
    matches: "tuple[PathFact, ...] | None" = None


@dataclass(frozen=True, slots=True)
class Facts:
    """All that was fetched for one call, and nothing else: the core decides on these alone."""

    paths: tuple[PathFact, ...] = ()


@dataclass(frozen=True, slots=True)
class Allow:
    """The call runs."""

    rule: str
    reason: str
    input: Mapping[str, Any] | None = field(default=None)
    """The input to run with, where a person saw or completed it; None: as it came."""


@dataclass(frozen=True, slots=True)
class Deny:
    """The call doesn't run; the reason goes to the agent and says what it can do instead.

    `cause` is the internal error that led here, for the log alone.
    """

    rule: str
    reason: str
    cause: Exception | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ask:
    """A person decides. `unsure` says, a sentence each, what couldn't be told about the call."""

    rule: str
    reason: str
    unsure: tuple[str, ...] = ()


Verdict = Allow | Deny | Ask

Word = Literal["allow", "ask", "deny"]


def verdict_word(verdict: Verdict) -> Word:
    """The verdict in a word."""
    if isinstance(verdict, Allow):
        return "allow"
    return "deny" if isinstance(verdict, Deny) else "ask"
