"""The HTTP server of `trustfloor serve`: its port, its socket, and the order of its stop."""

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Callable, Iterator
from typing import Final

import uvicorn

from supervisor.api.connections import BoundedProtocol
from supervisor.api.main import Api
from supervisor.api.parts import Parts
from supervisor.api.stalled import let_go_of_stalled
from supervisor.cli.descriptors import descriptors
from supervisor.errors import TrustfloorError
from supervisor.gateway.unix_socket import bound_socket
from supervisor.observability.logs import fields
from supervisor.settings import Settings
from supervisor.variables import api_socket

_CLOSING_SECONDS: Final = 3
"""How long connections may take to end once the turns have: their clients must only read on."""

_MOST_CONNECTIONS: Final = 4096
"""So many requests and connections at once; and no more than take half of the descriptors."""

_BACKLOG: Final = 2048
"""So many wait to be accepted, and are accepted in one go before the first is looked at; so these
take no more than a quarter of the descriptors."""

_OWNER_ONLY: Final = 0o600
_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - told apart, not bound

logger = logging.getLogger(__name__)


def bind(settings: Settings) -> socket.socket:
    """The listening address, taken before anything starts, so that two supervisors can't share it.

    Until the server listens on it, callers are refused rather than left waiting.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    let_go_of_stalled(listener)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise TrustfloorError(
            f"the address can't be taken: {error.strerror or error}",
            where=f"{settings.host}:{settings.port}",
            remedy="end what listens there, or choose another: --port 3334, or 0 for a free one",
        ) from None
    return listener


@contextlib.contextmanager
def bound_beside_the_token(settings: Settings) -> Iterator[socket.socket | None]:
    """A socket in the data folder, which nobody else can look into; None where none can be made.

    The data folder has to be held: what lies there is left by one that was killed.
    """
    path = api_socket(settings.data_dir)
    with contextlib.ExitStack() as stack:
        bound: socket.socket | None = None
        try:
            path.unlink(missing_ok=True)
            bound = stack.enter_context(bound_socket(path, _OWNER_ONLY))
        except OSError as error:
            logger.warning(
                "commands need TRUSTFLOOR_URL: the data folder takes no socket: %s",
                error.strerror or error,
                extra=fields(socket=str(path)),
            )
        yield bound


def address_of(settings: Settings, listener: socket.socket) -> str:
    """The URL of what is listened on."""
    host, port = listener.getsockname()[:2]
    return _url(settings, host, port)


def address_here(settings: Settings, listener: socket.socket) -> str:
    """The same for a browser on this machine."""
    host, port = listener.getsockname()[:2]
    return _url(settings, _ANY_ADDRESS.get(host, host), port)


def _url(settings: Settings, host: str, port: int) -> str:
    scheme = "http" if settings.tls_cert is None else "https"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


class Server(uvicorn.Server):
    """The HTTP server, stopped by us: signals belong to the whole supervisor, not to it alone.

    It goes on answering while the turns end, so that each client learns how its turn did.
    """

    def __init__(
        self,
        api: Api,
        parts: Parts,
        listening: Callable[[], None],
        certificate: ssl.SSLContext | None,
        beside: socket.socket | None = None,
    ) -> None:
        """`beside`: a bound Unix socket, on which the same is served without TLS."""
        self._api = api
        self._grace = parts.settings.shutdown_seconds
        self._conversations = parts.conversations
        self._listening = listening
        self._beside = beside
        super().__init__(
            uvicorn.Config(
                api,
                http=BoundedProtocol,
                ws="none",
                lifespan="off",
                access_log=False,
                server_header=False,
                proxy_headers=bool(parts.settings.trusted_proxies),
                forwarded_allow_ips=list(parts.settings.trusted_proxies),
                ssl_context_factory=None if certificate is None else lambda *_: certificate,
                log_config=None,
                log_level="warning",
                timeout_graceful_shutdown=_CLOSING_SECONDS,
                limit_concurrency=min(_MOST_CONNECTIONS, descriptors() // 2),
                backlog=min(_BACKLOG, descriptors() // 4),
            )
        )

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone: uvicorn would raise them again, past our own clean-up."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and only then say so: who reads it may connect at once."""
        await super().startup(sockets)
        if self.should_exit:
            return
        if self._beside is not None:
            loop = asyncio.get_running_loop()
            self.servers.append(
                await loop.create_unix_server(
                    self._protocol, sock=self._beside, backlog=self.config.backlog
                )
            )
        self._listening()

    def _protocol(self) -> asyncio.Protocol:
        """As uvicorn makes it for what listens on the port."""
        make = self.config.http_protocol_class
        made: asyncio.Protocol = make(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return made

    def stop(self) -> None:
        """Stop in order; told again, at once."""
        if not self.should_exit:
            logger.info("stopping", extra=fields(turns=len(self._conversations.active())))
            self.should_exit = True
        else:
            self._conversations.hurry()
            self.force_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """First the turns end, then the streams, and only then the connections."""
        self._api.announce_stop(self._grace)
        await self._conversations.end_all()
        self._api.close_streams()
        await super().shutdown(sockets)
