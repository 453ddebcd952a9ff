"""Look at sessions, and at the trust level each runs at and why; change what it asks for."""

from typing import Annotated

from fastapi import APIRouter, Query

from supervisor.api.bodies import SessionsView, SessionView, TrustBody
from supervisor.api.parts import Parts, Supervisor
from supervisor.errors import SessionNotFound
from supervisor.events.schema import TrustReport
from supervisor.ids import SessionId, is_session_id
from supervisor.sessions.plan import trust_report
from supervisor.storage.session import Session

router = APIRouter(tags=["sessions"])


async def require_session(supervisor: Parts, text: str) -> Session:
    """The session with this id; raises SessionNotFound, for what is no id as well."""
    if not is_session_id(text):
        raise SessionNotFound("no session has this id", where="sessionId")
    return await supervisor.sessions.get_session(SessionId(text))


@router.get("/chat/sessions")
async def list_sessions(
    supervisor: Supervisor,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: str | None = None,
    archived: bool | None = None,
) -> SessionsView:
    """A page of sessions, the last accessed first."""
    rows = await supervisor.sessions.list_sessions(limit, archived=archived, before=before)
    active = set(supervisor.conversations.active())
    return SessionsView(
        sessions=[_view(row, active) for row in rows],
        next=rows[-1].cursor if len(rows) == limit else None,
    )


@router.get("/chat/session/{session_id}")
async def get_session(session_id: str, supervisor: Supervisor) -> SessionView:
    """One session."""
    row = await require_session(supervisor, session_id)
    return _view(row, set(supervisor.conversations.active()))


@router.get("/sessions/{session_id}/trust")
async def get_trust(session_id: str, supervisor: Supervisor) -> TrustReport:
    """At which level the session's next message would run, and who demands what."""
    row = await require_session(supervisor, session_id)
    return trust_report(await supervisor.conversations.trust(row.id))


@router.put("/sessions/{session_id}/trust")
async def put_trust(session_id: str, body: TrustBody, supervisor: Supervisor) -> TrustReport:
    """Set the level that the session asks for; looser than a floor of others is refused (409)."""
    row = await require_session(supervisor, session_id)
    return trust_report(await supervisor.conversations.set_trust(row.id, body.trust_level))


def _view(row: Session, active: set[SessionId]) -> SessionView:
    return SessionView(
        id=row.id,
        title=row.title,
        workspace=row.workspace,
        trust_level=row.trust_level,
        working_directory=row.working_directory,
        model=row.model,
        agent_path=row.agent_path,
        message_count=row.message_count,
        tokens_used=row.tokens_used,
        cost_usd=row.cost_usd,
        archived=row.archived,
        created_at=row.created_at,
        last_accessed=row.last_accessed,
        active=row.id in active,
        damaged=row.damaged,
    )
