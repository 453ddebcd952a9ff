"""The audit log: read page by page, and checked. For an admin: it tells of all sessions."""

import re
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query

from supervisor.api.audit_bodies import (
    AuditEntryView,
    AuditFaultView,
    AuditHeadView,
    AuditNotedView,
    AuditPageView,
    AuditReportView,
)
from supervisor.api.moments import Moment
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.errors import InvalidRequest
from supervisor.observability.audit_kinds import AuditKind
from supervisor.observability.audit_pages import Wanted
from supervisor.observability.chain import Head

router = APIRouter(prefix="/audit", tags=["audit"])

MOST_ENTRIES: Final = 500
"""Entries of a page."""
_LARGEST: Final = 10**18 - 1
_ANCHOR: Final = re.compile(r"(\d{1,18}):([0-9a-f]{64})")


@router.get("")
async def list_audit(  # noqa: PLR0913 - each is a part of the request
    supervisor: Supervisor,
    *,
    before: Annotated[int | None, Query(ge=1, le=_LARGEST)] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_ENTRIES)] = 50,
    kind: Annotated[AuditKind | None, Query(description="Of this kind only")] = None,
    session: Annotated[str | None, Query(description="Of this session only")] = None,
    turn: Annotated[str | None, Query(description="Of this turn only")] = None,
    rule: Annotated[str | None, Query(description="Decisions by this rule only")] = None,
    since: Annotated[Moment | None, Query(description="From this moment on")] = None,
    until: Annotated[Moment | None, Query(description="Before this moment")] = None,
) -> AuditPageView:
    """The latest entries first. They are shown as they stand; `verify` says whether they hold."""
    wanted = Wanted(kind, session, turn, rule, _moment(since), _moment(until))
    page = await supervisor.audit.page(wanted, before=before, limit=limit)
    return AuditPageView(
        entries=[_view(each) for each in page.entries], next=page.next, damaged=page.damaged
    )


@router.get("/verify", responses=refusals(InvalidRequest))
async def verify_audit(
    supervisor: Supervisor,
    anchor: Annotated[
        str | None, Query(description="`N:HASH` of an entry that was noted down before")
    ] = None,
) -> AuditReportView:
    """Check the whole log, from its first entry to its last. That takes a while for a long one."""
    report = await supervisor.audit.examine(_anchor(anchor))
    bad = report.bad
    return AuditReportView(
        whole=report.whole,
        entries=report.entries,
        first=report.first,
        head=AuditHeadView(n=report.head.n, hash=report.head.hash),
        files=report.files,
        signed=report.signed,
        unsigned=report.unsigned,
        torn=report.torn,
        fault=None
        if bad is None
        else AuditFaultView(file=bad.file, line=bad.line, n=bad.n, kind=bad.kind, why=bad.why),
        noted=tuple(AuditNotedView(n=each.n, why=each.why) for each in report.noted),
        checked_at=datetime.now(UTC),
    )


def _moment(said: datetime | None) -> datetime | None:
    """In UTC, as entries have it; without a zone it is meant so."""
    if said is None:
        return None
    try:
        return said.replace(tzinfo=UTC) if said.tzinfo is None else said.astimezone(UTC)
    except OverflowError:
        raise InvalidRequest("that is before or after all years", where="since") from None


def _anchor(said: str | None) -> Head | None:
    if said is None:
        return None
    match = _ANCHOR.fullmatch(said)
    if match is None:
        raise InvalidRequest(
            "an anchor is the number and the hash of an entry",
            where="anchor",
            remedy="give it as N:HASH, as `head` of an earlier answer had it",
        )
    return Head(int(match[1]), match[2])


def _view(entry: dict[str, Any]) -> AuditEntryView:
    """The entry as it stands, whatever it says: what isn't as it should be is for `verify`."""
    session, turn = entry.get("session_id"), entry.get("turn_id")
    return AuditEntryView(
        n=int(entry["n"]),
        ts=str(entry.get("ts")),
        kind=str(entry.get("kind")),
        session_id=None if session is None else str(session),
        turn_id=None if turn is None else str(turn),
        body=entry.get("body"),
        prev=str(entry.get("prev")),
        hash=str(entry.get("hash")),
    )
