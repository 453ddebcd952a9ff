"""A server that is called by a URL, by either of the protocol's two HTTP transports; bounded.

No redirect is followed and no address of another origin is called: headers may hold secrets. No
proxy of the environment is used, as the agents' program uses none.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import httpx

from supervisor.mcp.dialogue import MOST_MESSAGES, ServerFailed, SessionEnded, plain
from supervisor.mcp.reach import BoundedStream, transport
from supervisor.mcp.started import LONGEST_LINE, MOST_BYTES, parsed

_BOTH: Final = "application/json, text/event-stream"
_STREAM: Final = "text/event-stream"
_SESSION: Final = "Mcp-Session-Id"
_CONNECT_SECONDS: Final = 10.0
_GOODBYE_SECONDS: Final = 2.0
_LONGEST_SAID: Final = 300
_PIECE_COSTS: Final = 256
"""Bytes that each piece counts beside its own: a byte at a time would be all work and no end."""


class HttpServer:
    """A server with one address that requests are posted to (`http`)."""

    def __init__(self, client: httpx.AsyncClient, url: str) -> None:
        self._client = client
        self._url = url
        self._headers: dict[str, str] = {}
        self._said: deque[Mapping[str, Any]] = deque()
        self._budget = _Budget()

    async def send(self, message: Mapping[str, Any]) -> None:
        """Post one message, and take in what comes back up to its answer."""
        headers = {**self._headers, "Accept": _BOTH, "Content-Type": "application/json"}
        async with _opened(
            self._client, "POST", self._url, content=json.dumps(message), headers=headers
        ) as response:
            session = response.headers.get(_SESSION)
            if session is not None and session.isascii() and session.isprintable():
                self._headers[_SESSION] = session
            kind = response.headers.get("content-type", "")
            if kind.startswith(_STREAM):
                await self._take_answer(response)
            elif response.status_code != HTTPStatus.ACCEPTED:
                self._take(await _body(response, self._budget))

    async def _take_answer(self, response: httpx.Response) -> None:
        """Read a stream up to an answer. What the server wants of us meanwhile isn't kept."""
        passed_over = 0
        async for _, data in _events(response, self._budget):
            message = parsed(data)
            if message is not None and "method" not in message:
                self._said.append(message)
                return
            passed_over += 1
            if passed_over > MOST_MESSAGES:
                raise ServerFailed(f"it said {MOST_MESSAGES} other things and didn't answer")

    def again(self) -> "HttpServer":
        """The same session, for one more request beside others."""
        beside = HttpServer(self._client, self._url)
        beside._headers = self._headers
        return beside

    def forget_session(self) -> None:
        """Begin anew: what is sent next belongs to no session. Requests under way keep theirs."""
        self._headers = {}
        self._said = deque()

    async def receive(self) -> Mapping[str, Any]:
        """The next message that came back."""
        if not self._said:
            raise ServerFailed("it answered without a message")
        return self._said.popleft()

    def agreed(self, version: str) -> None:
        """Say the version from now on."""
        if version.isascii():
            self._headers["MCP-Protocol-Version"] = version

    async def leave(self) -> None:
        """End the session, where there is one; whether it succeeds doesn't matter."""
        if _SESSION in self._headers:
            headers = dict(self._headers)
            with suppress(httpx.HTTPError, TimeoutError):
                async with (
                    asyncio.timeout(_GOODBYE_SECONDS),
                    self._client.stream("DELETE", self._url, headers=headers),
                ):
                    return  # what it says to that isn't read

    def _take(self, data: bytes) -> None:
        message = parsed(data)
        if message is not None:
            self._said.append(message)


class SseServer:
    """A server whose messages come on a stream, which names where ours are posted (`sse`)."""

    def __init__(
        self, client: httpx.AsyncClient, url: str, events: AsyncIterator[tuple[str, bytes]]
    ) -> None:
        self._client = client
        self._url = url
        self._events = events
        self._address: str | None = None

    async def send(self, message: Mapping[str, Any]) -> None:
        """Post one message to the address that the stream has named."""
        if self._address is None:
            self._address = await self._named()
        async with _opened(
            self._client,
            "POST",
            self._address,
            content=json.dumps(message),
            headers={"Content-Type": "application/json"},
        ):
            return

    async def receive(self) -> Mapping[str, Any]:
        """The stream's next message."""
        async for _, data in self._events:
            message = parsed(data)
            if message is not None:
                return message
        raise ServerFailed("its stream ended before it answered")

    def agreed(self, version: str) -> None:
        """Nothing depends on it here."""

    async def _named(self) -> str:
        async for kind, data in self._events:
            if kind == "endpoint":
                address = urljoin(self._url, data.decode("utf-8", "replace"))
                if _origin(address) != _origin(self._url):
                    raise ServerFailed("it wants messages posted to another origin")
                return address
        raise ServerFailed("its stream names no address to post to")


