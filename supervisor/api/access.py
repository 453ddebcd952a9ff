"""Who may call: the door that every request passes before any handler, in a fixed order.

Target and Host (a rebound name is turned away), Origin (another page is), type and size of the
body (a form's request is), the token or the login's cookie, and at last its scope. Pure ASGI on
purpose: the framework's class for middleware hides from a stream that its client has left.
"""

import asyncio
import hmac
import logging
import re
from collections.abc import Container, Iterable
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Final, Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from supervisor.access.holder import Holder, NotAllowed
from supervisor.access.keeper import Login
from supervisor.access.secrets import digest
from supervisor.api.caller import CALLER
from supervisor.api.cut_off import is_long, until_over
from supervisor.api.pace import TOO_MANY, Pace, whence
from supervisor.api.problems import Problem
from supervisor.api.scopes import demand_of
from supervisor.console.serve import READING
from supervisor.observability.logs import fields

_log = logging.getLogger(__name__)

MAX_BODY: Final = 4 * 1024 * 1024
"""The largest body of a request, in bytes."""

MAX_UNKNOWN: Final = 1024
"""The largest body of one who isn't known yet, in bytes: a login's code."""

_LEAST_BYTES_A_SECOND: Final = 64 * 1024
_LEAST_BODY_SECONDS: Final = 20.0
"""How slowly a body may come; it is held in memory until it is there."""

MAX_UPLOAD: Final = 26 * 1024 * 1024
"""The largest body of an upload, in bytes: a document of 25 MiB with what stands round it."""

MAX_IMPORT: Final = 128 * 1024 * 1024
"""The largest body of an import, in bytes: an export of years of conversations is one archive."""

MAX_CHAT: Final = 16 * 1024 * 1024
"""The largest body of a message, in bytes: 4 MiB of text, and 8 MiB of attachments in base64."""

UPLOADS: Final = MappingProxyType({"/api/captures": MAX_UPLOAD, "/api/import": MAX_IMPORT})
"""Where bodies may be larger, up to so many bytes, and forms with files."""

_LARGER: Final = MappingProxyType({**UPLOADS, "/api/chat": MAX_CHAT, "/api/chat/stream": MAX_CHAT})
"""All paths whose bodies may be larger."""

OPEN_PATHS: Final = frozenset({"/api/health"})
"""What may be read without a token."""

LOGIN_PATH: Final = "/api/login"
"""What is sent without a token: a login's code takes its place."""

COOKIE: Final = "trustfloor_login"
"""The cookie of a login. It counts only where no `Authorization` came along."""

_LONGEST_LOGGED: Final = 200
"""Characters of a path, which a stranger may have made up."""

_MOST_COOKIES: Final = 4
_LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
"""Methods whose requests are always looked at as if they had a body."""

_AUTHORITY = re.compile(
    r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)(?::(?P<port>\d{1,5}))?"
)
_ORIGIN = re.compile(r"(?P<scheme>https?)://(?P<authority>[^/@?#]+)")
_JSON = re.compile(r'application/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?', re.IGNORECASE)

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_FORM = re.compile(r"multipart/form-data\s*;.{1,200}", re.IGNORECASE)

_SECURITY_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)

_BAD_TARGET: Final = Problem(
    400, "bad_target", "Bad request target", "The request line must name a path only."
)
_BAD_HOST: Final = Problem(
    400, "bad_host", "Bad Host header", "Exactly one well-formed Host header is needed."
)
_FOREIGN_HOST: Final = Problem(
    421,
    "foreign_host",
    "Not a name of this server",
    "This server does not answer to the name in the Host header.",
    remedy="call it by a loopback name, or list the name in TRUSTFLOOR_ALLOWED_HOSTS",
)
_FOREIGN_ORIGIN: Final = Problem(
    403,
    "foreign_origin",
    "Not from this page",
    "Requests made by other pages are refused.",
    remedy="if the page is yours, list its host in TRUSTFLOOR_ALLOWED_HOSTS",
)
_UNAUTHORIZED: Final = Problem(
    401,
    "unauthorized",
    "A token is needed",
    "Send a token that counts as `Authorization: Bearer …`.",
    remedy="the owner's token is in the file `token` of the supervisor's data folder",
)
_ELSEWHERE: Final = Problem(
    403,
    "csrf",
    "Not sent by this page",
    "A request by a login takes its `X-CSRF-Token`, and comes from a page of this server.",
    remedy="pages send the `csrfToken` that they were told at login; programs have tokens",
)
_UNSUPPORTED: Final = Problem(
    415,
    "unsupported_media_type",
    "Unsupported media type",
    "Requests that change something, and all bodies, are plain `application/json`.",
    remedy="send `Content-Type: application/json`",
)


