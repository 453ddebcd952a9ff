"""What can be said of a supervisor's health: checks that say what to do, and what is left over."""

import importlib.metadata
from dataclasses import dataclass, field
from datetime import datetime


def version() -> str:
    """The installed version of this program."""
    try:
        return importlib.metadata.version("trustfloor")
    except importlib.metadata.PackageNotFoundError:  # run from a source tree
        return "0+source"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    `ok` is None where nothing depends on it and the detail is for information only. `remedy` is the
    command or setting that mends it; empty if it is fine. `needed`: while it is wrong, no turn can
    run at any level.
    """

    name: str
    ok: bool | None
    detail: str
    remedy: str | None = None
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What of ours exists at this moment, in use by a turn (`live`) or not (`left`).

    `containers_waiting` are ready for a message and in use by no turn yet.
    """

    containers_live: int = 0
    containers_waiting: int = 0
    containers_left: int = 0
    turn_folders: int = 0
    sockets: int = 0
    processes: int = 0


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A container of ours; `live`: in use, or `waiting` for its session's next message."""

    id: str
    session_id: str | None
    turn_id: str | None
    image: str
    state: str
    since: datetime | None
    live: bool
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether this supervisor can do its work at every trust level, and what it holds."""

    checks: tuple[Check, ...] = ()
    counts: Leftovers = field(default_factory=Leftovers)

    @property
    def ready(self) -> bool:
        """Whether nothing that was looked at is a problem."""
        return all(check.ok is not False for check in self.checks)

    @property
    def missing(self) -> tuple[Check, ...]:
        """What is wrong that every turn needs."""
        return tuple(check for check in self.checks if check.needed and check.ok is False)
