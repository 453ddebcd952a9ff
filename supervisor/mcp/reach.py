"""Connections to servers behind the network: read little by little, and none to a metadata service.

A name is looked up here, and the connection made to the very address that was looked at: one that
leads to where the machine's own cloud account answers is sent nothing.
"""

import asyncio
import socket
import ssl
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, Final

import httpcore
import httpx

from supervisor.mcp.dialogue import ServerFailed
from supervisor.policy.hosts import address, is_metadata

_LONGEST_HEADERS: Final = 256 * 1024
"""Bytes before a response's body, with those of provisional responses, which may be any number."""
_READ_BYTES: Final = 16 * 1024
LOOKUPS_AT_ONCE: Final = 4
"""Names that are looked up at the same time; more wait. Nothing else runs in these threads."""
_LOOKUP_SECONDS: Final = 10.0
_MOST_ADDRESSES: Final = 4
"""Of a name, the addresses that are tried."""
_FIRST_SECONDS: Final = 2.5
"""For each address but the last, which has what is left."""


class BoundedStream:
    """A connection that is read little by little, and of headers only so much."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._left: int | None = _LONGEST_HEADERS

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        """The next bytes, not many at a time. Raises httpx.RemoteProtocolError for long headers."""
        piece: bytes = await self._inner.read(min(max_bytes, _READ_BYTES), timeout)
        if self._left is not None:
            self._left -= len(piece)
            if self._left < 0:
                raise httpx.RemoteProtocolError(f"headers of more than {_LONGEST_HEADERS} bytes")
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        """Write; what is read next begins with headers."""
        self._left = _LONGEST_HEADERS
        await self._inner.write(buffer, timeout)

    def headers_are_read(self) -> None:
        """What follows is the body, which its reader bounds."""
        self._left = None

    async def aclose(self) -> None:
        """Close it."""
        await self._inner.aclose()

    async def start_tls(self, *given: Any, **more: Any) -> "BoundedStream":
        """The same over TLS."""
        return BoundedStream(await self._inner.start_tls(*given, **more))

    def get_extra_info(self, info: str) -> Any:
        """What the connection knows of itself."""
        return self._inner.get_extra_info(info)


class _Backend:
    """Makes such connections."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore's own
        **more: Any,
    ) -> BoundedStream:
        loop = asyncio.get_running_loop()
        ends = loop.time() + (_LOOKUP_SECONDS if timeout is None else timeout)
        *first, last = fair(host, await addresses_of(host, port))[:_MOST_ADDRESSES]
        for each in first:
            left = min(_FIRST_SECONDS, max(0.1, ends - loop.time()))
            try:
                return BoundedStream(await self._inner.connect_tcp(each, port, left, **more))
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        left = max(0.1, ends - loop.time())
        return BoundedStream(await self._inner.connect_tcp(last, port, left, **more))

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


def fair(host: str, addresses: list[str]) -> list[str]:
    """The addresses that a URL's host leads to, if it may be called. Raises ServerFailed.

    Whoever writes the address of a metadata service itself means it; a name that leads there may
    have been somebody else's by now. `addresses` has at least one.
    """
    for each in addresses:
        if is_metadata(each) and host != str(address(each.partition("%")[0])):
            found = address(each.partition("%")[0])
            raise ServerFailed(f"its name leads to {found}, an address of the machine's metadata")
    return addresses


async def addresses_of(host: str, port: int) -> list[str]:
    """What a name is looked up to, the best first. Raises httpcore.ConnectError, ConnectTimeout."""
    looking = asyncio.get_running_loop().run_in_executor(
        _lookups(), lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    )
    try:
        async with asyncio.timeout(_LOOKUP_SECONDS):
            found = await looking
    except TimeoutError:
        raise httpcore.ConnectTimeout("its name couldn't be looked up in time") from None
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(str(error)) from None
    return list(dict.fromkeys(str(each[4][0]) for each in found))


@cache
def _lookups() -> ThreadPoolExecutor:
    """Threads of their own: a name server that doesn't answer holds up nothing but lookups."""
    return ThreadPoolExecutor(LOOKUPS_AT_ONCE, thread_name_prefix="mcp-lookup")


def transport() -> httpx.AsyncHTTPTransport:
    """For one client; no proxy of the environment."""
    made = httpx.AsyncHTTPTransport(verify=_tls(), trust_env=False)
    # httpx has no public way to a connection's bytes; its version is pinned by hash.
    pool: Any = made._pool  # noqa: SLF001
    pool._network_backend = _Backend(pool._network_backend)  # noqa: SLF001
    return made


@cache
def _tls() -> ssl.SSLContext:
    """Read once: it takes a tenth of a second, and nothing else happens meanwhile."""
    return httpx.create_ssl_context(trust_env=False)
