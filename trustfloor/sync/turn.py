"""One message and its turn."""

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import httpx
from httpx_sse import EventSource

from supervisor.errors import unhappy_end
from trustfloor.errors import Refused
from trustfloor.heard import TERMINAL, Heard
from trustfloor.sync.connection import Connection
from trustfloor.sync.lasting import Lasting

if TYPE_CHECKING:
    from supervisor.events.schema import DoneEvent


class Turn(Lasting):
    """One turn's events, in order and each once, however often the connection breaks.

    It begins when its events, or its result, are first asked for. `session_id` is known as soon as
    the supervisor has taken the message.
    """

    def __init__(
        self, connection: Connection, body: Mapping[str, Any], key: str | None = None
    ) -> None:
        super().__init__(connection, 0)
        self._body = body
        self._key = key or uuid4().hex
        self.session_id: str | None = None

    def __iter__(self) -> Generator[Heard]:
        return self.events()

    def events(self) -> Generator[Heard]:
        """Send the message and yield what is said, up to the turn's end.

        Raises Unreachable or Refused. However often it is sent, it is taken once.
        """
        while True:
            broke: httpx.TransportError | None = None
            try:
                with self._sent() if self.session_id is None else self._joined() as source:
                    if self.session_id is None:
                        self.session_id = source.response.headers["trustfloor-session"]
                        self._last = int(source.response.headers["trustfloor-after"])
                    for heard in self._hear(source):
                        yield heard
                        if heard.type in TERMINAL:
                            return
            except httpx.TransportError as error:
                broke = error
            self._pause(broke)

    def result(self) -> "DoneEvent":
        """Follow the turn to its `done`. However else it ends is raised as Refused."""
        last: Heard | None = None
        for heard in self.events():
            last = heard
        if last is None or last.type != "done":
            problem = unhappy_end(*(("", {}) if last is None else (last.type, last.data)))
            raise Refused(problem["status"], problem)
        return _done(last.data)

    def answer(self) -> "DoneEvent":
        """The same, asked for in one request; where that breaks, the turn is followed instead."""
        key = {"Idempotency-Key": self._key}
        try:
            response = self._connection.http.post("/api/chat", json=self._body, headers=key)
        except httpx.ConnectError:
            return self.result()
        except httpx.TransportError:
            self.reconnects += 1
            return self.result()
        if not response.is_success:
            raise Refused(response.status_code, _document(response))
        done = _done(response.json())
        self.session_id = done.session_id
        return done

    def abort(self, reason: str = "aborted by a client") -> bool:
        """End the turn; whether there was one to end."""
        if self.session_id is None:
            return False
        path = f"/api/chat/session/{self.session_id}/abort"
        answer = self._connection.answer("POST", path, json={"reason": reason})
        return bool(answer.json()["aborted"])

    def _sent(self) -> AbstractContextManager[EventSource]:
        key = {"Idempotency-Key": self._key}
        return self._connection.opened("POST", "/api/chat/stream", json=self._body, headers=key)

    def _joined(self) -> AbstractContextManager[EventSource]:
        return self._connection.opened(
            "GET",
            f"/api/chat/session/{self.session_id}/stream?until=done",
            headers={"Last-Event-ID": str(self._last)},
        )


def _document(response: httpx.Response) -> Mapping[str, Any]:
    try:
        problem = response.json()
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


def _done(data: Mapping[str, Any]) -> "DoneEvent":
    from pydantic import TypeAdapter  # noqa: PLC0415 - slow to load, and not always wanted

    from supervisor.events.schema import DoneEvent  # noqa: PLC0415 - as above
    from trustfloor.wire import understood  # noqa: PLC0415 - as above

    return understood(TypeAdapter(DoneEvent), Heard(0, "done", data).said)
