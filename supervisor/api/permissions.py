"""Permission requests that wait for a person: see them, grant or deny them."""

from typing import Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from supervisor.api.caller import Calling, NotAllowed, Scope
from supervisor.api.event_schema import unnumbered_stream_of
from supervisor.api.grant_bodies import GrantBody, GrantedView
from supervisor.api.grants import grant_view
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.api.sse import EventStream
from supervisor.api.waiting import (
    Filter,
    OfAgent,
    OfSession,
    OfTool,
    OfWorkspace,
    followed,
    require_seen,
    view_of,
    wanted,
)
from supervisor.api.waiting_bodies import (
    DeniedView,
    DenyBody,
    NoLongerOpen,
    OpenList,
    OpenPermission,
    OpenQuestion,
    PermissionsView,
)
from supervisor.approvals.granting import Yes
from supervisor.errors import AlreadyAnswered, NotFound, RequestVoid
from supervisor.policy.permissions import GrantScope

router = APIRouter(prefix="/permissions", tags=["permissions"])

_ANSWERED = refusals(NotFound, AlreadyAnswered, RequestVoid)
_STOPPED: Final = "a person denied a call and stopped the turn"
_STREAM: Final = unnumbered_stream_of(
    "What waits, and how it ends", OpenList, OpenPermission, OpenQuestion, NoLongerOpen
)


@router.get("")
async def list_permissions(  # noqa: PLR0913 - each is a part of the request
    supervisor: Supervisor,
    caller: Calling,
    *,
    session_id: OfSession = None,
    workspace: OfWorkspace = None,
    agent: OfAgent = None,
    tool: OfTool = None,
) -> PermissionsView:
    """The requests that wait for an answer, the oldest first."""
    wants = wanted(caller, Filter(session_id, workspace, agent, tool))
    now = supervisor.approvals.now()
    found = [view_of(each, now) for each in supervisor.board.open() if wants(each)]
    return PermissionsView(permissions=[each for each in found if isinstance(each, OpenPermission)])


@router.get("/stream", response_class=Response, responses=_STREAM)
async def follow_permissions(  # noqa: PLR0913 - each is a part of the request
    request: Request,
    supervisor: Supervisor,
    caller: Calling,
    *,
    session_id: OfSession = None,
    workspace: OfWorkspace = None,
    agent: OfAgent = None,
    tool: OfTool = None,
) -> EventStream:
    """All that waits for a person, permissions and questions, over all sessions, as it changes.

    First `open` with the ids of what is open, then each of these as `permission_request` or
    `user_question`, the oldest first; from then on what is asked, and as `permission_resolved` how
    it ended. A reader that comes back begins anew. One that is slow isn't told of what came and
    went meanwhile.
    """
    wants = wanted(caller, Filter(session_id, workspace, agent, tool))
    clock = supervisor.approvals.clock
    return EventStream(
        lambda: followed(supervisor.board, clock, wants),
        heartbeat_seconds=request.app.state.heartbeat_seconds,
        closing=request.app.state.closing,
    )


@router.get("/{request_id}", responses=_ANSWERED)
async def show_permission(
    request_id: str, supervisor: Supervisor, caller: Calling
) -> OpenPermission:
    """One request that waits for an answer."""
    require_seen(supervisor.board, caller, request_id)
    request = await supervisor.approvals.find(request_id)
    view = view_of(request, supervisor.approvals.now())
    assert isinstance(view, OpenPermission)  # noqa: S101 - what approvals keep is one
    return view


@router.post("/{request_id}/grant", responses={**_ANSWERED, **refusals(NotAllowed)})
async def grant(
    request_id: str, supervisor: Supervisor, caller: Calling, body: GrantBody | None = None
) -> GrantedView:
    """Let the call run exactly as it was shown, and others like it, if you say so.

    `contentHash` has to be the hash of what waits: it is what the person saw. What is
    granted beyond the call counts at its trust level only, and never what the deny list,
    self-protection or the level forbid. For an agent in all its sessions (`agent`) it takes the
    scope `admin`.
    """
    said = body or GrantBody()
    require_seen(supervisor.board, caller, request_id)
    beyond = bool(said.chosen()) or said.pattern is not None
    scope = said.scope or (GrantScope.SESSION if beyond else GrantScope.ONCE)
    if scope is GrantScope.AGENT:  # it counts in all workspaces
        caller.require(Scope.ADMIN)
        caller.require_whole()
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
    request_id: str, supervisor: Supervisor, caller: Calling, body: DenyBody | None = None
) -> DeniedView:
    """Refuse the call; the agent is told the message. With `stop`, its turn is ended as well."""
    said = body or DenyBody()
    require_seen(supervisor.board, caller, request_id)
    request = await supervisor.approvals.find(request_id, said.content_hash)
    await supervisor.approvals.answer(request_id, "denied", message=said.message, by=caller.name)
    stopped = said.stop and await supervisor.conversations.abort(
        request.turn.session_id, _stopped_by(said.message)
    )
    return DeniedView(id=request_id, decision="denied", stopped=stopped)


def _stopped_by(message: str | None) -> str:
    return f"a person denied a call and stopped the turn: {message}" if message else _STOPPED
