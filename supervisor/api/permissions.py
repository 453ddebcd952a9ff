"""Permission requests that wait for a person: see them, grant or deny them."""

from typing import Annotated

from fastapi import APIRouter, Query

from supervisor.api.bodies import AnsweredView, DenyBody, OpenPermission, PermissionsView
from supervisor.api.caller import Calling, NotAllowed, Scope
from supervisor.api.grant_bodies import GrantBody, GrantedView
from supervisor.api.grants import grant_view
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.approvals.granting import Yes
from supervisor.errors import AlreadyAnswered, NotFound, RequestVoid
from supervisor.ids import SessionId
from supervisor.policy.permissions import GrantScope

router = APIRouter(prefix="/permissions", tags=["permissions"])

_ANSWERED = refusals(NotFound, AlreadyAnswered, RequestVoid)


@router.get("")
async def list_permissions(
    supervisor: Supervisor, session_id: Annotated[str | None, Query(alias="sessionId")] = None
) -> PermissionsView:
    """The requests that wait for an answer, the oldest first; of one session, if it is named."""
    of_session = None if session_id is None else SessionId(session_id)
    return PermissionsView(
        permissions=[
            OpenPermission.model_validate(
                {**dict(event), "session_id": supervisor.approvals.session_of(event.id) or ""}
            )
            for event in supervisor.approvals.pending(of_session)
        ]
    )


@router.post("/{request_id}/grant", responses={**_ANSWERED, **refusals(NotAllowed)})
async def grant(
    request_id: str, supervisor: Supervisor, caller: Calling, body: GrantBody | None = None
) -> GrantedView:
    """Let the call run exactly as it was shown, and others like it, if you say so.

    With `contentHash`, only if that is the hash of what waits: it is what the person saw. What is
    granted beyond the call counts at its trust level only, and never what the deny list,
    self-protection or the level forbid. For an agent in all its sessions (`agent`) it takes the
    scope `admin`.
    """
    said = body or GrantBody()
    beyond = bool(said.chosen()) or said.pattern is not None
    scope = said.scope or (GrantScope.SESSION if beyond else GrantScope.ONCE)
    caller.require(Scope.ADMIN if scope is GrantScope.AGENT else Scope.APPROVE)
    granted = await supervisor.granting.grant(
        request_id,
        Yes(
            given_by=caller.name,
            scope=scope,
            suggestions=said.chosen(),
            pattern=said.pattern,
            kind=said.kind,
            expires_in=said.expires_in,
            content_hash=said.content_hash,
        ),
    )
    return GrantedView(
        id=request_id,
        decision="granted",
        scope=scope,
        grants=[grant_view(row) for row in granted.rows],
        also=list(granted.also),
    )


@router.post("/{request_id}/deny", responses=_ANSWERED)
async def deny(
    request_id: str, supervisor: Supervisor, body: DenyBody | None = None
) -> AnsweredView:
    """Refuse the call; the agent is told the message."""
    message = (body or DenyBody()).message
    await supervisor.approvals.answer(request_id, "denied", message=message)
    return AnsweredView(id=request_id, decision="denied")
