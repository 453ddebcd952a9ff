"""Keeps something ready for a session's next turn, until that takes it or its time is over.

Knows nothing of what it keeps: a context, entered and left in a task of its own, as what a task has
entered no other may leave. Each thing is taken once; what nobody takes is let go.
"""

import asyncio
import logging
from collections.abc import Callable, Hashable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, suppress
from contextvars import Context
from typing import Final, Generic, Self, TypeVar

from supervisor.errors import TurnFailed
from supervisor.ids import SessionId, TurnId, new_turn_id

logger = logging.getLogger(__name__)

T = TypeVar("T")

_PATIENCE_SECONDS: Final = 5.0
"""How long a taker waits for what is still being made: by then a new one would be there."""


class _Guest(Generic[T]):
    """One thing that is kept, from its making to its end."""

    def __init__(self, fit: Hashable) -> None:
        self.id = new_turn_id()
        self.fit = fit
        self.is_taken = False
        self.called = asyncio.Event()
        self.over = asyncio.Event()
        self.ready: asyncio.Future[T | None] = asyncio.get_running_loop().create_future()
        self.task: asyncio.Task[None] | None = None

    def dismiss(self) -> None:
        """Let it go; its making is broken off if it isn't made yet. Doing so twice is harmless."""
        if self.over.is_set():
            return
        self.over.set()
        self.called.set()
        if self.task is not None and not self.ready.done():
            self.task.cancel()


class Held(Generic[T]):
    """What was taken, and is used until `end`."""

    def __init__(self, value: T, guest: _Guest[T]) -> None:
        self.value = value
        self._guest = guest

    async def end(self) -> None:
        """Leave its context, and wait until that is done; doing so twice is harmless."""
        self._guest.dismiss()
        if self._guest.task is not None:
            await asyncio.wait({self._guest.task})


class WaitingRoom(Generic[T]):
    """Keeps at most `most` things, each at most `seconds` long. An async context manager.

    `patience` is how many seconds a taker waits for what is still being made. Leaving the room lets
    all of them go, and waits for that.
    """

    def __init__(self, most: int, seconds: float, *, patience: float = _PATIENCE_SECONDS) -> None:
        self._most = most
        self._seconds = seconds
        self._patience = patience
        self._waiting: dict[SessionId, _Guest[T]] = {}
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
            guest.dismiss()

    @property
    def ids(self) -> set[TurnId]:
        """What the things that are there are made under, the taken ones' included."""
        return set(self._all)

    @property
    def waiting(self) -> set[TurnId]:
        """Of these, those that are ready, and that nobody has taken."""
        return {each.id for each in self._waiting.values() if each.ready.done()}

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
        self.forget(session)
        while len(self._waiting) >= self._most:
            self.forget(next(iter(self._waiting)))
        guest: _Guest[T] = _Guest(fit)
        self._waiting[session] = self._all[guest.id] = guest
        # In surroundings of its own: it isn't a part of the turn that has just ended.
        guest.task = self._group.create_task(
            self._keep(session, guest, open(guest.id)), context=Context()
        )
        guest.task.add_done_callback(lambda _: self._gone(session, guest))

    def forget(self, session: SessionId) -> None:
        """Let go what is kept for that session, if there is anything."""
        guest = self._waiting.pop(session, None)
        if guest is not None:
            guest.dismiss()

    async def give_way(self) -> bool:
        """Let go all that waits, and wait until it has gone, with what was let go before.

        Gives whether there was anything.
        """
        for session in list(self._waiting):
            self.forget(session)
        going = {each.task for each in self._all.values() if each.over.is_set() and each.task}
        if going:
            await asyncio.wait(going)
        return bool(going)

    async def take(self, session: SessionId, fit: Hashable) -> Held[T] | None:
        """What is ready for that session's turn; waits a little if it is being made.

        None: there is nothing, it couldn't be made or not in time, or it was made for another turn
        than this one, and is let go then.
        """
        guest = self._waiting.pop(session, None)
        if guest is None:
            return None
        if guest.fit != fit:
            guest.dismiss()
            return None
        guest.is_taken = True
        guest.called.set()
        value = None
        try:
            async with asyncio.timeout(self._patience):
                value = await asyncio.shield(guest.ready)
        except TimeoutError:
            return None
        finally:
            if value is None:
                guest.dismiss()
        return None if value is None else Held(value, guest)

    async def _keep(
        self, session: SessionId, guest: _Guest[T], kept: AbstractAsyncContextManager[T]
    ) -> None:
        try:
            async with kept as value:
                guest.ready.set_result(value)
                await self._until_over(session, guest)
        except TurnFailed as error:
            logger.info("nothing could be kept ready for a session's next turn: %s", error.message)
        except Exception:
            # What is kept for one session must not take the others' along.
            logger.exception("what was kept ready for a session's next turn broke")

    async def _until_over(self, session: SessionId, guest: _Guest[T]) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._seconds):
                await guest.called.wait()
        if guest.is_taken:
            await guest.over.wait()
        else:
            guest.over.set()
            self._leave(session, guest)  # before anything is undone: nobody takes half of it

    def _leave(self, session: SessionId, guest: _Guest[T]) -> None:
        if self._waiting.get(session) is guest:
            del self._waiting[session]

    def _gone(self, session: SessionId, guest: _Guest[T]) -> None:
        self._leave(session, guest)
        self._all.pop(guest.id, None)
        if not guest.ready.done():
            guest.ready.set_result(None)
