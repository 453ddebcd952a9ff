"""Sessions: list, read, rename, tag, put away, delete; and how many there are."""

import asyncio
import hashlib
import resource
import time
from collections.abc import Collection, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, Header, Query
from starlette.responses import Response

from supervisor.api.bodies import SessionsView, SessionView
from supervisor.api.caller import Caller, Calling
from supervisor.api.parts import Parts, Supervisor
from supervisor.api.refusals import refusals
from supervisor.api.session_bodies import (
    ArchivedView,
    ClearBody,
    DayView,
    DeletedView,
    MessageView,
    SessionChangeBody,
    SessionCountsView,
    SessionWithMessagesView,
    SpentView,
    StatsView,
    TagView,
    WaitingCountsView,
)
from supervisor.errors import InvalidRequest, NotFound, SessionBusy, SessionNotFound
from supervisor.ids import SessionId, is_session_id
from supervisor.sessions.history import MOST_MESSAGES, Page, read_history
from supervisor.sessions.transcripts import stored_pointer
from supervisor.storage.figures import MOST_DAYS
from supervisor.storage.session import Session, SessionUpdate
from supervisor.storage.tags import normal_tag

router = APIRouter(tags=["sessions"])

_BORN: Final = time.monotonic()
_KIB_IN_MIB: Final = 1024
_BY_ID: Final = "How their ids begin: those alone, by their ids, whatever else is asked for"
_UNCHANGED: dict[int | str, dict[str, Any]] = {
    200: {"model": SessionWithMessagesView},
    304: {"description": "As `If-None-Match` has it"},
    **refusals(SessionNotFound),
}


async def require_session(supervisor: Parts, text: str, caller: Caller) -> Session:
    """The session with this id, if the caller may see it.

    Raises SessionNotFound, for what is no id and for what isn't theirs as well.
    """
    row = None
    if is_session_id(text):
        row = await supervisor.sessions.find_session(SessionId(text))
    if row is None or not caller.may_see(row.workspace):
        raise SessionNotFound("no session has this id", where="sessionId")
    return row


@router.get("/chat/sessions")
async def list_sessions(  # noqa: PLR0913 - each is a filter
    supervisor: Supervisor,
    caller: Calling,
    *,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: str | None = None,
    archived: bool | None = None,
    workspace: str | None = None,
    module: str | None = None,
    agent: Annotated[str | None, Query(description="The name of its agent")] = None,
    tag: Annotated[str | None, Query(description="One that it has")] = None,
    id: Annotated[str | None, Query(min_length=4, max_length=36, description=_BY_ID)] = None,
) -> SessionsView:
    """A page of sessions, the last accessed first."""
    if id is not None:
        named = await supervisor.sessions.sessions_beginning(id)
        seen = [row for row in named if caller.may_see(row.workspace)][:limit]
        return SessionsView(sessions=await _views(supervisor, seen), next=None)
    wanted = [workspace] if workspace or caller.workspaces is None else sorted(caller.workspaces)
    found = [
        row
        for each in wanted
        if each is None or caller.may_see(each)
        for row in await supervisor.sessions.list_sessions(
            limit,
            archived=archived,
            workspace=each,
            module=module,
            agent_type=agent,
            tag=tag,
            before=before,
        )
    ]
    if len(wanted) > 1:
        found.sort(key=lambda row: row.last_accessed, reverse=True)
    rows = found[:limit]
    return SessionsView(
        sessions=await _views(supervisor, rows),
        next=rows[-1].cursor if len(rows) == limit else None,
    )


