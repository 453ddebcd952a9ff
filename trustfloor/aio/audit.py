"""The audit log: its entries, and whether they hold."""

from datetime import datetime

from supervisor.api.audit_bodies import AuditPageView, AuditReportView
from trustfloor.aio.typed import AsyncTyped
from trustfloor.wire import at


class AsyncAudit(AsyncTyped):
    """The audit log."""

    async def list(  # noqa: PLR0913 - each is a part of the question
        self,
        *,
        before: int | None = None,
        limit: int | None = None,
        kind: str | None = None,
        session_id: str | None = None,
        turn_id: str | None = None,
        rule: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> AuditPageView:
        """A page of entries, the last first; its `next` is the following page's `before`."""
        path = at(
            "/api/audit",
            before=before,
            limit=limit,
            kind=kind,
            session=session_id,
            turn=turn_id,
            rule=rule,
            since=None if since is None else since.isoformat(),
            until=None if until is None else until.isoformat(),
        )
        return await self._get(AuditPageView, path)

    async def verify(self, *, anchor: str | None = None) -> AuditReportView:
        """Check the whole log. `anchor`: `N:HASH` of an entry that was noted down before."""
        return await self._get(AuditReportView, at("/api/audit/verify", anchor=anchor))
