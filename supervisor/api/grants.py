"""What people granted beyond single calls: see it, and take it back."""

from typing import Annotated

from fastapi import APIRouter, Query

from supervisor.api.caller import Calling, NotAllowed, Scope
from supervisor.api.grant_bodies import GrantsView, GrantView
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.api.visible import Visible
from supervisor.errors import NotFound
from supervisor.policy.permissions import GrantScope
from supervisor.storage.grants import GrantRow

router = APIRouter(prefix="/grants", tags=["permissions"])


def grant_view(row: GrantRow) -> GrantView:
    """A grant as clients get it."""
    return GrantView(
        id=row.id,
        scope=row.scope,
        session_id=row.session_id,
        agent=row.agent,
        kind=row.kind,
        pattern=row.pattern,
        trust_level=row.level,
        given_by=row.given_by,
        given_at=row.given_at,
        request_id=row.request_id,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
        revoked_by=row.revoked_by,
    )


@router.get("")
async def list_grants(
    supervisor: Supervisor,
    caller: Calling,
    *,
    session_id: Annotated[str | None, Query(alias="sessionId")] = None,
    agent: str | None = None,
    ended: bool = False,
) -> GrantsView:
    """The grants that count, of all sessions and agents or of one; with `ended`, old ones too.

    At most 1,000, the newest.
    """
    rows = await supervisor.grants.list(session_id=session_id, agent=agent, ended=ended)
    visible = Visible(supervisor, caller)
    return GrantsView(grants=[grant_view(row) for row in rows if await _is_seen(row, visible)])


@router.delete("/{grant_id}", responses=refusals(NotFound, NotAllowed))
async def revoke_grant(grant_id: str, supervisor: Supervisor, caller: Calling) -> GrantView:
    """Take a grant back: from the next call on it doesn't count. Again does no harm."""
    row = await supervisor.grants.find(grant_id)
    if not await _is_seen(row, Visible(supervisor, caller)):
        raise NotFound("no grant has this id", where=grant_id)
    if row.scope is GrantScope.AGENT:
        caller.require_whole()
    caller.require(Scope.ADMIN if row.scope is GrantScope.AGENT else Scope.APPROVE)
    return grant_view(await supervisor.grants.revoke(grant_id, caller.name))


async def _is_seen(row: GrantRow, visible: Visible) -> bool:
    """An agent's grant counts in all workspaces, so it is there for tokens that see all."""
    return visible.all if row.session_id is None else await visible.sees(row.session_id)
