"""A tool call, the facts about it, and the three answers to it: what policy speaks of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from supervisor.trust.levels import TrustLevel


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call as the agent made it.

    `input` is the tool's input exactly as it came; `agent` names the sub-agent that made the call,
    None for the session's own; `as_seen_vault` is the vault's path as the agent sees it.
    """

    tool: str
    input: Mapping[str, Any]
    tool_use_id: str
    level: TrustLevel
    as_seen_vault: str
    as_seen_cwd: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class PathFact:
    """What the file system says of one path that a call names.

    `named` is the text in the call; `names` are all the spellings that must be judged: the path
    itself, every link on the way, the resolved target and other hard links, each relative to the
    vault if it lies in it (`inside`), absolute otherwise.
    """

    named: str
    inside: bool
    names: tuple[str, ...]
    is_directory: bool = False
    holds_denied: bool = False


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
    """The input to run with, where a person's answers became part of it; None: as it came."""


@dataclass(frozen=True, slots=True)
class Deny:
    """The call doesn't run; the reason goes to the agent and says what it can do instead."""

    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A person decides."""

    rule: str
    reason: str


Verdict = Allow | Deny | Ask
