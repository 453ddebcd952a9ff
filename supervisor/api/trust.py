"""At which trust level a session runs and why; change what it asks for."""

from fastapi import APIRouter

from supervisor.api.bodies import TrustBody
from supervisor.api.caller import Calling
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.api.sessions import require_session
from supervisor.errors import LooserThanFloor, NotFound, SessionNotFound
from supervisor.events.schema import TrustReport
from supervisor.sessions.turn_plan import trust_report

router = APIRouter(prefix="/sessions", tags=["trust"])


@router.get("/{session_id}/trust", responses=refusals(SessionNotFound, NotFound))
async def get_trust(session_id: str, supervisor: Supervisor, caller: Calling) -> TrustReport:
    """At which level the session's next message would run, and who demands what."""
    row = await require_session(supervisor, session_id, caller)
    return trust_report(await supervisor.conversations.trust(row.id))


@router.put("/{session_id}/trust", responses=refusals(SessionNotFound, NotFound, LooserThanFloor))
async def put_trust(
    session_id: str, body: TrustBody, supervisor: Supervisor, caller: Calling
) -> TrustReport:
    """Set the level that the session asks for; looser than a floor of others is refused (409)."""
    row = await require_session(supervisor, session_id, caller)
    return trust_report(await supervisor.conversations.set_trust(row.id, body.trust_level))