@asynccontextmanager
async def called(given: Mapping[str, Any]) -> AsyncIterator[HttpServer | SseServer]:
    """A server by its URL, with the headers that it is to get. Raises ServerFailed."""
    async with AsyncExitStack() as stack:
        try:
            client = await stack.enter_async_context(
                httpx.AsyncClient(
                    headers={**given["headers"], "Accept-Encoding": "identity"},
                    timeout=httpx.Timeout(None, connect=_CONNECT_SECONDS),
                    transport=transport(),
                    trust_env=False,
                )
            )
            if given["type"] == "http":
                server = HttpServer(client, given["url"])
                yield server
                await server.leave()
                return
            stream = await stack.enter_async_context(
                _opened(client, "GET", given["url"], headers={"Accept": _STREAM})
            )
            yield SseServer(client, given["url"], _events(stream, _Budget()))
        except (ValueError, UnicodeError):
            raise ServerFailed("its URL or a header can't be sent") from None


class _Budget:
    """How many bytes may still be read."""

    def __init__(self) -> None:
        self._left = MOST_BYTES

    def spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ServerFailed(f"it sent more than {MOST_BYTES} bytes")


@asynccontextmanager
async def _opened(
    client: httpx.AsyncClient, method: str, url: str, **request: Any
) -> AsyncIterator[httpx.Response]:
    try:
        async with client.stream(method, url, **request) as response:
            stream = response.extensions.get("network_stream")
            if isinstance(stream, BoundedStream):
                stream.headers_are_read()
            if response.is_redirect:
                raise ServerFailed(f"it answers with a redirect (HTTP {response.status_code})")
            if (
                response.status_code == HTTPStatus.NOT_FOUND
                and _SESSION in response.request.headers
            ):
                raise SessionEnded("it doesn't know this session any more (HTTP 404)")
            if response.is_error:
                raise ServerFailed(f"it answers with HTTP {response.status_code}")
            if response.headers.get("content-encoding", "identity") != "identity":
                raise ServerFailed("it answers compressed, though it was asked not to")
            yield response
    except httpx.InvalidURL:
        raise ServerFailed("its URL can't be called") from None
    except httpx.LocalProtocolError:  # its text repeats the header
        raise ServerFailed("its URL or a header can't be sent") from None
    except httpx.HTTPError as error:
        told = plain(str(error), _LONGEST_SAID) or type(error).__name__
        raise ServerFailed(f"it can't be reached: {told}") from None


async def _pieces(response: httpx.Response, budget: _Budget) -> AsyncIterator[bytes]:
    async for piece in response.aiter_raw():
        budget.spend(len(piece) + _PIECE_COSTS)
        yield piece
        # A server that always has more never makes its reader wait: others would.
        await asyncio.sleep(0)


async def _body(response: httpx.Response, budget: _Budget) -> bytes:
    body = bytearray()
    async for piece in _pieces(response, budget):
        body += piece
        if len(body) > LONGEST_LINE:
            raise ServerFailed(f"it sent a message of more than {LONGEST_LINE} bytes")
    return bytes(body)


async def _events(response: httpx.Response, budget: _Budget) -> AsyncIterator[tuple[str, bytes]]:
    """Server-sent events as (type, data); lines end by LF or CRLF."""
    kind, data, pending = "message", bytearray(), bytearray()
    async for piece in _pieces(response, budget):
        first, *more = piece.split(b"\n")
        pending += first
        for after in more:
            line = bytes(pending).removesuffix(b"\r")
            pending = bytearray(after)
            if not line:
                if data:
                    yield kind, bytes(data).removesuffix(b"\n")
                kind, data = "message", bytearray()
            elif line.startswith(b"event:"):
                kind = line[6:].strip().decode("ascii", "replace")
            elif line.startswith(b"data:"):
                data += line[5:].removeprefix(b" ") + b"\n"
        if len(pending) + len(data) > LONGEST_LINE:
            raise ServerFailed(f"it sent an event of more than {LONGEST_LINE} bytes")


def _origin(url: str) -> tuple[str, str | None, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, parts.hostname, parts.port
    except ValueError:
        return "", None, None
