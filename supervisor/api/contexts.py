"""The context folders of a session: their instructions go into each of its prompts."""

from fastapi import APIRouter

from supervisor.api.caller import Calling
from supervisor.api.context_bodies import ContextsBody, ContextsView
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.api.sessions import require_session
from supervisor.errors import SessionNotFound

router = APIRouter(prefix="/sessions", tags=["sessions"])


@router.get("/{session_id}/contexts", responses=refusals(SessionNotFound))
async def get_contexts(session_id: str, supervisor: Supervisor, caller: Calling) -> ContextsView:
    """The folders whose `AGENTS.md` and `CLAUDE.md`, and those above, the session is told of."""
    row = await require_session(supervisor, session_id, caller)
    return ContextsView(folders=await supervisor.contexts.get_session_contexts(row.id))


@router.put("/{session_id}/contexts", responses=refusals(SessionNotFound))
async def put_contexts(
    session_id: str, body: ContextsBody, supervisor: Supervisor, caller: Calling
) -> ContextsView:
    """Put these folders in the place of those that it has; from its next message on."""
    row = await require_session(supervisor, session_id, caller)
    folders = await supervisor.contexts.set_session_contexts(row.id, body.folders)
    return ContextsView(folders=folders)
