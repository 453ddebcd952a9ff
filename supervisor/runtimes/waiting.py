"""Keeps something ready for a session's next turn, until that takes it or its time is over.

Or for whichever session's comes first: it is nobody's then, and kept in a place of its own.

Knows nothing of what it keeps: a context, entered and left in a task of its own, as what a task has
entered no other may leave. Each thing is taken once; what nobody takes is let go.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from contextvars import Context
from typing import Any, Final, Generic, Self, TypeVar

from supervisor.errors import TurnFailed
from supervisor.ids import SessionId, TurnId
from supervisor.observability.logs import log_context
from supervisor.runtimes.guest import Guest, Held, Place

logger = logging.getLogger(__name__)

T = TypeVar("T")

_PATIENCE_SECONDS: Final = 5.0
"""How long a taker waits for what is still being made: by then a new one would be there."""

Tell = Callable[[SessionId | None, TurnId, dict[str, Any]], Awaitable[object]]
"""Is told what becomes of a thing: whose it is, what it is made under, and what happened."""


async def _nobody(_session: SessionId | None, _id: TurnId, _what: dict[str, Any]) -> None:
    """Nobody is told."""


def _nothing() -> None:
    """Nothing is to be done."""


async def _never(_: object) -> str:
    """It stays as it is."""
    await asyncio.Event().wait()
    return ""


class WaitingRoom(Generic[T]):
    """Keeps at most `most` things, each at most `seconds` long. An async context manager.

    With None for `seconds` each stays until somebody comes. `patience` is how many seconds a taker
    waits for what is still being made. `spoilt` returns once a thing is of no use any more, with
    why: it is let go then. `tell` is told of each thing's making, taking and end; what it can't be
    told of isn't made, or not taken. `then` is called when a thing is gone: what of it couldn't be
    undone is left by then. Leaving the room lets all of them go, and waits for that.
    """

    def __init__(  # noqa: PLR0913 - how things are kept, and who is told
        self,
        most: int,
        seconds: float | None,
        *,
        patience: float = _PATIENCE_SECONDS,
        spoilt: Callable[[T], Awaitable[str]] = _never,
        tell: Tell = _nobody,
        then: Callable[[], object] = _nothing,
    ) -> None:
        self._most = most
        self._seconds = seconds
        self._patience = patience
        self._spoilt = spoilt
        self._tell = tell
        self._then = then
        self._closed = 0
        self._waiting: dict[Place, Guest[T]] = {}
        self._all: dict[TurnId, Guest[T]] = {}
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
        if self._most < 1 or self._group is None or self._closed:
            return
        self.forget(session, "another is made in its place")
        while len(self._waiting) >= self._most:
            self._forget(next(iter(self._waiting)), "no more of them may wait")
        self._begin(self._group, Guest(session, fit), open)

    def fill(self, open: Callable[[TurnId], AbstractAsyncContextManager[T]]) -> None:
        """Make things ready for whoever comes, until as many are kept as may be; see `expect`."""
        if self._group is None or self._closed:
            return
        for place in range(self._most):
            if place not in self._waiting:
                self._begin(self._group, Guest(place), open)

    def _begin(
        self,
        group: asyncio.TaskGroup,
        guest: Guest[T],
        open: Callable[[TurnId], AbstractAsyncContextManager[T]],
    ) -> None:
        self._waiting[guest.place] = self._all[guest.id] = guest
        # In surroundings of its own: it isn't a part of the turn that has just ended.
        guest.task = group.create_task(self._keep(guest, open(guest.id)), context=Context())
        guest.task.add_done_callback(lambda _: self._gone(guest))

    def forget(self, session: SessionId, why: str) -> None:
        """Let go what is kept for that session, if there is anything."""
        self._forget(session, why)

    def _forget(self, place: Place, why: str) -> None:
        guest = self._waiting.pop(place, None)
        if guest is not None:
            guest.dismiss(why)

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Within the block nothing is begun: what gave way isn't followed by another at once."""
        self._closed += 1
        try:
            yield
        finally:
            self._closed -= 1

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

    async def _taken(self, guest: Guest[T], session: SessionId, turn: TurnId) -> Held[T] | None:
        guest.is_taken = True
        guest.session = session
        guest.called.set()
        held, why = None, "its turn was broken off"
        try:
            async with asyncio.timeout(self._patience):
                value = await asyncio.shield(guest.ready)
            if value is not None:
                await self._tell(session, guest.id, {"what": "taken", "turn": turn})
                guest.marks.session_id, guest.marks.turn_id = session, turn
                held = Held(value, guest)
        except TimeoutError:
            why = "it wasn't ready when the next message came"
            return None
        finally:
            if held is None:
                guest.dismiss(why)
        return held

    async def _keep(self, guest: Guest[T], kept: AbstractAsyncContextManager[T]) -> None:
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

    async def _told_gone(self, guest: Guest[T]) -> None:
        why = guest.why or "it was broken off"
        logger.info("what was kept ready for a turn is gone: %s", why)
        try:
            await self._tell(guest.session, guest.id, {"what": "gone", "why": why})
        except Exception:
            logger.exception("the end of what was kept ready could not be told")

    async def _until_over(self, guest: Guest[T], value: T) -> None:
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

    def _leave(self, guest: Guest[T]) -> None:
        if self._waiting.get(guest.place) is guest:
            del self._waiting[guest.place]

    def _gone(self, guest: Guest[T]) -> None:
        self._leave(guest)
        self._all.pop(guest.id, None)
        if not guest.ready.done():
            guest.ready.set_result(None)
        self._then()
