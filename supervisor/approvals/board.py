"""All that waits for a person, of whatever kind, in one order; and who watches it.

A watcher has no queue: it remembers what it has told, and at each look tells the difference to what
is open now. So a slow one holds up nobody and takes no more memory than what is open, and it never
misses a request that it could still answer. One that came and went between two looks isn't told.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from supervisor.events.schema import PermissionResolvedEvent, SupervisorEvent
from supervisor.ids import RequestId, SessionId, TurnId

REMEMBERED: Final = 4_096
"""How many closed requests are remembered by how they ended."""


@dataclass(frozen=True, slots=True)
class TurnContext:
    """The turn that a call belongs to; `agent` is the session's agent, not a sub-agent."""

    session_id: SessionId
    turn_id: TurnId
    agent: str | None = None
    workspace: str | None = None


class Posted(Protocol):
    """A request as the board has it."""

    @property
    def id(self) -> RequestId:
        """Its id."""
        ...

    @property
    def turn(self) -> TurnContext:
        """Whose it is."""
        ...

    @property
    def asked(self) -> SupervisorEvent:
        """What is asked."""
        ...


@dataclass(frozen=True, slots=True)
class Settled:
    """A request that is closed: whose it was, and how it ended."""

    turn: TurnContext
    resolved: PermissionResolvedEvent


class Board:
    """Everything that is open, in the order in which it was asked. Used from one event loop."""

    def __init__(self) -> None:
        self._open: dict[str, Posted] = {}
        self._settled: OrderedDict[str, Settled] = OrderedDict()
        self._bells: set[asyncio.Event] = set()

    def post(self, request: Posted) -> None:
        """Put a request up."""
        self._open[request.id] = request
        self._ring()

    def settle(self, request: Posted, resolved: PermissionResolvedEvent) -> None:
        """Take a request down; it ended like this."""
        if self._open.pop(request.id, None) is None:
            return
        self._settled[request.id] = Settled(request.turn, resolved)
        while len(self._settled) > REMEMBERED:
            self._settled.popitem(last=False)
        self._ring()

    def open(self) -> tuple[Posted, ...]:
        """What is open now, the oldest first."""
        return tuple(self._open.values())

    def find(self, request_id: str) -> Posted | None:
        """The open request of this id."""
        return self._open.get(request_id)

    def settled(self, request_id: str) -> Settled | None:
        """How a request ended, as long as that is remembered."""
        return self._settled.get(request_id)

    @property
    def watchers(self) -> int:
        """How many watch."""
        return len(self._bells)

    @contextmanager
    def watching(self, wanted: Callable[[Posted], bool]) -> Iterator["Watch"]:
        """Watch what is `wanted`, until the block is left."""
        bell = asyncio.Event()
        bell.set()
        self._bells.add(bell)
        try:
            yield Watch(self, bell, wanted)
        finally:
            self._bells.discard(bell)

    def _ring(self) -> None:
        for bell in self._bells:
            bell.set()


class Watch:
    """One who watches the board."""

    def __init__(self, board: Board, bell: asyncio.Event, wanted: Callable[[Posted], bool]) -> None:
        self._board = board
        self._bell = bell
        self._wanted = wanted
        self._told: dict[str, Posted] = {}

    async def changed(self) -> None:
        """Wait until there may be something to tell. For one waiter at a time."""
        await self._bell.wait()

    def look(self) -> tuple[list[Settled], list[Posted]]:
        """What has ended of that which was told, and what is open and wasn't told yet."""
        self._bell.clear()
        now = {each.id: each for each in self._board.open()}
        ended = [each for name, each in self._told.items() if name not in now]
        for each in ended:
            del self._told[each.id]
        fresh = [
            each for name, each in now.items() if name not in self._told and self._wanted(each)
        ]
        self._told.update((each.id, each) for each in fresh)
        return [self._end_of(each) for each in ended], fresh

    def _end_of(self, request: Posted) -> Settled:
        forgotten = PermissionResolvedEvent(id=request.id, decision="void")
        return self._board.settled(request.id) or Settled(request.turn, forgotten)
