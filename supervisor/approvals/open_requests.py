"""Requests that wait for a person: asked once, answered once, void when nobody waits any more."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from supervisor.errors import AlreadyAnswered, NotFound, RequestVoid
from supervisor.events.schema import SupervisorEvent
from supervisor.ids import RequestId, SessionId, TurnId

REMEMBERED = 4_096
"""How many closed requests are remembered by how they ended; older ones are looked up as void."""

WasAsked = Callable[[str], Awaitable[bool]]
"""Whether a request of this id was ever put to a person; the app reads it from the event log."""

S = TypeVar("S")
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class TurnContext:
    """The turn that a call belongs to; `agent` is the session's agent, not a sub-agent."""

    session_id: SessionId
    turn_id: TurnId
    agent: str | None = None


class Sink(Protocol):
    """Where the events of one turn go."""

    async def emit(self, event: SupervisorEvent) -> None:
        """Number, store and publish the event; returns once that is done."""
        ...


Sinks = Callable[[TurnContext], Sink]
"""Gives the sink of a turn."""


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
    subject: S
    outcome: asyncio.Future[Outcome[A]] = field(repr=False, compare=False)


class OpenRequests(Generic[S, A]):
    """All open requests of one kind. Used from one event loop; every change is one step of it."""

    def __init__(self, *, capacity: int, was_asked: WasAsked | None = None) -> None:
        self._open: dict[str, Open[S, A]] = {}
        self._ended: OrderedDict[str, End] = OrderedDict()
        self._capacity = capacity
        self._was_asked = was_asked

    def open(self, request_id: RequestId, turn: TurnContext, subject: S) -> Open[S, A] | None:
        """Register a request; None if as many as fit are open already."""
        if len(self._open) >= self._capacity:
            return None
        future: asyncio.Future[Outcome[A]] = asyncio.get_running_loop().create_future()
        request: Open[S, A] = Open(request_id, turn, subject, future)
        self._open[request_id] = request
        return request

    async def wait(self, request: Open[S, A], timeout_s: float) -> Outcome[A]:
        """Until it is answered, void, or `timeout_s` have passed; a cancelled wait voids it."""
        try:
            await asyncio.wait({request.outcome}, timeout=timeout_s)
        except asyncio.CancelledError:
            self.discard(request)
            raise
        # No await between the look and the mark: an answer either came before, or is too late.
        if not request.outcome.done():
            self._end(request, Outcome(End.TIMED_OUT))
        return request.outcome.result()

    def discard(self, request: Open[S, A]) -> None:
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
        if ended is End.ANSWERED:
            raise AlreadyAnswered("somebody has answered this request already", where=request_id)
        if ended is not None or (self._was_asked is not None and await self._was_asked(request_id)):
            raise RequestVoid(
                "this request is no longer open: it timed out, or its turn has ended",
                where=request_id,
                remedy="send the message again, if it is still needed",
            )
        raise NotFound("no request has this id", where=request_id)

    def answer(self, request: Open[S, A], answer: A) -> None:
        """Settle an open request; the first answer wins."""
        if request.outcome.done():
            raise AlreadyAnswered("somebody has answered this request already", where=request.id)
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
        self._ended[request.id] = outcome.end
        while len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)
