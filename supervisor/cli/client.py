"""Talks to a running supervisor: REST and its event streams, taken up again when they break."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from uuid import uuid4

import httpx
import orjson
from httpx_sse import EventSource

from supervisor.errors import TrustfloorError

DEFAULT_URL: Final = "http://127.0.0.1:3333"
TERMINAL: Final = frozenset({"done", "aborted", "error"})
"""The types of event that end a turn."""

_SILENCE_SECONDS: Final = 50.0  # three heartbeats missed: the connection is dead
_PAUSES_SECONDS: Final = (0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 15.0)


class Unreachable(TrustfloorError):
    """No supervisor answers at the address."""

    code = "unreachable"
    title = "No supervisor answers"


class Refused(TrustfloorError):
    """The supervisor answered with a problem; `problem` is its document."""

    code = "refused"
    title = "Refused"

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(
            str(problem.get("detail") or f"the server answered {status}"),
            where=problem.get("where"),
            remedy=problem.get("remedy"),
        )
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Heard:
    """One event of a session."""

    seq: int
    type: str
    data: Mapping[str, Any]


class Turn:
    """One turn's events, in order and each once, however often the connection breaks.

    `session_id` is known as soon as the supervisor has taken the message.
    """

    def __init__(self, http: httpx.AsyncClient, body: Mapping[str, Any]) -> None:
        self._http = http
        self._body = body
        self._key = uuid4().hex
        self._last = 0
        self._failures = 0
        self.session_id: str | None = None
        self.reconnects = 0

    async def events(self) -> AsyncGenerator[Heard]:
        """Send the message and yield what is said, up to the turn's end.

        Raises Unreachable or Refused. However often it is sent, it is taken once.
        """
        while True:
            try:
                async with self._sent() if self.session_id is None else self._joined() as source:
                    if self.session_id is None:
                        self.session_id = source.response.headers["trustfloor-session"]
                        self._last = int(source.response.headers["trustfloor-after"])
                    async for heard in self._hear(source):
                        yield heard
                        if heard.type in TERMINAL:
                            return
            except httpx.TransportError as error:
                nobody = self.reconnects == 0 and isinstance(error, httpx.ConnectError)
                if nobody or self._failures >= len(_PAUSES_SECONDS):
                    raise _unreachable(self._http, error) from None
            await self._pause()

    async def _pause(self) -> None:
        await asyncio.sleep(_PAUSES_SECONDS[min(self._failures, len(_PAUSES_SECONDS) - 1)])
        self._failures += 1
        self.reconnects += 1

    def _sent(self) -> AbstractAsyncContextManager[EventSource]:
        key = {"Idempotency-Key": self._key}
        return self._opened("POST", "/api/chat/stream", json=self._body, headers=key)

    def _joined(self) -> AbstractAsyncContextManager[EventSource]:
        return self._opened(
            "GET",
            f"/api/chat/session/{self.session_id}/stream?until=done",
            headers={"Last-Event-ID": str(self._last)},
        )

    @asynccontextmanager
    async def _opened(self, method: str, path: str, **request: Any) -> AsyncIterator[EventSource]:
        async with self._http.stream(method, path, **request) as response:
            if response.status_code != httpx.codes.OK:
                await response.aread()
                raise _refused(response)
            yield EventSource(response)

    async def _hear(self, source: EventSource) -> AsyncIterator[Heard]:
        async for event in source.aiter_sse():
            if not event.data:  # a comment or a retry time is no event
                continue
            self._failures = 0
            self._last = int(event.id)
            yield Heard(self._last, event.event, orjson.loads(event.data))


class Client:
    """A connection to one supervisor, as an async context manager."""

    def __init__(self, url: str, token: str) -> None:
        self._http = httpx.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(10.0, read=_SILENCE_SECONDS),
            trust_env=False,  # a proxy from the environment must not get to see the token
        )

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.__aexit__(kind, error, trace)

    def turn(self, body: Mapping[str, Any]) -> Turn:
        """A turn that begins when its events are first asked for."""
        return Turn(self._http, body)

    async def get(self, path: str) -> Any:
        """The JSON that a path has. Raises Unreachable or Refused."""
        return await self._ask("GET", path)

    async def post(
        self,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        seconds: float = _SILENCE_SECONDS,
    ) -> Any:
        """Change something; the answer's JSON. Raises Unreachable or Refused.

        `seconds`: how long the answer is waited for.
        """
        patience = httpx.Timeout(10.0, read=seconds)
        return await self._ask("POST", path, json=dict(body or {}), timeout=patience)

    async def put(self, path: str, body: Mapping[str, Any]) -> Any:
        """Set something; the answer's JSON. Raises Unreachable or Refused."""
        return await self._ask("PUT", path, json=dict(body))

    async def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        """Change a part; the answer's JSON. Raises Unreachable or Refused."""
        return await self._ask("PATCH", path, json=dict(body))

    async def delete(self, path: str) -> Any:
        """Take something away; the answer's JSON. Raises Unreachable or Refused."""
        return await self._ask("DELETE", path, json={})

    async def upload(
        self,
        path: str,
        name: str,
        content: bytes,
        fields: Mapping[str, str | None],
        *,
        seconds: float = _SILENCE_SECONDS,
    ) -> Any:
        """Send a file as a form; the answer's JSON. Raises Unreachable or Refused.

        `seconds`: how long the answer is waited for.
        """
        said = {key: value for key, value in fields.items() if value is not None}
        patience = httpx.Timeout(10.0, read=seconds, write=seconds)
        files = {"file": (name, content)}
        return await self._ask("POST", path, files=files, data=said, timeout=patience)

    async def read(self, path: str) -> bytes:
        """The bytes that a path has. Raises Unreachable or Refused."""
        return (await self._answer("GET", path)).content

    async def abort(self, session_id: str, reason: str) -> bool:
        """End the session's turn; whether there was one."""
        answer = await self.post(f"/api/chat/session/{session_id}/abort", {"reason": reason})
        return bool(answer["aborted"])

    async def _ask(self, method: str, path: str, **request: Any) -> Any:
        response = await self._answer(method, path, **request)
        return response.json() if response.content else None

    async def _answer(self, method: str, path: str, **request: Any) -> httpx.Response:
        try:
            response = await self._http.request(method, path, **request)
        except httpx.TransportError as error:
            raise _unreachable(self._http, error) from None
        if response.is_error:
            raise _refused(response)
        return response


def find_url() -> str:
    """Where the supervisor is: `TRUSTFLOOR_URL`, or the default port on this machine."""
    return os.environ.get("TRUSTFLOOR_URL") or DEFAULT_URL


def find_token(data_dir: Path) -> str:
    """The token: `TRUSTFLOOR_TOKEN`, or what the supervisor wrote into its data folder."""
    given = os.environ.get("TRUSTFLOOR_TOKEN")
    if given:
        return given
    file = data_dir / "token"
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError as error:
        raise Unreachable(
            f"there is no token to read: {error.strerror}",
            where=str(file),
            remedy="start `trustfloor serve`, or set TRUSTFLOOR_TOKEN (and TRUSTFLOOR_DATA_DIR)",
        ) from None


def _refused(response: httpx.Response) -> Refused:
    try:
        problem = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        problem = {}
    return Refused(response.status_code, problem if isinstance(problem, dict) else {})


def _unreachable(http: httpx.AsyncClient, error: httpx.TransportError) -> Unreachable:
    return Unreachable(
        f"no supervisor answers: {error or type(error).__name__}",
        where=str(http.base_url),
        remedy="start `trustfloor serve`, or set TRUSTFLOOR_URL",
    )
