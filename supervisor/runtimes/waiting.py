"""Keeps something ready for a session's next turn, until that takes it or its time is over.

Or for whichever session's comes first: it is nobody's then, and kept in a place of its own.

Knows nothing of what it keeps: a context, entered and left in a task of its own, as what a task has
entered no other may leave. Each thing is taken once; what nobody takes is let go.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from contextvars import Context
from typing import Any, Final, Generic, Self, TypeVar

from supervisor.errors import TurnFailed
from supervisor.ids import SessionId, TurnId, new_turn_id
from supervisor.observability.logs import Marks, log_context

logger = logging.getLogger(__name__)

T = TypeVar("T")

_PATIENCE_SECONDS: Final = 5.0
"""How long a taker waits for what is still being made: by then a new one would be there."""
_USED: Final = "its turn is over"

Tell = Callable[[SessionId | None, TurnId, dict[str, Any]], Awaitable[object]]
"""Is told what becomes of a thing: whose it is, what it is made under, and what happened."""

_Place = SessionId | int
"""Where it is kept: under the session it is for, or a number if it is for whoever comes."""


async def _nobody(_session: SessionId | None, _id: TurnId, _what: dict[str, Any]) -> None:
    """Nobody is told."""


async def _never(_: object) -> str:
    """It stays as it is."""
    await asyncio.Event().wait()
    return ""


class _Guest(Generic[T]):
    """One thing that is kept, from its making to its end."""

    def __init__(self, place: _Place, fit: Hashable = None) -> None:
        self.id = new_turn_id()
        self.place = place
        self.session = None if isinstance(place, int) else place
        self.fit = fit
        self.is_taken = False
        self.why: str | None = None
        self.marks = Marks()
        self.called = asyncio.Event()
        self.over = asyncio.Event()
        self.ready: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        self.task: asyncio.Task[None] | None = None

    def dismiss(self, why: str) -> None:
        """Let it go; its making is broken off if it isn't made yet. The first word on it counts."""
        if self.over.is_set():
            return
        self.why = self.why or why
        self.over.set()
        self.called.set()
        if self.task is not None and not self.ready.done():
            self.task.cancel()


class Held(Generic[T]):
    """What was taken, and is used until `end`, or until it is left as an async context manager."""

    def __init__(self, value: T, guest: _Guest[T]) -> None:
        self.value = value
        self._guest = guest

    async def __aenter__(self) -> T:
        return self.value

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        await self.end(error.message if isinstance(error, TurnFailed) else _USED)

    async def end(self, why: str = _USED) -> None:
        """Leave its context, and wait until that is done; doing so twice is harmless."""
        self._guest.dismiss(why)
        if self._guest.task is not None:
            await asyncio.wait({self._guest.task})


