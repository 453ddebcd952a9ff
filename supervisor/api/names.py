"""Under which names this server answers, and which pages are its own."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_AUTHORITY = re.compile(
    r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)(?::(?P<port>\d{1,5}))?"
)
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/@?#]+)")


@dataclass(frozen=True, slots=True)
class Authority:
    """A host name in lower case and the port that was named with it, if any."""

    name: str
    port: int | None

    @classmethod
    def parse(cls, text: str) -> "Authority | None":
        """The authority written as `name` or `name:port`; None if it is anything else."""
        match = _AUTHORITY.fullmatch(text.lower())
        if match is None:
            return None
        port = match["port"]
        return cls(match["name"], int(port) if port else None)


class Names:
    """Under which names this server answers, and which pages are its own."""

    def __init__(self, allowed_hosts: Iterable[str]) -> None:
        parsed = [Authority.parse(name) for name in allowed_hosts]
        self._allowed = frozenset(name for name in parsed if name is not None)

    def answers_to(self, host: Authority, own_port: int) -> bool:
        """Whether a request under this name is meant for us.

        Loopback's names with our port or none; an allowed name as it was written in the settings,
        or, if that names no port, with ours or a web server's. A tunnel's end, which has another
        port on loopback, is allowed by name and port.
        """
        if host in self._allowed:
            return True
        if host.name in _LOOPBACK_NAMES:
            return host.port in (None, own_port)
        return Authority(host.name, None) in self._allowed and host.port in (
            own_port,
            *_DEFAULT_PORTS.values(),
        )

    def is_own_page(self, origin: str, own_port: int, scheme: str = "http") -> bool:
        """Whether a page of this origin is one of ours; `null` and other schemes never are."""
        match = _ORIGIN.fullmatch(origin.lower())
        page = Authority.parse(match["authority"]) if match else None
        if match is None or page is None:
            return False
        port = page.port or _DEFAULT_PORTS[match["scheme"]]
        if page.name in _LOOPBACK_NAMES and page not in self._allowed:
            return match["scheme"] == scheme and port == own_port
        return self.answers_to(Authority(page.name, port), own_port)
