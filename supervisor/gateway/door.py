"""One Unix socket for each turn: who asks is known by the socket, not by what is said over it."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self
from urllib.parse import parse_qsl

from aiohttp import http_exceptions, web
from aiohttp.typedefs import Handler

from supervisor.errors import TurnFailed
from supervisor.events.schema import Spending
from supervisor.gateway.access import ModelAccess
from supervisor.gateway.admission import MAX_BODY, MESSAGES, Admitted, Asked, admit
from supervisor.gateway.budget import BudgetState, Usage
from supervisor.gateway.proxy import Proxy, Upstream, error_response, open_proxy
from supervisor.gateway.refusal import Refused
from supervisor.gateway.unix_socket import BACKLOG, bound_socket
from supervisor.ids import SessionId, TurnId
from supervisor.observability.health import Check

SOCKET_MODE = 0o666  # the container's user is another one; the caller guards the folder
MAX_CONNECTIONS = 64
MAX_IN_FLIGHT = 8  # requests at once of one turn; more wait
JUDGED_AT_ONCE = 256 * 1024  # bytes; more is judged in a thread, so that other turns go on
MAX_REFUSALS = 100  # kept for the turn's report; a sandbox could make any number
CLOSE_SECONDS = 2.0

log = logging.getLogger(__name__)


_UNREADABLE = (web.RequestPayloadError, http_exceptions.HttpProcessingError)


def _not_the_peers_bytes(record: logging.LogRecord) -> bool:
    """Drop reports of malformed HTTP: they quote the sandbox's bytes, as often as it likes."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, _UNREADABLE)


_http_log = logging.getLogger(__name__ + ".http")
_http_log.addFilter(_not_the_peers_bytes)


