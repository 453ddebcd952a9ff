"""Things that are kept ready for a turn, in tests of the room they are kept in."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from supervisor.ids import SessionId, TurnId
from supervisor.runtimes.waiting import WaitingRoom
from tests.worlds.waiting import until

ADA, BOB, EVE = SessionId("ada"), SessionId("bob"), SessionId("eve")
TURN: Final = TurnId("the-turn")


@dataclass
class Made:
    """What is made, and what has become of it; each notes the task that it happened in."""

    opened: list[TurnId] = field(default_factory=list)
    closed: list[TurnId] = field(default_factory=list)
    tasks: dict[TurnId, set[asyncio.Task[object] | None]] = field(default_factory=dict)
    may_open: asyncio.Event = field(default_factory=asyncio.Event)
    breaks: Exception | None = None

    @asynccontextmanager
    async def open(self, turn: TurnId) -> AsyncIterator[str]:
        self.tasks[turn] = {asyncio.current_task()}
        try:
            await self.may_open.wait()
            if self.breaks is not None:
                raise self.breaks
            self.opened.append(turn)
            yield f"made under {turn}"
        finally:
            self.tasks[turn].add(asyncio.current_task())
            self.closed.append(turn)


def a_maker() -> Made:
    """One that makes what it is asked for at once."""
    it = Made()
    it.may_open.set()
    return it


async def gone(room: WaitingRoom[str]) -> None:
    """Wait until nothing is there."""
    await until(lambda: not room.ids)


async def ready(room: WaitingRoom[str]) -> None:
    """Wait until something is ready."""
    await until(lambda: room.waiting)
