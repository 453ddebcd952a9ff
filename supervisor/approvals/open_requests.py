"""Requests that wait for a person: asked once, answered once, void when nobody waits any more."""

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, Literal, Protocol, TypeVar

from supervisor.approvals.board import REMEMBERED, Board, TurnContext
from supervisor.errors import AlreadyAnswered, NotFound, RequestVoid, TrustfloorError
from supervisor.events.schema import GivenGrant, PermissionResolvedEvent, SupervisorEvent
from supervisor.ids import RequestId, SessionId, TurnId
from supervisor.observability.metrics import METRICS
from supervisor.policy.permissions import GrantScope

__all__ = ("Beyond", "End", "Open", "OpenRequests", "Outcome", "Sink", "Sinks", "TurnContext")

MOST_OPEN = 500
"""Requests of one kind that are open at once, over all sessions."""
MOST_OF_A_SESSION = 100
"""Requests of one kind that one session has open at once: no session takes all of them."""

Record = Callable[[str, SessionId | None, TurnId | None, Mapping[str, Any]], Awaitable[object]]
"""Appends to the audit log: kind, session, turn, body."""

WasAsked = Callable[[str], Awaitable[bool]]
"""Whether a request of this id was ever put to a person; the app reads it from the event log."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """What else was granted with an answer, or what earlier grants made it."""

    scope: GrantScope
    grants: tuple[GivenGrant, ...] = ()
    covered_by: tuple[str, ...] = ()


class Word(Protocol):
    """What a person says to a request, of whatever kind it is."""

    @property
    def decision(self) -> Literal["granted", "denied"]:
        """Whether they gave what was asked for."""
        ...

    @property
    def message(self) -> str | None:
        """What they say besides, to the agent."""
        ...

    @property
    def by(self) -> str | None:
        """Who they are; a name that isn't secret."""
        ...

    @property
    def beyond(self) -> "Beyond | None":
        """What they granted beyond the request itself."""
        ...


S = TypeVar("S")
A = TypeVar("A", bound=Word)


class Sink(Protocol):
    """Where the events of one turn go."""

    async def emit(self, event: SupervisorEvent) -> None:
        """Number, store and publish the event; returns once that is done."""
        ...


Sinks = Callable[[TurnContext], Sink]
"""Gives the sink of a turn."""


async def nothing_recorded(*_: object) -> None:
    """Where there is no audit log."""


class End(StrEnum):
    """How a request ended."""

    ANSWERED = "answered"
    TIMED_OUT = "timed_out"
    VOID = "void"


@dataclass(frozen=True, slots=True)
class Outcome(Generic[A]):
    """How a request ended, with the answer if there is one."""

    end: End
    answer: A | None = None


@dataclass(frozen=True, slots=True)
class Open(Generic[S, A]):
    """A request that somebody may answer: whose it is, and what is asked."""

    id: RequestId
    turn: TurnContext
    asked: SupervisorEvent
    subject: S
    outcome: asyncio.Future[Outcome[A]] = field(repr=False, compare=False)