@web.middleware
async def _in_the_apis_shape(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Also for what has no route, such as `CONNECT`."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        return error_response(Refused(error.status, "invalid_request_error", error.reason))


class Watch(Protocol):
    """Looks for what must not go to the model."""

    def trip(self, data: bytes, /) -> str | None:
        """What is betrayed by this, or None; called in any thread."""
        ...

    def report(self, path: str, where: str, /) -> object:
        """Tell of it; what comes of that is the turn's business."""
        ...


class Door:
    """A turn's way to the model: judges each request, counts what it spends.

    `refusals` says what was refused, newest last, without bodies; each begins with the kind of
    error. `over_budget`: a request was refused because the budget is used up. `trouble` is what was
    wrong with the API at the last request ("it can't be reached: …"), or None. `first_request_at`
    is on the monotonic clock, in seconds.
    """

    def __init__(
        self, socket_path: Path, access: ModelAccess, proxy: Proxy, watch: Watch | None = None
    ) -> None:
        self.socket_path = socket_path
        self.first_request_at: float | None = None
        self.refusals: list[str] = []
        self.over_budget = False
        self.trouble: str | None = None
        self._access = access
        self._proxy = proxy
        self._watch = watch
        self._budget = BudgetState(access.budget)
        self._slots = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._tasks: set[asyncio.Task[object]] = set()
        self._judging = asyncio.Lock()  # a turn has one thread at most for its large bodies
        self._closed = False

    @property
    def spending(self) -> Spending:
        """What the turn has spent so far; a request counts when it ends."""
        return self._budget.spent

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request of the turn."""
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        async with self._slots:
            return await self._answer(request)

    async def close(self) -> None:
        """Take no more requests and end those under way, bounded in time."""
        self._closed = True
        tasks = [task for task in self._tasks if not task.done()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_SECONDS)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if self._closed:
            return error_response(Refused(503, "api_error", "the turn is over"))
        path, _, query = request.raw_path.partition("?")
        if self.first_request_at is None and path == MESSAGES:
            self.first_request_at = time.monotonic()
        if reason := self._budget.may_start():
            # 402: the CLI gives up at once and shows the message (a 429 it would retry)
            self.over_budget = True
            return self._refuse(Refused(402, "billing_error", reason))
        body = await self._body_of(request)
        if isinstance(body, web.Response):
            return body
        verdict = await self._judge(
            Asked(
                request.method,
                path,
                parse_qsl(query, keep_blank_values=True),
                list(request.headers.items()),
                body,
            ),
            head=f"{request.raw_path}\n{request.headers}",
        )
        if isinstance(verdict, Refused):
            return self._refuse(verdict)

        def charge(usage: Usage) -> None:
            self._budget = self._budget.after(usage, verdict.model)

        def trouble(what: str | None) -> None:
            if what is not None and what != self.trouble:
                log.warning("the model's API: %s", what)
            self.trouble = what

        return await self._proxy.forward(request, verdict, charge, trouble)

    async def _body_of(self, request: web.Request) -> bytes | web.Response:
        """The body, or the answer to a request without one that can be read."""
        if request.headers.get("Content-Encoding", "identity").strip().lower() != "identity":
            # Nobody needs it here, and a small body can be made to unpack to gigabytes.
            return self._hang_up(Refused(415, "invalid_request_error", "the body is encoded"))
        try:
            return await request.read()
        except web.HTTPRequestEntityTooLarge:
            return self._refuse(
                Refused(413, "request_too_large", f"the body is larger than {MAX_BODY} bytes")
            )
        except _UNREADABLE:
            return self._hang_up(Refused(400, "invalid_request_error", "the body can't be read"))

    def _hang_up(self, refused: Refused) -> web.Response:
        """Refuse, where it isn't known what comes next on this connection."""
        answer = self._refuse(refused)
        answer.force_close()
        return answer

    async def _judge(self, asked: Asked, head: str) -> Admitted | Refused:
        if len(asked.body) <= JUDGED_AT_ONCE:
            betrayed, verdict = self._look(asked, head)
        else:
            async with self._judging:
                betrayed, verdict = await asyncio.to_thread(self._look, asked, head)
        if betrayed is not None and self._watch is not None:
            self._watch.report(betrayed, "a request to the model")
            return Refused(403, "permission_error", "the request holds what must not leave here")
        return verdict

    def _look(self, asked: Asked, head: str) -> tuple[str | None, Admitted | Refused]:
        """What the request betrays, if anything, and whether it may pass otherwise."""
        betrayed = None
        if self._watch is not None:
            betrayed = self._watch.trip(asked.body) or self._watch.trip(head.encode())
        return betrayed, admit(asked, self._access)

    def _refuse(self, refused: Refused) -> web.Response:
        if len(self.refusals) < MAX_REFUSALS:
            self.refusals.append(f"{refused.error_type}: {refused.message}")
        return error_response(refused)


class Gateway:
    """The model gateway: one for a supervisor, and the only holder of the API key."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._proxy: Proxy | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._proxy = await self._stack.enter_async_context(open_proxy(self._upstream))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._proxy = None
        await self._stack.aclose()

    async def check(self) -> Check:
        """Whether the model's API can be reached, and how the last request to it went."""
        if self._proxy is None:
            raise RuntimeError("the gateway is not open")
        return await self._proxy.condition.check()

    @asynccontextmanager
    async def open_door(
        self,
        *,
        session_id: SessionId,
        turn_id: TurnId,
        access: ModelAccess,
        socket_path: Path,
        watch: Watch | None = None,
    ) -> AsyncIterator[Door]:
        """A door for one turn, at a socket in a folder that the caller made and guards.

        `watch` is shown each request before it is judged.

        Leaving the block ends open requests, closes the connections and unlinks the socket, within
        seconds. Raises TurnFailed if the socket can't be made.
        """
        if self._proxy is None:
            raise RuntimeError("the gateway is not open")
        door = Door(socket_path, access, self._proxy, watch)
        app = web.Application(client_max_size=MAX_BODY, middlewares=[_in_the_apis_shape])
        app.router.add_route("*", "/{anything:.*}", door.handle)
        runner = web.AppRunner(
            app,
            access_log=None,
            logger=_http_log,
            handle_signals=False,
            handler_cancellation=True,
            auto_decompress=False,
            shutdown_timeout=CLOSE_SECONDS,
        )
        await runner.setup()
        try:
            async with _listening(runner, socket_path):
                log.debug("door of turn %s, session %s, opened", turn_id, session_id)
                yield door
        finally:
            await door.close()
            await runner.cleanup()
            log.debug("door of turn %s, session %s, closed", turn_id, session_id)


class _TooMany(asyncio.Protocol):
    """Hangs up at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            transport.abort()


@asynccontextmanager
async def _listening(runner: web.AppRunner, path: Path) -> AsyncIterator[None]:
    server = runner.server
    if server is None:
        raise RuntimeError("the runner is not set up")

    def protocol() -> asyncio.BaseProtocol:
        return server() if len(server.connections) < MAX_CONNECTIONS else _TooMany()

    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as stack:
        try:
            bound = stack.enter_context(bound_socket(path, SOCKET_MODE))
            listener = await loop.create_unix_server(
                protocol, sock=bound, backlog=BACKLOG, start_serving=False
            )
            # Before it serves: cancelled while it begins to, the loop would go on to watch the
            # number of a closed socket, and never look at the next one that gets this number.
            stack.callback(listener.close)
            await listener.start_serving()
        except OSError as error:
            raise TurnFailed(
                f"the model socket can't be made: {error.strerror}",
                where=str(path),
                remedy="check that the run folder exists, is ours and that the disk has space",
            ) from error
        yield
