"""The audit log as clients get it."""

from datetime import datetime
from typing import Any, Literal

from supervisor.api.bodies import View
from supervisor.observability.chain import Fault


class AuditEntryView(View):
    """One entry. What `body` holds goes by `kind`; `hash` is over the entry as it is stored."""

    n: int
    ts: str
    kind: str
    session_id: str | None
    turn_id: str | None
    body: Any
    prev: str
    hash: str


class AuditPageView(View):
    """A page of entries, the last first; `next` is the `before` of the next page.

    A page may have fewer entries than were asked for, or none, and still a `next`: where few of
    very many are wanted. `damaged` counts lines that aren't entries.
    """

    entries: list[AuditEntryView]
    next: int | None = None
    damaged: int = 0


class AuditHeadView(View):
    """The last entry: what to note down elsewhere, to compare with later."""

    n: int
    hash: str


class AuditFaultView(View):
    """The first place that is wrong: file, line (counted from 1), number of the entry due there."""

    file: str
    line: int
    n: int
    kind: Fault
    why: str


class AuditNotedView(View):
    """Damage that the supervisor found at a start: the entry that says so, and what it says."""

    n: int
    why: str


class AuditReportView(View):
    """Whether the log is whole: from entry `first` to `head`, or up to the `fault`.

    `torn` is how many bytes of a half line a crash has left at the end, which is no fault.
    `unsigned` counts entries older than the key.
    """

    whole: bool
    entries: int
    first: int
    head: AuditHeadView
    files: dict[str, int]
    signed: Literal["checked", "unchecked", "none"]
    unsigned: int
    torn: int
    fault: AuditFaultView | None = None
    noted: tuple[AuditNotedView, ...] = ()
    checked_at: datetime
