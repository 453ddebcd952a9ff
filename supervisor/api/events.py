"""What happens in all sessions: read page by page, or followed as it comes."""

from collections.abc import Sequence
from typing import Annotated, Final

import orjson
from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response

from supervisor.api.caller import Caller, Calling
from supervisor.api.event_schema import EventsView, stream_of
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.api.sessions import require_session
from supervisor.api.sse import EventStream
from supervisor.api.visible import Visible
from supervisor.errors import InvalidRequest, SessionNotFound
from supervisor.events.feed import MILESTONES, follow, is_gap
from supervisor.events.log import Wanted
from supervisor.events.schema import EVENT_TYPES
from supervisor.ids import SessionId
from supervisor.nearest import guess

router = APIRouter(prefix="/events", tags=["events"])

MOST_EVENTS: Final = 500
"""Events of a page."""
_LARGEST: Final = 2**63 - 1

_STREAM: Final = stream_of("Events as they come; `id` is the number over all sessions")

Number = Annotated[int | None, Query(ge=0, le=_LARGEST)]
Types = Annotated[
    list[str] | None, Query(alias="type", description="Of these types only; may be repeated")
]
OfSession = Annotated[str | None, Query(alias="session", description="Of this session only")]


@router.get(
    "", response_class=Response, responses={200: {"model": EventsView}, **refusals(SessionNotFound)}
)
async def list_events(  # noqa: PLR0913 - each is a part of the request
    supervisor: Supervisor,
    caller: Calling,
    *,
    after: Annotated[int, Query(ge=0, le=_LARGEST)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_EVENTS)] = 100,
    types: Types = None,
    session: OfSession = None,
) -> Response:
    """Stored events of all sessions in order, those with a number above `after`.

    Left out, `type` means milestones: all but pieces of text, thinking, and results of tools.
    """
    wanted, found = _wanted(types), await _session(supervisor, session, caller)
    numbers = await supervisor.log.numbers()
    through, asked_after = numbers.last, after
    after = 0 if after > through else after
    events = await supervisor.log.over_all(Wanted(after, through, wanted, found, limit))
    # Looked at afterwards: what was pruned meanwhile isn't among the events.
    gap = is_gap(asked_after, await supervisor.log.numbers())
    more = len(events) == limit
    if events and not more:  # large ones are fewer than `limit`
        rest = Wanted(events[-1].number, through, wanted, found, 1)
        more = bool(await supervisor.log.over_all(rest))
    last = events[-1].number if more else max(after, through)
    visible = Visible(supervisor, caller)
    shown = [each for each in events if await visible.sees(each.record.session_id)]
    listed = b",".join(each.record.data for each in shown)
    numbers_shown = [each.number for each in shown]
    tail = orjson.dumps({"numbers": numbers_shown, "next": last, "more": more, "gap": gap})[1:]
    return Response(b'{"events":[%b],%b' % (listed, tail), media_type="application/json")


@router.get("/stream", response_class=Response, responses={**_STREAM, **refusals(SessionNotFound)})
async def follow_events(  # noqa: PLR0913 - each is a part of the request
    *,
    request: Request,
    supervisor: Supervisor,
    caller: Calling,
    after: Number = None,
    types: Types = None,
    session: OfSession = None,
    last_event_id: Annotated[int | None, Header(ge=0, le=_LARGEST)] = None,
) -> EventStream:
    """The same as they come, from `Last-Event-ID` (or `after`) on; with neither, from now on.

    The header `Trustfloor-After` has the number that the stream begins behind.
    """
    wanted, found = _wanted(types), await _session(supervisor, session, caller)
    start = after if last_event_id is None else last_event_id
    if start is None:
        start = (await supervisor.log.numbers()).last
    visible = Visible(supervisor, caller)
    return EventStream(
        lambda: visible.through(
            follow(supervisor.log, after=start, types=wanted, session_id=found)
        ),
        heartbeat_seconds=request.app.state.heartbeat_seconds,
        closing=request.app.state.closing,
        headers={"Trustfloor-After": str(start)},
    )


def _wanted(types: Sequence[str] | None) -> Sequence[str]:
    if not types:
        return MILESTONES
    unknown = next((each for each in types if each not in EVENT_TYPES), None)
    if unknown is not None:
        raise InvalidRequest(
            f"there is no such type of event{guess(unknown, EVENT_TYPES)}",
            where="type",
            remedy=f"use: {', '.join(sorted(EVENT_TYPES))}",
        )
    return types


async def _session(supervisor: Supervisor, session: str | None, caller: Caller) -> SessionId | None:
    return None if session is None else (await require_session(supervisor, session, caller)).id
