"""Send a message and hear the turn: streamed, joined later, waited for, or aborted."""

from typing import Annotated, Final, Literal

import orjson
from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response

from supervisor.api.bodies import AbortBody, AbortView, ActiveView, ChatBody
from supervisor.api.caller import Caller, Calling
from supervisor.api.event_schema import stream_of
from supervisor.api.parts import Parts, Supervisor
from supervisor.api.problems import Problem
from supervisor.api.refusals import refusals
from supervisor.api.sessions import require_session
from supervisor.api.sse import EventStream
from supervisor.api.uploads import decoded
from supervisor.api.visible import Visible
from supervisor.errors import (
    BROKEN_OFF,
    KeyReused,
    NotFound,
    RuntimeMissing,
    SessionBusy,
    SessionNotFound,
    ShuttingDown,
    TurnAborted,
    TurnFailed,
    TurnForgotten,
    TurnInterrupted,
    unhappy_end,
)
from supervisor.events.log import EventRecord, is_terminal
from supervisor.events.replay import subscribe
from supervisor.events.schema import DoneEvent
from supervisor.sessions.attachments import Attachment
from supervisor.sessions.records import MessageRequest, TurnStarted
from supervisor.storage.workspaces import DEFAULT

router = APIRouter(prefix="/chat", tags=["chat"])

_NOT_BEGUN: Final = (
    SessionNotFound,
    NotFound,
    SessionBusy,
    KeyReused,
    TurnForgotten,
    RuntimeMissing,
    ShuttingDown,
)
_LARGEST_SEQ = 2**63 - 1
_STREAM: Final = stream_of("The turn's events")

Seq = Annotated[int, Query(ge=0, le=_LARGEST_SEQ)]
IdempotencyKey = Annotated[
    str | None,
    Header(description="Sent again with the same key within a day, it is the same message"),
]
LastEventId = Annotated[int | None, Header(ge=0, le=_LARGEST_SEQ)]


@router.post("/stream", response_class=Response, responses={**_STREAM, **refusals(*_NOT_BEGUN)})
async def send_and_stream(
    body: ChatBody,
    request: Request,
    supervisor: Supervisor,
    caller: Calling,
    idempotency_key: IdempotencyKey = None,
) -> EventStream:
    """Begin a turn and stream it up to its `done`, `aborted` or `error`.

    The turn belongs to the supervisor: a client that leaves changes nothing and joins again with
    the id from the header `Trustfloor-Session`.
    """
    started = await _begun(supervisor, _message(body, idempotency_key), caller)
    return EventStream(
        lambda: subscribe(supervisor.log, started.session_id, after=started.after),
        is_last=lambda record: _ends(record, started),
        heartbeat_seconds=request.app.state.heartbeat_seconds,
        headers={
            "Trustfloor-Session": started.session_id,
            "Trustfloor-Turn": started.turn_id,
            "Trustfloor-After": str(started.after),
            **_repeated(started),
        },
    )


@router.post(
    "",
    response_class=Response,
    responses={
        200: {"model": DoneEvent},
        **refusals(*_NOT_BEGUN, TurnAborted, TurnFailed, *TurnFailed.__subclasses__()),
    },
)
async def send_and_wait(
    body: ChatBody,
    supervisor: Supervisor,
    request: Request,
    caller: Calling,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Begin a turn and answer with its `done` event; how else it ends is a problem document."""
    started = await _begun(supervisor, _message(body, idempotency_key), caller)
    last: EventRecord | None = None
    async with subscribe(supervisor.log, started.session_id, after=started.after) as records:
        async for record in records:
            last = record
            if _ends(record, started):
                break
    if last is None or not _ends(last, started):
        raise TurnInterrupted(BROKEN_OFF, remedy="look at the session, then send again")
    if last.type == DoneEvent.model_fields["type"].default:
        return Response(last.data, media_type="application/json", headers=_repeated(started))
    problem = Problem(**unhappy_end(last.type, orjson.loads(last.data)))
    return problem.response(request.url.path)


@router.get(
    "/session/{session_id}/stream",
    response_class=Response,
    responses={**_STREAM, **refusals(SessionNotFound)},
)
async def join(  # noqa: PLR0913 - each is a part of the request
    *,
    session_id: str,
    request: Request,
    supervisor: Supervisor,
    caller: Calling,
    after: Seq = 0,
    until: Literal["done", "never"] = "never",
    last_event_id: LastEventId = None,
) -> EventStream:
    """Replay what came after `Last-Event-ID` (or `after`), then go on live.

    Goes on over later turns until the client leaves, or with `until=done` to the first end of a
    turn. `Last-Event-ID` counts before `after`: a browser that reconnects repeats the address.
    """
    found = await require_session(supervisor, session_id, caller)
    start = after if last_event_id is None else last_event_id
    return EventStream(
        lambda: subscribe(supervisor.log, found.id, after=start, until_terminal=until == "done"),
        heartbeat_seconds=request.app.state.heartbeat_seconds,
        closing=request.app.state.closing,
        hears_of_stop=lambda: found.id in supervisor.conversations.active(),
    )


@router.post("/session/{session_id}/abort", responses=refusals(SessionNotFound))
async def abort(
    session_id: str, supervisor: Supervisor, caller: Calling, body: AbortBody | None = None
) -> AbortView:
    """End the session's turn, its tools' children too; `aborted` is false if none runs."""
    found = await require_session(supervisor, session_id, caller)
    reason = (body or AbortBody()).reason
    return AbortView(aborted=await supervisor.conversations.abort(found.id, reason))


@router.get("/active-streams")
async def active_streams(supervisor: Supervisor, caller: Calling) -> ActiveView:
    """The sessions in which a turn runs."""
    visible = Visible(supervisor, caller)
    active = supervisor.conversations.active()
    return ActiveView(sessions=[each for each in active if await visible.sees(each)])


async def _begun(supervisor: Parts, message: MessageRequest, caller: Caller) -> TurnStarted:
    if message.session_id is not None and caller.workspaces is not None:
        await require_session(supervisor, message.session_id, caller)
    elif not caller.may_see(message.workspace or DEFAULT):
        raise NotFound(
            "there is no such workspace", where="workspace", remedy="name one of your token's"
        )
    return await supervisor.conversations.begin(message)


def _ends(record: EventRecord, started: TurnStarted) -> bool:
    return record.turn_id == started.turn_id and is_terminal(record)


def _repeated(started: TurnStarted) -> dict[str, str]:
    return {"Idempotent-Replayed": "true"} if started.is_repeated else {}


def _message(body: ChatBody, key: str | None) -> MessageRequest:
    fresh = body.session_id in (None, "", "new")  # "new" is what earlier clients send
    return MessageRequest(
        message=body.message,
        session_id=None if fresh else body.session_id,
        workspace=body.workspace,
        trust_level=body.trust_level,
        working_directory=body.working_directory,
        model=body.model,
        system_prompt=body.system_prompt,
        agent=body.agent_path,
        initial_context=body.initial_context,
        attachments=tuple(
            Attachment(each.filename, decoded(each, f"attachments.{at}.content"))
            for at, each in enumerate(body.attachments)
        ),
        idempotency_key=key,
    )