class OpenRequests(Generic[S, A]):
    """All open requests of one kind. Used from one event loop; every change is one step of it.

    A request stays open for `timeout_s` seconds; `capacity` are open at most, `of_session` of one
    session. Each is on the `board` as long as it is open; how it ended is recorded in the audit
    log before anybody acts on it.
    """

    def __init__(  # noqa: PLR0913  (all that bounds it, and where it is told)
        self,
        sinks: Sinks,
        *,
        timeout_s: float,
        capacity: int = MOST_OPEN,
        of_session: int = MOST_OF_A_SESSION,
        was_asked: WasAsked | None = None,
        board: Board | None = None,
        record: Record = nothing_recorded,
    ) -> None:
        self.timeout_s = timeout_s
        self._sinks = sinks
        self._board = Board() if board is None else board
        self._of_session = of_session
        self._record = record
        self._open: dict[str, Open[S, A]] = {}
        self._ended: OrderedDict[str, End] = OrderedDict()
        self._capacity = capacity
        self._was_asked = was_asked

    async def ask(
        self, request_id: RequestId, turn: TurnContext, asked: SupervisorEvent, subject: S
    ) -> Outcome[A] | None:
        """Say `asked` and wait for the outcome, which is said too; a cancelled wait voids it.

        None, and nothing is said: as many as fit are open already.
        """
        if len(self._open) >= self._capacity:
            return None
        if len(self.pending(turn.session_id)) >= self._of_session:
            return None
        future: asyncio.Future[Outcome[A]] = asyncio.get_running_loop().create_future()
        request: Open[S, A] = Open(request_id, turn, asked, subject, future)
        self._open[request_id] = request
        self._board.post(request)
        sink, began = self._sinks(turn), time.monotonic()
        try:
            await sink.emit(asked)
            outcome = await self._wait(request)
            METRICS.answer_seconds.observe(time.monotonic() - began)
        except asyncio.CancelledError:
            self._discard(request)
            # The turn is being ended: that matters more than the event about it.
            with contextlib.suppress(TrustfloorError):
                await sink.emit(_resolved(request.id, Outcome(End.VOID)))
            raise
        finally:
            self._discard(request)
        resolved = _resolved(request.id, outcome)
        # Before it takes effect; where it can't be written down, it takes none.
        body = {"request": request.id, "asked": asked.type, **_told(resolved)}
        await self._record("answer", turn.session_id, turn.turn_id, body)
        await sink.emit(resolved)
        return outcome

    async def _wait(self, request: Open[S, A]) -> Outcome[A]:
        await asyncio.wait({request.outcome}, timeout=self.timeout_s)
        # No await between the look and the mark: an answer either came before, or is too late.
        if not request.outcome.done():
            self._end(request, Outcome(End.TIMED_OUT))
        return request.outcome.result()

    def _discard(self, request: Open[S, A]) -> None:
        """Nobody waits for it: void, if it is still open."""
        if not request.outcome.done():
            self._end(request, Outcome(End.VOID))

    async def find(self, request_id: str) -> Open[S, A]:
        """The open request of this id.

        Raises AlreadyAnswered, RequestVoid or NotFound. An open one is found without giving other
        tasks a turn, so an `answer` right after can't meet a request that has ended since.
        """
        request = self._open.get(request_id)
        if request is not None:
            return request
        ended = self._ended.get(request_id)
        if ended is not None or (self._was_asked is not None and await self._was_asked(request_id)):
            raise _closed(request_id, ended)
        raise NotFound("no request has this id", where=request_id)

    def answer(self, request: Open[S, A], answer: A) -> None:
        """Settle an open request; the first answer wins. Raises AlreadyAnswered, RequestVoid."""
        if request.outcome.done():
            raise _closed(request.id, request.outcome.result().end)
        self._end(request, Outcome(End.ANSWERED, answer))

    def end_turn(self, turn_id: TurnId) -> None:
        """Void all requests of a turn that is over."""
        for request in [each for each in self._open.values() if each.turn.turn_id == turn_id]:
            self._end(request, Outcome(End.VOID))

    def pending(self, session_id: SessionId | None = None) -> tuple[Open[S, A], ...]:
        """Open requests, oldest first; of one session, if given."""
        return tuple(
            each for each in self._open.values() if session_id in (None, each.turn.session_id)
        )

    def _end(self, request: Open[S, A], outcome: Outcome[A]) -> None:
        request.outcome.set_result(outcome)
        self._open.pop(request.id, None)
        self._board.settle(request, _resolved(request.id, outcome))
        self._ended[request.id] = outcome.end
        while len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)


def _told(resolved: PermissionResolvedEvent) -> dict[str, Any]:
    scope = None if resolved.scope is None else resolved.scope.value
    return {"decision": resolved.decision, "by": resolved.by, "scope": scope}


def _closed(request_id: str, ended: End | None) -> TrustfloorError:
    """Why a request can't be answered; None: nobody remembers how it ended."""
    if ended is End.ANSWERED:
        return AlreadyAnswered("somebody has answered this request already", where=request_id)
    return RequestVoid(
        "this request is no longer open: it timed out, or its turn has ended",
        where=request_id,
        remedy="send the message again, if it is still needed",
    )


def _resolved(request_id: RequestId, outcome: Outcome[A]) -> PermissionResolvedEvent:
    if outcome.answer is not None:
        word, beyond = outcome.answer, outcome.answer.beyond
        return PermissionResolvedEvent(
            id=request_id,
            decision=word.decision,
            message=word.message,
            by=word.by,
            scope=None if beyond is None else beyond.scope,
            grants=() if beyond is None else beyond.grants,
            covered_by=() if beyond is None else beyond.covered_by,
        )
    return PermissionResolvedEvent(
        id=request_id, decision="timed_out" if outcome.end is End.TIMED_OUT else "void"
    )
