"""What is known of the model's API: whether it can be reached, and how the last request to it went.

A look is a connection, with TLS where the API speaks it. No request is ever made for it.
"""

import asyncio
import os
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from supervisor.gateway.unix_socket import short_path
from supervisor.observability.health import Check
from supervisor.storage.timestamp import SystemClock, to_text

LOOK_SECONDS: Final = 60.0
"""So long a look, or a request that was answered, counts; however often one asks."""
_REACH_SECONDS: Final = 5.0
_DEFAULT_PORTS: Final = {"https": 443}
NETWORK: Final = (
    "check the network, the firewall and TRUSTFLOOR_API_URL; proxies from the environment are not"
    " used"
)
_KEY: Final = "set ANTHROPIC_API_KEY to a key that counts, and start the supervisor again"


@dataclass(frozen=True, slots=True)
class Spoken:
    """How a request to the API went: what was wrong, and whether that is our key."""

    at: str
    trouble: str | None
    key_refused: bool = False


class Condition:
    """Of one upstream. What was last heard of it is told by who speaks to it."""

    def __init__(self, base_url: str, unix_socket: Path | None = None) -> None:
        self._url = base_url
        self._socket = unix_socket
        self._spoken: Spoken | None = None
        self._looking = asyncio.Lock()
        self._looked_at = -LOOK_SECONDS
        self._unreached: str | None = None

    def note(self, trouble: str | None, *, key_refused: bool = False) -> None:
        """Tell how a request went; None: it was answered."""
        self._spoken = Spoken(to_text(SystemClock().now()), trouble, key_refused)
        if trouble is None:
            self._looked_at, self._unreached = time.monotonic(), None

    async def check(self) -> Check:
        """Look, unless that was done just now, and say what is known."""
        async with self._looking:
            if time.monotonic() - self._looked_at >= LOOK_SECONDS:
                self._unreached = await self._look()
                self._looked_at = time.monotonic()
        return said_of(place_of(self._url, self._socket), self._unreached, self._spoken)

    async def _look(self) -> str | None:
        if self._socket is None:
            return await why_unreached(self._url, _REACH_SECONDS)
        try:
            with short_path(self._socket) as path:
                _, writer = await asyncio.open_unix_connection(path)
        except OSError as error:
            return error.strerror or str(error)
        writer.transport.abort()
        return None


def said_of(place: str, unreached: str | None, spoken: Spoken | None) -> Check:
    """What to tell a person. Only what lasts is a problem: an overloaded API is none of ours."""
    if unreached is not None:
        detail = f"{place} can't be reached: {unreached}"
        return Check("model gateway", ok=False, detail=detail, remedy=NETWORK)
    if spoken is None:
        return Check("model gateway", ok=True, detail=f"{place} can be reached")
    if spoken.trouble is None:
        detail = f"{place} answered the last request, at {spoken.at[:19]}Z"
        return Check("model gateway", ok=True, detail=detail)
    detail = f"{place} can be reached; at the last request, at {spoken.at[:19]}Z, {spoken.trouble}"
    if spoken.key_refused:
        return Check("model gateway", ok=False, detail=detail, remedy=_KEY)
    return Check("model gateway", ok=None, detail=detail)


def place_of(url: str, unix_socket: Path | None = None) -> str:
    """Host and port of an address, and nothing else of it."""
    if unix_socket is not None:
        return "the scripted model"
    parts = urlsplit(url)
    try:
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 80)
    except ValueError:
        return parts.hostname or "nowhere"
    return f"{parts.hostname}:{port}"


async def why_unreached(url: str, seconds: float) -> str | None:
    """Why no connection can be made, TLS included; None if one can. Nothing is sent over it."""
    parts = urlsplit(url)
    is_tls = parts.scheme == "https"
    try:
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 80)
        async with asyncio.timeout(seconds):
            _, writer = await asyncio.open_connection(
                parts.hostname or "", port, ssl=ssl.create_default_context() if is_tls else None
            )
    except TimeoutError:
        return f"no connection within {seconds:.0f} s"
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None) or 0
        known = os.strerror(number) if number > 0 and not isinstance(error, ssl.SSLError) else None
        return known or getattr(error, "strerror", None) or str(error)
    writer.transport.abort()
    return None