class WaitingRoom(Generic[T]):
    """Keeps at most `most` things, each at most `seconds` long. An async context manager.

    `patience` is how many seconds a taker waits for what is still being made. `spoilt` returns once
    a thing is of no use any more, with why: it is let go then. `tell` is told of each thing's
    making, taking and end; what it can't be told of isn't made, or not taken. Leaving the room lets
    all of them go, and waits for that.
    """

    def __init__(
        self,
        most: int,
        seconds: float,
        *,
        patience: float = _PATIENCE_SECONDS,
        spoilt: Callable[[T], Awaitable[str]] = _never,
        tell: Tell = _nobody,
    ) -> None:
        self._most = most
        self._seconds = seconds
        self._patience = patience
        self._spoilt = spoilt
        self._tell = tell
        self._waiting: dict[_Place, _Guest[T]] = {}
        self._all: dict[TurnId, _Guest[T]] = {}
        self._stack = AsyncExitStack()
        self._group: asyncio.TaskGroup | None = None

    async def __aenter__(self) -> Self:
        await self._stack.__aenter__()
        self._group = await self._stack.enter_async_context(asyncio.TaskGroup())
        self._stack.callback(self._close)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._stack.aclose()

    def _close(self) -> None:
        self._group = None
        for guest in list(self._all.values()):
            guest.dismiss("the supervisor stops")

    @property
    def ids(self) -> set[TurnId]:
        """What the things that are there are made under, the taken ones' included."""
        return set(self._all)

    @property
    def waiting(self) -> set[TurnId]:
        """Of these, those that are ready, and that nobody has taken."""
        return {each.id for each in self._waiting.values() if each.ready.done()}

    @property
    def owners(self) -> dict[TurnId, SessionId]:
        """Whose the things are, of those that are somebody's by now."""
        return {each.id: each.session for each in self._all.values() if each.session is not None}

    def expect(
        self,
        session: SessionId,
        fit: Hashable,
        open: Callable[[TurnId], AbstractAsyncContextManager[T]],
    ) -> None:
        """Make something ready for that session's next turn; the longest there gives way.

        `open` is called with the id that it is to be made under; `fit` is what a taker has to
        equal. Never waits and never raises: what can't be made isn't there when it is asked for.
        """
        if self._most < 1 or self._group is None:
            return
        self.forget(session, "another is made in its place")
        while len(self._waiting) >= self._most:
            self._forget(next(iter(self._waiting)), "no more of them may wait")
        self._begin(self._group, _Guest(session, fit), open)

    def fill(self, open: Callable[[TurnId], AbstractAsyncContextManager[T]]) -> None:
        """Make things ready for whoever comes, until as many are kept as may be; see `expect`."""
        if self._group is None:
            return
        for place in range(self._most):
            if place not in self._waiting:
                self._begin(self._group, _Guest(place), open)

    def _begin(
        self,
        group: asyncio.TaskGroup,
        guest: _Guest[T],
        open: Callable[[TurnId], AbstractAsyncContextManager[T]],
    ) -> None:
        self._waiting[guest.place] = self._all[guest.id] = guest
        # In surroundings of its own: it isn't a part of the turn that has just ended.
        guest.task = group.create_task(self._keep(guest, open(guest.id)), context=Context())
        guest.task.add_done_callback(lambda _: self._gone(guest))

    def forget(self, session: SessionId, why: str) -> None:
        """Let go what is kept for that session, if there is anything."""
        self._forget(session, why)

    def _forget(self, place: _Place, why: str) -> None:
        guest = self._waiting.pop(place, None)
        if guest is not None:
            guest.dismiss(why)

    async def give_way(self) -> bool:
        """Let go all that waits, and wait until it has gone, with what was let go before.

        Gives whether there was anything.
        """
        for place in list(self._waiting):
            self._forget(place, "another turn needs the room")
        going = {each.task for each in self._all.values() if each.over.is_set() and each.task}
        if going:
            await asyncio.wait(going)
        return bool(going)

    async def take(self, session: SessionId, fit: Hashable, turn: TurnId) -> Held[T] | None:
        """What is ready for that session's turn; waits a little if it is being made.

        Its lines in the log are that turn's from then on. None: there is nothing, it couldn't be
        made or not in time, or it was made for another turn than this one, and is let go then.
        """
        guest = self._waiting.pop(session, None)
        if guest is None:
            return None
        if guest.fit != fit:
            guest.dismiss("the next message came on other terms")
            return None
        return await self._taken(guest, session, turn)

    async def take_any(self, session: SessionId, turn: TurnId) -> Held[T] | None:
        """What is ready for whoever comes, for that session's turn from now on; never waits for it.

        None: nothing is.
        """
        for place, guest in self._waiting.items():
            if guest.session is None and guest.ready.done():
                del self._waiting[place]
                return await self._taken(guest, session, turn)
        return None

    async def _taken(self, guest: _Guest[T], session: SessionId, turn: TurnId) -> Held[T] | None:
        guest.is_taken = True
        guest.session = session
        guest.called.set()
        held = None
        try:
            async with asyncio.timeout(self._patience):
                value = await asyncio.shield(guest.ready)
            if value is not None:
                await self._tell(session, guest.id, {"what": "taken", "turn": turn})
                guest.marks.session_id, guest.marks.turn_id = session, turn
                held = Held(value, guest)
        except TimeoutError:
            return None
        finally:
            if held is None:
                guest.dismiss("it wasn't ready when the next message came")
        return held

    async def _keep(self, guest: _Guest[T], kept: AbstractAsyncContextManager[T]) -> None:
        with log_context(session_id=guest.session, turn_id=guest.id) as guest.marks:
            try:
                await self._tell(guest.session, guest.id, {"what": "begun"})
                async with kept as value:
                    guest.ready.set_result(value)
                    await self._until_over(guest, value)
            except TurnFailed as error:
                guest.why = guest.why or error.message
            except Exception:
                # What is kept for one session must not take the others' along.
                guest.why = guest.why or "something broke in the supervisor"
                logger.exception("what was kept ready for a turn broke")
            finally:
                await self._told_gone(guest)

    async def _told_gone(self, guest: _Guest[T]) -> None:
        why = guest.why or "it was broken off"
        logger.info("what was kept ready for a turn is gone: %s", why)
        try:
            await self._tell(guest.session, guest.id, {"what": "gone", "why": why})
        except Exception:
            logger.exception("the end of what was kept ready could not be told")

    async def _until_over(self, guest: _Guest[T], value: T) -> None:
        called = asyncio.ensure_future(guest.called.wait())
        spoilt = asyncio.ensure_future(self._spoilt(value))
        try:
            await asyncio.wait(
                {called, spoilt}, timeout=self._seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if not guest.is_taken:
                # Before anything is undone: nobody takes half of it.
                guest.dismiss(spoilt.result() if spoilt.done() else "nobody came for it in time")
                self._leave(guest)
        finally:
            called.cancel()
            spoilt.cancel()
            await asyncio.wait({called, spoilt})
        await guest.over.wait()

    def _leave(self, guest: _Guest[T]) -> None:
        if self._waiting.get(guest.place) is guest:
            del self._waiting[guest.place]

    def _gone(self, guest: _Guest[T]) -> None:
        self._leave(guest)
        self._all.pop(guest.id, None)
        if not guest.ready.done():
            guest.ready.set_result(None)
