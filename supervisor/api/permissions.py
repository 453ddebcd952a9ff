"""Permission requests that wait for a person: see them, grant or deny them."""

from typing import Annotated

from fastapi import APIRouter, Query

from supervisor.api.bodies import AnsweredView, DenyBody, GrantBody, OpenPermission, PermissionsView
from supervisor.api.parts import Supervisor
from supervisor.ids import SessionId

router = APIRouter(prefix="/permissions", tags=["permissions"])


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


@router.post("/{request_id}/grant")
async def grant(
    request_id: str, supervisor: Supervisor, body: GrantBody | None = None
) -> AnsweredView:
    """Let the call run exactly as it was shown.

    With `contentHash`, only if that is the hash of what waits: it is what the person saw.
    """
    content_hash = (body or GrantBody()).content_hash
    await supervisor.approvals.answer(request_id, "granted", content_hash=content_hash)
    return AnsweredView(id=request_id, decision="granted")


@router.post("/{request_id}/deny")
async def deny(
    request_id: str, supervisor: Supervisor, body: DenyBody | None = None
) -> AnsweredView:
    """Refuse the call; the agent is told the message."""
    message = (body or DenyBody()).message
    await supervisor.approvals.answer(request_id, "denied", message=message)
    return AnsweredView(id=request_id, decision="denied")
