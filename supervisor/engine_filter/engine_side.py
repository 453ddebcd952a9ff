"""The filter's own way to the real engine: one connection a call, HTTP by h11."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import h11

from supervisor.engine_filter.calls import Refused

CHUNK: Final = 1 << 16
_MAX_ANSWER: Final = 16 << 20
_CONNECT_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What the engine said; `kind` is the content type."""

    status: int
    kind: str
    body: bytes

    def json(self) -> Any:
        """The body read as JSON. Raises Refused if the engine didn't send any."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise Refused("the engine's answer is no JSON", 502) from None


class EngineCall:
    """One request to the engine; use it as a context manager."""

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=CHUNK)

    async def __aenter__(self) -> Self:
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                self.reader, self.writer = await asyncio.open_unix_connection(
                    self._socket, limit=CHUNK
                )
        except (OSError, TimeoutError):
            raise Refused("the engine doesn't answer", 503) from None
        return self

    async def __aexit__(self, *_exception: object) -> None:
        self.writer.close()

    async def send(
        self,
        method: str,
        target: str,
        body: bytes = b"",
        more: Sequence[tuple[str, str]] = (),
    ) -> h11.Response | h11.InformationalResponse:
        """Ask, and wait for the head of the answer."""
        headers = [("Host", "engine"), ("Content-Length", str(len(body))), *more]
        if body:
            headers.append(("Content-Type", "application/json"))
        if not more:
            headers.append(("Connection", "close"))
        data = self._http.send(h11.Request(method=method, target=target, headers=headers)) or b""
        data += (self._http.send(h11.Data(body)) or b"") if body else b""
        data += self._http.send(h11.EndOfMessage()) or b""
        self.writer.write(data)
        await self.writer.drain()
        while True:
            event = await self._next()
            if isinstance(event, h11.Response):
                return event
            if isinstance(event, h11.InformationalResponse):
                if event.status_code == 101:  # noqa: PLR2004 - RFC 9110, 15.2.2
                    return event
            else:
                raise Refused("the engine broke off", 502)

    async def rest(self) -> bytes:
        """The answer's body. Raises Refused if it is longer than anything that we ask for."""
        parts: list[bytes] = []
        size = 0
        while isinstance(event := await self._next(), h11.Data):
            parts.append(bytes(event.data))
            size += len(event.data)
            if size > _MAX_ANSWER:
                raise Refused("the engine's answer is too long", 502)
        if not isinstance(event, h11.EndOfMessage):
            raise Refused("the engine broke off", 502)
        return b"".join(parts)

    def left_over(self) -> bytes:
        """What came after the head of an answer that changes the protocol."""
        return self._http.trailing_data[0]

    async def _next(self) -> Any:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(await self.reader.read(CHUNK))
        except (h11.RemoteProtocolError, OSError):
            raise Refused("the engine broke off", 502) from None
        return event


class EngineSide:
    """The real engine, for the filter alone."""

    def __init__(self, socket: str) -> None:
        self._socket = socket

    def call(self) -> EngineCall:
        """A call of its own connection."""
        return EngineCall(self._socket)

    async def ask(self, method: str, target: str, body: Any = None) -> Answer:
        """A whole call. Raises Refused if the engine isn't there or breaks off."""
        data = b"" if body is None else json.dumps(body).encode()
        async with self.call() as call:
            head = await call.send(method, target, data)
            kinds = [value.decode() for name, value in head.headers if name == b"content-type"]
            body = await call.rest()
            return Answer(head.status_code, kinds[0] if kinds else "text/plain", body)