@router.get("/chat/session/{session_id}", response_class=Response, responses=_UNCHANGED)
async def get_session(  # noqa: PLR0913 - each is a part of the request
    session_id: str,
    supervisor: Supervisor,
    caller: Calling,
    *,
    limit: Annotated[int, Query(ge=0, le=MOST_MESSAGES)] = 100,
    before: str | None = None,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """A session and the last messages of it; `before` leads to earlier ones.

    Messages are read from the transcript; what of it is damaged is left out, and noted.
    """
    row = await require_session(supervisor, session_id, caller)
    page = await _page(supervisor, row, limit, before)
    view = SessionWithMessagesView(
        **await _of(supervisor, row),
        messages=tuple(
            MessageView(
                id=each.id,
                role=each.role,
                content=each.text,
                blocks=[dict(block) for block in each.blocks],
                timestamp=each.timestamp,
                model=each.model,
            )
            for each in page.messages
        ),
        before=page.before,
        notes=page.notes,
    )
    content = orjson.dumps(view.model_dump(mode="json", by_alias=True))
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    known = {each.strip().removeprefix("W/") for each in (if_none_match or "").split(",")}
    if tag in known or "*" in known:
        return Response(status_code=304, headers={"ETag": tag})
    return Response(content, media_type="application/json", headers={"ETag": tag})


@router.patch("/chat/session/{session_id}", responses=refusals(SessionNotFound))
async def change_session(
    session_id: str, body: SessionChangeBody, supervisor: Supervisor, caller: Calling
) -> SessionView:
    """Rename a session, tag it anew, put it away or take it back."""
    row = await require_session(supervisor, session_id, caller)
    given = body.model_dump(exclude_unset=True, exclude={"tags"})
    wanted = None if body.tags is None else {normal_tag(tag) for tag in body.tags}
    if wanted is not None:
        held = set(await supervisor.tags.get_session_tags(row.id))
        for tag in held - wanted:
            await supervisor.tags.remove_tag(row.id, tag)
        for tag in wanted - held:
            await supervisor.tags.add_tag(row.id, tag)
    row = await supervisor.sessions.update_session(row.id, SessionUpdate(**given))
    if body.archived:
        await supervisor.conversations.put_away(row.id)
    supervisor.index.changed()
    return SessionView(**await _of(supervisor, row))


@router.post(
    "/chat/session/{session_id}/fork",
    status_code=HTTPStatus.CREATED,
    responses=refusals(SessionNotFound, NotFound, InvalidRequest),
)
async def fork_session(session_id: str, supervisor: Supervisor, caller: Calling) -> SessionView:
    """A new session that goes on from this one, at a trust at least as strict.

    Its first message is told what was said so far, as text; the old session stays as it is.
    """
    row = await require_session(supervisor, session_id, caller)
    made = await supervisor.conversations.fork(row.id)
    supervisor.index.turn_ended(made.id)
    return SessionView(**await _of(supervisor, made))


@router.post("/chat/session/{session_id}/archive", responses=refusals(SessionNotFound))
async def archive(session_id: str, supervisor: Supervisor, caller: Calling) -> ArchivedView:
    """Put a session away; nothing of it is deleted."""
    row = await require_session(supervisor, session_id, caller)
    await supervisor.conversations.put_away(row.id)
    return ArchivedView(id=row.id, archived=True)


@router.post("/chat/session/{session_id}/unarchive", responses=refusals(SessionNotFound))
async def unarchive(session_id: str, supervisor: Supervisor, caller: Calling) -> ArchivedView:
    """Take a session back that was put away."""
    row = await require_session(supervisor, session_id, caller)
    await supervisor.sessions.unarchive_session(row.id)
    return ArchivedView(id=row.id, archived=False)


@router.delete("/chat/session/{session_id}", responses=refusals(SessionNotFound, SessionBusy))
async def delete_session(
    session_id: str, supervisor: Supervisor, caller: Calling, *, transcript: bool = False
) -> DeletedView:
    """Delete a session for good, with its events; with `transcript=true` what was said, too.

    Refused (409) while a turn of it runs.
    """
    row = await require_session(supervisor, session_id, caller)
    gone = await supervisor.conversations.delete(row.id, with_transcript=transcript)
    supervisor.index.changed(deleted=True)
    return DeletedView(id=row.id, transcript_deleted=gone)


@router.delete("/chat/session", responses=refusals(SessionNotFound, SessionBusy))
async def clear_session(body: ClearBody, supervisor: Supervisor, caller: Calling) -> DeletedView:
    """The same by a body, as earlier clients send it; the transcript stays."""
    return await delete_session(body.session_id, supervisor, caller)


@router.get("/stats")
async def stats(
    supervisor: Supervisor, days: Annotated[int, Query(ge=1, le=MOST_DAYS)] = 7
) -> StatsView:
    """How many sessions there are, their tags, what the last days held, and what we take."""
    total = await supervisor.sessions.get_session_count()
    archived = await supervisor.sessions.get_session_count(archived=True)
    tags, sums = await supervisor.tags.list_all_tags(), await supervisor.figures(days)
    return StatsView(
        sessions=SessionCountsView(
            total=total,
            active=total - archived,
            archived=archived,
            running=len(supervisor.conversations.active()),
        ),
        sessions_by_trust=sums.sessions_by_trust,
        turns=sums.turns_by_state,
        spent_by_model={
            name: SpentView(sessions=each.sessions, tokens=each.tokens, cost_usd=each.cost_usd)
            for name, each in sums.spent_by_model.items()
        },
        days=[DayView.model_validate(each, from_attributes=True) for each in sums.days],
        waiting=WaitingCountsView(
            permissions=len(supervisor.approvals.pending()),
            questions=len(supervisor.questions.pending()),
        ),
        grants=len(await supervisor.grants.list()),
        tags=[TagView(tag=each.tag, sessions=each.count) for each in tags],
        memory_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _KIB_IN_MIB,
        uptime_seconds=round(time.monotonic() - _BORN, 3),
    )


async def _page(supervisor: Parts, row: Session, limit: int, before: str | None) -> Page:
    pointer = stored_pointer(row.transcript_path, row.id)
    if pointer is None or limit == 0:
        return Page()
    return await asyncio.to_thread(
        read_history,
        supervisor.settings.vault,
        pointer,
        row.id,
        limit=limit,
        before=before,
        home=Path.home(),
    )


async def _views(supervisor: Parts, rows: Sequence[Session]) -> list[SessionView]:
    tags = await supervisor.tags.tags_of([row.id for row in rows])
    active = set(supervisor.conversations.active())
    return [SessionView(**_fields(row, active, tags.get(row.id, ()))) for row in rows]


async def _of(supervisor: Parts, row: Session) -> dict[str, Any]:
    tags = await supervisor.tags.get_session_tags(row.id)
    return _fields(row, set(supervisor.conversations.active()), tuple(tags))


def _fields(row: Session, active: Collection[SessionId], tags: tuple[str, ...]) -> dict[str, Any]:
    return {
        "id": row.id,
        "title": row.title,
        "workspace": row.workspace,
        "trust_level": row.trust_level,
        "working_directory": row.working_directory,
        "model": row.model,
        "agent_path": row.agent_path,
        "source": row.source,
        "continued_from": row.continued_from,
        "message_count": row.message_count,
        "tokens_used": row.tokens_used,
        "cost_usd": row.paid_usd,
        "archived": row.archived,
        "created_at": row.created_at,
        "last_accessed": row.last_accessed,
        "active": row.id in active,
        "tags": tags,
        "damaged": row.damaged,
    }
