"""One message and its turn."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
from httpx_sse import EventSource

from supervisor.errors import unhappy_end
from trustfloor.aio.connection import AsyncConnection
from trustfloor.aio.lasting import AsyncLasting
from trustfloor.errors import Refused, begun, document, refused
from trustfloor.heard import TERMINAL, UNNUMBERED, Heard

if TYPE_CHECKING:
    from supervisor.events.schema import DoneEvent


class AsyncTurn(AsyncLasting):
    """One turn's events, in order and each once, however often the connection breaks.

    It begins when its events, or its result, are first asked for. `session_id` is known as soon as
    the supervisor has taken the message. Each event is told once, whoever asks: events that are
    asked for again go on where the last left off, and behind the turn's end there are none.
    """

    def __init__(
        self, connection: AsyncConnection, body: Mapping[str, Any], key: str | None = None
    ) -> None:
        super().__init__(connection, 0)
        self._body = body
        self._key = key or uuid4().hex
        self._end: Heard | None = None
        self.session_id: str | None = None

    def __aiter__(self) -> AsyncGenerator[Heard]:
        return self.events()

    async def events(self) -> AsyncGenerator[Heard]:
        """Send the message and yield what is said, up to the turn's end.

        Raises Unreachable, Refused or Unexpected. However often it is sent, it is taken once.
        """
        while self._end is None:
            broke: httpx.TransportError | None = None
            try:
                async with self._sent() if self.session_id is None else self._joined() as source:
                    if self.session_id is None:
                        self.session_id, self._last = begun(source.response)
                    async for heard in self._hear(source):
                        if heard.type in TERMINAL:
                            self._end = heard
                        yield heard
                        if self._end is not None:
                            return
            except httpx.TransportError as error:
                broke = error
            await self._pause(broke)

    async def result(self) -> "DoneEvent":
        """Follow the turn to its `done`. However else it ends is raised as Refused.

        It may be asked for after the events as well, and more than once.
        """
        async for _ in self.events():
            pass
        end = self._end
        if end is None or end.type != "done":
            problem = unhappy_end(*(("", {}) if end is None else (end.type, end.data)))
            raise Refused(problem["status"], problem)
        return _done(end.data)

    async def answer(self) -> "DoneEvent":
        """The same, asked for in one request; where that breaks, the turn is followed instead."""
        key = {"Idempotency-Key": self._key}
        try:
            response = await self._connection.http.post("/api/chat", json=self._body, headers=key)
        except httpx.ConnectError:
            return await self.result()
        except httpx.TransportError:
            self.reconnects += 1
            return await self.result()
        if not response.is_success:
            raise refused(response)
        said = document(response)
        done = _done(said)
        self.session_id, self._end = done.session_id, Heard(UNNUMBERED, "done", said)
        return done

    async def abort(self, reason: str = "aborted by a client") -> bool:
        """End the turn; whether there was one to end."""
        if self.session_id is None:
            return False
        path = f"/api/chat/session/{self.session_id}/abort"
        answer = await self._connection.answer("POST", path, json={"reason": reason})
        return bool(document(answer)["aborted"])

    def _sent(self) -> AbstractAsyncContextManager[EventSource]:
        key = {"Idempotency-Key": self._key}
        return self._connection.opened("POST", "/api/chat/stream", json=self._body, headers=key)

    def _joined(self) -> AbstractAsyncContextManager[EventSource]:
        return self._connection.opened(
            "GET",
            f"/api/chat/session/{self.session_id}/stream?until=done",
            headers={"Last-Event-ID": str(self._last)},
        )


def _done(data: Mapping[str, Any]) -> "DoneEvent":
    from pydantic import TypeAdapter  # noqa: PLC0415 - slow to load, and not always wanted

    from supervisor.events.schema import DoneEvent  # noqa: PLC0415 - as above
    from trustfloor.wire import understood  # noqa: PLC0415 - as above

    return understood(TypeAdapter(DoneEvent), Heard(0, "done", data).said)
