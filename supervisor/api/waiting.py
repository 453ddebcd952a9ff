"""What waits for a person, as clients get it: which of it a caller sees, listed or as it comes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Query

from supervisor.api.caller import Caller
from supervisor.api.waiting_bodies import NoLongerOpen, OpenList, OpenPermission, OpenQuestion
from supervisor.approvals.board import Board, Posted, Settled, TurnContext, Watch
from supervisor.clock import Clock
from supervisor.errors import NotFound
from supervisor.events.log import EventRecord
from supervisor.events.schema import Event, PermissionRequestEvent, UserQuestionEvent
from supervisor.ids import SessionId, TurnId

_NO_NUMBER: Final = -1
"""These are no events of a session's log, and a reconnected reader begins with what is open."""

OfSession = Annotated[str | None, Query(alias="sessionId", description="Of this session only")]
OfWorkspace = Annotated[str | None, Query(description="Of this workspace only")]
OfAgent = Annotated[
    str | None, Query(description="Of sessions of this agent, or of a sub-agent of this name")
]
OfTool = Annotated[str | None, Query(description="For this tool only")]


def may_see(caller: Caller, turn: TurnContext) -> bool:
    """Whether what waits in this turn is the caller's to see, and to answer."""
    return caller.may_see(turn.workspace or "")


@dataclass(frozen=True, slots=True)
class Filter:
    """Which requests are wanted; what is None lets all through."""

    session_id: str | None = None
    workspace: str | None = None
    agent: str | None = None
    tool: str | None = None

    def lets(self, request: Posted) -> bool:
        """Whether a request is wanted."""
        turn, asked = request.turn, request.asked
        sub_agent: str | None = getattr(asked, "agent_name", None)
        tool = getattr(asked, "tool_name", "AskUserQuestion")
        return (
            self.session_id in (None, turn.session_id)
            and self.workspace in (None, turn.workspace)
            and (self.agent is None or self.agent == turn.agent or self._is_kind(sub_agent))
            and self.tool in (None, tool)
        )

    def _is_kind(self, sub_agent: str | None) -> bool:
        """A sub-agent is called by its kind and its id: `kind (id)`."""
        return sub_agent is not None and self.agent in (sub_agent, sub_agent.rpartition(" (")[0])


def wanted(caller: Caller, only: Filter) -> Callable[[Posted], bool]:
    """Whether a request is one that the caller may see and wants to."""
    return lambda request: may_see(caller, request.turn) and only.lets(request)


def require_seen(board: Board, caller: Caller, request_id: str) -> None:
    """Raise NotFound for a request, open or closed, that isn't the caller's to see.

    One that nobody remembers is left to whoever looks it up.
    """
    known = board.find(request_id) or board.settled(request_id)
    if known is not None and not may_see(caller, known.turn):
        raise NotFound("no request has this id", where=request_id)


def view_of(request: Posted, now: float) -> OpenPermission | OpenQuestion | None:
    """An open request with whose it is and the time left; `now` in seconds since the epoch."""
    turn, asked = request.turn, request.asked
    whose: dict[str, Any] = {
        "session_id": turn.session_id,
        "turn_id": turn.turn_id,
        "workspace": turn.workspace,
        "agent": turn.agent,
    }
    if isinstance(asked, PermissionRequestEvent):
        left = max(0.0, round(asked.expires_at - now, 3))
        return OpenPermission.model_construct(**dict(asked), **whose, seconds_left=left)
    if isinstance(asked, UserQuestionEvent):
        left = max(0.0, round(asked.expires_at - now, 3))
        return OpenQuestion.model_construct(**dict(asked), **whose, seconds_left=left)
    return None


@asynccontextmanager
async def followed(
    board: Board, clock: Clock, wants: Callable[[Posted], bool]
) -> AsyncIterator["Waiting"]:
    """What is open and wanted, and from then on what changes, without end."""
    with board.watching(wants) as watch:
        yield Waiting(watch, clock)


class Waiting:
    """What `followed` gives: batches of records without a number, the `open` one first."""

    ended: Final = False

    def __init__(self, watch: Watch, clock: Clock) -> None:
        self._watch = watch
        self._clock = clock
        self._has_begun = False

    async def batch(self, wait: float | None = None) -> list[EventRecord]:
        """All that there is to tell, waiting up to `wait` seconds (None: for ever) for the first.

        Empty when the time is over.
        """
        try:
            async with asyncio.timeout(wait):
                while True:
                    await self._watch.changed()
                    if told := self._look():
                        return told
        except TimeoutError:
            return []

    def _look(self) -> list[EventRecord]:
        ended, fresh = self._watch.look()
        told: list[EventRecord] = []
        if not self._has_begun:
            self._has_begun = True
            nobody = TurnContext(SessionId(""), TurnId(""))
            told.append(_record(nobody, OpenList(ids=tuple(each.id for each in fresh))))
        told += (_record(each.turn, _no_longer_open(each)) for each in ended)
        now = self._clock.now()
        for each in fresh:
            if (view := view_of(each, now)) is not None:
                told.append(_record(each.turn, view))
        return told


def _no_longer_open(settled: Settled) -> NoLongerOpen:
    return NoLongerOpen.model_construct(
        **dict(settled.resolved),
        session_id=settled.turn.session_id,
        turn_id=settled.turn.turn_id,
    )


def _record(turn: TurnContext, said: Event) -> EventRecord:
    kind = str(type(said).model_fields["type"].default)
    data = said.model_dump_json(by_alias=True).encode()
    return EventRecord(turn.session_id, turn.turn_id, _NO_NUMBER, kind, "", data)
