"""What a session may do without being asked: its own permissions, and grants that people gave."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from supervisor.trust.levels import TrustLevel


class GrantScope(StrEnum):
    """How far a grant reaches."""

    ONCE = "once"
    SESSION = "session"
    AGENT = "agent"


class GrantKind(StrEnum):
    """What a grant's pattern is matched against."""

    READ = "read"
    """A glob over vault-relative, resolved paths; for reading, listing and searching."""
    WRITE = "write"
    """The same for writing, deleting and changing permissions; it doesn't cover reading."""
    BASH = "bash"
    """Leading words of a command (`git status`), or a whole call if it begins with `=`."""
    TOOL = "tool"
    """A tool's exact name, all tools of an MCP server (`mcp__notes__*`), or a domain behind
    `WebFetch:`."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A recorded permission. Counts at the level it was given at, until it expires.

    `expires_at` is in seconds since the epoch, None for no end but the session's (or the agent's).
    """

    id: str
    scope: GrantScope
    kind: GrantKind
    pattern: str
    level: TrustLevel
    expires_at: float | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """What an agent's own file lets it do unasked; it only takes away from what its session may.

    None: the file sets no bound. `tools` are names (`mcp__notes__*`: all tools of a server), every
    other tool is refused; what `read` and `write` (globs relative to the vault) and `bash`
    (prefixes of commands, or all or none) don't cover asks a person. `agent` names whose they are.
    """

    agent: str = ""
    tools: tuple[str, ...] | None = None
    read: tuple[str, ...] | None = None
    write: tuple[str, ...] | None = None
    bash: tuple[str, ...] | bool | None = None

    @property
    def ask(self) -> bool:
        """Whether there is a bound that a person can be asked to lift."""
        return any(each is not None for each in (self.read, self.write, self.bash))


@dataclass(frozen=True, slots=True)
class Permissions:
    """What one session may do unasked.

    `trust_mode`: everything that its level reaches and nothing denies. Without it, only what
    `read` and `write` (globs over vault-relative resolved paths), `bash` (prefixes of commands, or
    all or none of them) and the grants cover.
    `confined` says that the kernel holds the level's bounds for shell commands (a container, or
    the OS sandbox of `vault`); where it doesn't, a command at `vault` always asks.
    `bounds` are those of the session's agent, which hold in trust mode too.
    """

    trust_mode: bool = True
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    bash: tuple[str, ...] | bool = False
    grants: Sequence[Grant] = ()
    confined: bool = True
    bounds: Bounds | None = None
