"""A turn that runs, in front of a person at a terminal."""

import asyncio
from contextlib import aclosing
from typing import Final

from supervisor.cli.asking import Asker
from supervisor.cli.client import Client, Heard, Turn
from supervisor.cli.ctrl_c import CtrlC
from supervisor.cli.render import Screen
from supervisor.errors import TrustfloorError

_LOST: Final = "the connection is lost; tried again for half a minute"


class TurnWatch:
    """One turn in front of a person: its events, their answers, their Ctrl-C."""

    def __init__(self, client: Client, turn: Turn, screen: Screen, asker: Asker) -> None:
        self._client = client
        self._turn = turn
        turn.on_lost = lambda: screen.line(_LOST, "yellow")
        self._screen = screen
        self._asker = asker
        self._open: dict[str, asyncio.Task[None]] = {}
        self._interrupts: asyncio.Queue[None] = asyncio.Queue()
        self.was_interrupted = False

    async def run(self, ctrl_c: CtrlC) -> str | None:
        """The type of the event that ended the turn; None if the person left before."""
        loop = asyncio.get_running_loop()
        try:
            with ctrl_c.acting(lambda: loop.call_soon_threadsafe(self._interrupt)):
                async with asyncio.TaskGroup() as group:
                    hearing = group.create_task(self._hear(group))
                    stopping = group.create_task(self._stop_when_told())
                    await asyncio.wait({hearing, stopping}, return_when=asyncio.FIRST_COMPLETED)
                    for task in (hearing, stopping, *self._open.values()):
                        task.cancel()
        except BaseExceptionGroup as failures:
            raise _first(failures) from None
        return None if hearing.cancelled() else hearing.result()

    def _interrupt(self) -> None:
        self.was_interrupted = True
        self._interrupts.put_nowait(None)

    async def _hear(self, group: asyncio.TaskGroup) -> str | None:
        last = None
        async with aclosing(self._turn.events()) as stream:
            async for heard in stream:
                last = heard.type
                self._take(heard, group)
        return last

    def _take(self, heard: Heard, group: asyncio.TaskGroup) -> None:
        if heard.type == "permission_request":
            self._open[heard.data["id"]] = group.create_task(self._asker.permission(heard))
        elif heard.type == "user_question":
            self._open[heard.data["requestId"]] = group.create_task(self._asker.question(heard))
        else:
            if heard.type == "permission_resolved":
                self._withdraw(heard.data["id"])
                self._asker.note(heard.data)
                elsewhere = self._asker.is_elsewhere(heard.data)
                self._screen.resolved(heard.data, elsewhere=elsewhere)
                return
            self._screen.show(heard)

    def _withdraw(self, request_id: str) -> None:
        """Somebody else answered, or nobody in time: what is asked here is asked no more."""
        asking = self._open.pop(request_id, None)
        if asking is not None:
            asking.cancel()

    async def _stop_when_told(self) -> None:
        await self._interrupts.get()
        if self._turn.session_id is None:
            return
        self._screen.line("aborting the turn; Ctrl-C again leaves it to itself", "yellow")
        async with asyncio.TaskGroup() as group:
            aborting = group.create_task(self._abort())
            await self._interrupts.get()
            aborting.cancel()
        session = self._turn.session_id
        self._screen.line(f"left; the session is {session}, and its turn goes on", "yellow")
        self._screen.line(f"  to stop it: trustfloor sessions stop {session}", "yellow")

    async def _abort(self) -> None:
        try:
            await self._client.abort(str(self._turn.session_id), "aborted by Ctrl-C")
        except TrustfloorError as error:
            self._screen.problem(error)


def _first(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    failure = failures.exceptions[0]
    return _first(failure) if isinstance(failure, BaseExceptionGroup) else failure
