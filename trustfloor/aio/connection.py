"""One connection to a supervisor: answers and streams, as they come over HTTP."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Final, Self

import httpx
from httpx_sse import EventSource

from trustfloor.errors import Unreachable, refused, stream_of_events, unreachable
from trustfloor.finding import as_token, find_trust, no_trust
from trustfloor.private_socket import SCHEME, PrivateSocket, socket_of

_WEB: Final = ("http://", "https://")
SILENCE_SECONDS: Final = 50.0
"""Three heartbeats missed: the connection is dead."""


def _is_address(url: str) -> bool:
    if url.lower().startswith(SCHEME):
        return True
    try:
        return url.lower().startswith(_WEB) and bool(httpx.URL(url).host)
    except httpx.InvalidURL:
        return False


class AsyncConnection:
    """HTTP with the token; as a context manager it is closed at its end.

    `url` is `http://…`, `https://…`, or `unix://` and the path of the supervisor's socket.
    """

    def __init__(self, url: str, token: str) -> None:
        """Raises Unreachable for a socket that could be another's, no address, or no token."""
        # Checked here: HTTP's library would repeat what no header can carry in its complaint.
        token = as_token(token, "token", "give it as `trustfloor serve` printed it")
        self._url = url
        if not _is_address(url):
            raise Unreachable(
                "this is no address of a supervisor",
                where=url,
                remedy="write it as http://HOST:PORT, https://HOST:PORT or unix:///PATH",
            )
        self._socket: PrivateSocket | None = None
        base_url, transport = url, None
        path = socket_of(url)
        if path is not None:
            self._socket = PrivateSocket(path)
            base_url = "http://localhost"
            transport = httpx.AsyncHTTPTransport(uds=self._socket.path, verify=no_trust())
        self.http = httpx.AsyncClient(
            base_url=base_url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(10.0, read=SILENCE_SECONDS),
            verify=find_trust(url) if transport is None else no_trust(),
            transport=transport,
            trust_env=False,  # a proxy from the environment must not get to see the token
        )

    async def __aenter__(self) -> Self:
        await self.http.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.http.__aexit__(kind, error, trace)
        if self._socket is not None:
            self._socket.close()

    @property
    def url(self) -> str:
        """The supervisor's address."""
        return self._url

    async def answer(self, method: str, path: str, **request: Any) -> httpx.Response:
        """The answer, if it is a good one. Raises Unreachable or Refused."""
        try:
            response = await self.http.request(method, path, **request)
        except httpx.TransportError as error:
            raise unreachable(self.url, error) from None
        if not response.is_success:
            raise refused(response)
        return response

    @asynccontextmanager
    async def opened(self, method: str, path: str, **request: Any) -> AsyncIterator[EventSource]:
        """A stream of events.

        Raises Refused, Unexpected, and httpx.TransportError where it breaks.
        """
        async with self.http.stream(method, path, **request) as response:
            if response.status_code != httpx.codes.OK:
                await response.aread()
                raise refused(response)
            yield EventSource(stream_of_events(response))