_TOO_SLOW: Final = Problem(
    408, "too_slow", "The body came too slowly", "The request's body wasn't there in time."
)


def _too_large(most: int) -> Problem:
    return Problem(
        413,
        "too_large",
        "The body is too large",
        f"A request's body may have {most} bytes here.",
    )


REFUSALS: Final = (
    _BAD_TARGET,
    _BAD_HOST,
    _FOREIGN_HOST,
    _FOREIGN_ORIGIN,
    _too_large(MAX_BODY),
    _TOO_SLOW,
    _UNSUPPORTED,
    _UNAUTHORIZED,
    _ELSEWHERE,
    TOO_MANY,
)
"""What may be answered here in place of any route."""


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


class Doorkeeper(Protocol):
    """Who knows the callers; `access/keeper.py` does."""

    def bearer(self, token: str) -> Holder | None:
        """The holder of a token that counts."""
        ...

    async def login(self, cookie: str) -> Login | None:
        """The login that a cookie belongs to."""
        ...

    def counts(self, holder: Holder) -> bool:
        """Whether a holder counts still."""
        ...

    async def gone(self, holder: Holder) -> None:
        """Return when this holder counts no more."""
        ...


class Access:
    """ASGI middleware that lets a request in or answers why not; web sockets are closed."""

    def __init__(
        self,
        app: ASGIApp,
        keeper: Doorkeeper,
        allowed_hosts: Iterable[str] = (),
        pages: Container[str] = frozenset(),
        pace: Pace | None = None,
    ) -> None:
        """`pages` are paths of files that anyone may read who gets past Host and Origin.

        What serves them sets their headers. `pace`: how often a caller may ask; None: no limit.
        """
        self._pace = pace or Pace()
        self._app = app
        self._pages = pages
        self._keeper = keeper
        self._names = Names(allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check in the order of the module's first lines, then pass on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        guarded = _with_security_headers(send)
        refusal = self._judge(scope) or await self._let_in(scope)
        if refusal is not None:
            await _refuse(refusal, scope, receive, guarded)
            return
        if not _has_body(scope):
            await self._pass_on(scope, receive, send if self._is_page(scope) else guarded)
            return
        body = await self._read(scope, receive)
        if isinstance(body, Problem):
            await _refuse(body, scope, receive, guarded)
        elif body is not None:
            await self._pass_on(scope, _replay(body, receive), guarded)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | Problem | None:
        """The body, or why it isn't taken; None if the client left before it had said all of it."""
        caller = scope.get(CALLER)
        most = _most(scope) if isinstance(caller, Holder) else MAX_UNKNOWN
        try:
            async with asyncio.timeout(_body_seconds(most)):
                body = await _read_bounded(receive, most)
        except TimeoutError:
            return _TOO_SLOW
        if body is not None and len(body) > most:
            return _too_large(most)
        if isinstance(caller, Holder) and not self._keeper.counts(caller):
            return _UNAUTHORIZED  # it ended while the body came
        return body

    def _is_page(self, scope: Scope) -> bool:
        return scope["path"] in self._pages and scope["method"] in READING

    def _judge(self, scope: Scope) -> Problem | None:
        own_port = (scope.get("server") or ("", 0))[1] or 0
        return (
            self._judge_host(scope, own_port)
            or self._judge_origin(scope, own_port)
            or _judge_body(scope)
        )

    def _judge_host(self, scope: Scope, own_port: int) -> Problem | None:
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        # Routes end before a line feed: what is behind one would be read here and not there.
        if not raw_path.startswith(b"/") or _CONTROL.search(scope["path"]):
            return _BAD_TARGET
        values = _values(scope, b"host")
        host = Authority.parse(values[0]) if len(values) == 1 else None
        if host is None:
            return _BAD_HOST
        if not self._names.answers_to(host, own_port):
            return _FOREIGN_HOST
        return None

    def _judge_origin(self, scope: Scope, own_port: int) -> Problem | None:
        scheme = scope.get("scheme", "http")
        origins = _values(scope, b"origin")
        if all(self._names.is_own_page(origin, own_port, scheme) for origin in origins):
            return None
        return _FOREIGN_ORIGIN

    async def _let_in(self, scope: Scope) -> Problem | None:
        """Note who calls in the scope, or say why they may not."""
        path, method = scope["path"], scope["method"]
        if self._is_page(scope):
            return None
        if (path in OPEN_PATHS and method not in CHANGING) or (path, method) == (
            LOGIN_PATH,
            "POST",
        ):
            return None
        tokens = _values(scope, b"authorization")
        caller = self._bearer(tokens) if tokens else None
        if not tokens:
            login = await self._login(scope)
            if login is not None:
                if _is_from_elsewhere(scope, login.page_digest):
                    return _ELSEWHERE
                caller = login.holder
        if caller is None:
            is_try = tokens or any(COOKIE in each for each in _values(scope, b"cookie"))
            return await self._pace.failed(scope, _UNAUTHORIZED) if is_try else _UNAUTHORIZED
        try:
            demand_of(method, path).require(caller)
        except NotAllowed as refused:
            return Problem.of(refused)
        scope[CALLER] = caller
        return self._pace.asked(caller)

    def _bearer(self, values: list[str]) -> Holder | None:
        scheme, _, given = values[0].partition(" ") if len(values) == 1 else ("", "", "")
        return self._keeper.bearer(given.strip()) if scheme.lower() == "bearer" else None

    async def _login(self, scope: Scope) -> Login | None:
        cookies = [
            value
            for header in _values(scope, b"cookie")
            for name, _, value in (part.strip().partition("=") for part in header.split(";"))
            if name == COOKIE
        ]
        # Another port of this machine can plant a second one: that of a login that there is counts.
        found = [await self._keeper.login(each) for each in cookies[:_MOST_COOKIES]]
        return next(filter(None, found), None)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; what goes on for long ends when its token does."""
        caller = scope.get(CALLER)
        if not isinstance(caller, Holder) or not is_long(scope["method"], scope["path"]):
            await self._app(scope, receive, send)
            return
        gone = partial(self._keeper.gone, caller)
        if not await until_over(self._app, scope, receive, send, gone):
            await _refuse(_UNAUTHORIZED, scope, receive, send)


def _is_from_elsewhere(scope: Scope, page_digest: str) -> bool:
    """Whether a login's request was not made by our own page, as far as can be told.

    The cookie proves nothing: a browser sends it to all ports of this machine, whose servers can
    send it on. The page's secret does, for it is kept where only pages of our own origin read.
    """
    sites = _values(scope, b"sec-fetch-site")
    if any(site not in {"same-origin", "none"} for site in sites):
        return True
    secrets = _values(scope, b"x-csrf-token")
    if len(secrets) != 1 or not hmac.compare_digest(digest(secrets[0]), page_digest):
        return True
    return scope["method"] in CHANGING and not _values(scope, b"origin")


def _judge_body(scope: Scope) -> Problem | None:
    if not _has_body(scope):
        return None
    types = _values(scope, b"content-type")
    if len(types) != 1 or not _is_welcome(types[0], scope) or _values(scope, b"content-encoding"):
        return _UNSUPPORTED
    lengths, most = _values(scope, b"content-length"), _most(scope)
    if any(not length.isdecimal() or int(length) > most for length in lengths):
        return _too_large(most)
    return None


def _is_welcome(content_type: str, scope: Scope) -> bool:
    if _JSON.fullmatch(content_type) is not None:
        return True
    return scope["path"] in UPLOADS and _FORM.fullmatch(content_type) is not None


def _body_seconds(most: int) -> float:
    return max(_LEAST_BODY_SECONDS, most / _LEAST_BYTES_A_SECOND)


def _most(scope: Scope) -> int:
    return _LARGER.get(scope["path"], MAX_BODY)


def _has_body(scope: Scope) -> bool:
    if scope["method"] in CHANGING or _values(scope, b"transfer-encoding"):
        return True
    return any(length != "0" for length in _values(scope, b"content-length"))


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


async def _read_bounded(receive: Receive, most: int) -> bytes | None:
    """The whole body, or a little more than is allowed of it; None if the client went away."""
    pieces: list[bytes] = []
    size = 0
    while size <= most:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if not message.get("more_body", False):
            break
    return b"".join(pieces)


def _replay(body: bytes, receive: Receive) -> Receive:
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _with_security_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            ours = {name for name, _ in _SECURITY_HEADERS}
            rest = [pair for pair in message.get("headers", ()) if pair[0].lower() not in ours]
            message = {**message, "headers": [*rest, *_SECURITY_HEADERS]}
        await send(message)

    return guarded


async def _refuse(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    _log.warning(
        "request refused",
        extra=fields(
            status=problem.status,
            code=problem.code,
            method=scope["method"],
            path=scope["path"][:_LONGEST_LOGGED],
            client=whence(scope),
        ),
    )
    headers = {"WWW-Authenticate": 'Bearer realm="trustfloor"'} if problem.status == 401 else {}  # noqa: PLR2004
    await problem.response(scope["path"], headers)(scope, receive, send)
