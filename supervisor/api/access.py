"""Who may call: the door that every request passes before any handler, in a fixed order.

Target and Host (a rebound name is turned away), Origin (another page is), type and size of the
body (a form's request is), the token or the login's cookie, and at last its scope. Pure ASGI on
purpose: the framework's class for middleware hides from a stream that its client has left.
"""

import hmac
import re
from collections.abc import Container, Iterable
from functools import partial
from typing import Final, Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from supervisor.access.holder import Holder, NotAllowed
from supervisor.access.logins import Login
from supervisor.access.secrets import digest
from supervisor.api.caller import CALLER
from supervisor.api.cut_off import is_long, until_over
from supervisor.api.headers import values
from supervisor.api.intake import (
    CHANGING,
    MAX_UNKNOWN,
    has_body,
    judge_body,
    most_of,
    read_body,
    replay,
)
from supervisor.api.names import Authority, Names
from supervisor.api.pace import Pace
from supervisor.api.problems import Problem
from supervisor.api.scopes import demand_of
from supervisor.api.turned_away import (
    BAD_HOST,
    BAD_TARGET,
    ELSEWHERE,
    FOREIGN_HOST,
    FOREIGN_ORIGIN,
    UNAUTHORIZED,
    refuse,
)
from supervisor.console.serve import READING

OPEN_PATHS: Final = frozenset({"/api/health"})
"""What may be read without a token."""

LOGIN_PATH: Final = "/api/login"
"""What is sent without a token: a login's code takes its place."""

COOKIE: Final = "trustfloor_login"
"""The cookie of a login. It counts only where no `Authorization` came along."""

_MOST_COOKIES: Final = 4
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")

SECURITY_HEADERS: Final = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
)


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
            await refuse(refusal, scope, receive, guarded)
            return
        if not has_body(scope):
            await self._pass_on(scope, receive, send if self._is_page(scope) else guarded)
            return
        body = await self._read(scope, receive)
        if isinstance(body, Problem):
            await refuse(body, scope, receive, guarded)
        elif body is not None:
            await self._pass_on(scope, replay(body, receive), guarded)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | Problem | None:
        """The body, or why it isn't taken; None if the client left before it had said all of it."""
        caller = scope.get(CALLER)
        body = await read_body(
            receive, most_of(scope) if isinstance(caller, Holder) else MAX_UNKNOWN
        )
        if isinstance(body, Problem):
            return body
        if isinstance(caller, Holder) and not self._keeper.counts(caller):
            return UNAUTHORIZED  # it ended while the body came
        return body

    def _is_page(self, scope: Scope) -> bool:
        return scope["path"] in self._pages and scope["method"] in READING

    def _judge(self, scope: Scope) -> Problem | None:
        own_port = (scope.get("server") or ("", 0))[1] or 0
        return (
            self._judge_host(scope, own_port)
            or self._judge_origin(scope, own_port)
            or judge_body(scope)
        )

    def _judge_host(self, scope: Scope, own_port: int) -> Problem | None:
        raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
        # Routes end before a line feed: what is behind one would be read here and not there.
        if not raw_path.startswith(b"/") or _CONTROL.search(scope["path"]):
            return BAD_TARGET
        hosts = values(scope, b"host")
        host = Authority.parse(hosts[0]) if len(hosts) == 1 else None
        if host is None:
            return BAD_HOST
        if not self._names.answers_to(host, own_port):
            return FOREIGN_HOST
        return None

    def _judge_origin(self, scope: Scope, own_port: int) -> Problem | None:
        scheme = scope.get("scheme", "http")
        origins = values(scope, b"origin")
        if all(self._names.is_own_page(origin, own_port, scheme) for origin in origins):
            return None
        return FOREIGN_ORIGIN

    async def _let_in(self, scope: Scope) -> Problem | None:
        """Note who calls in the scope, or say why they may not."""
        path, method = scope["path"], scope["method"]
        if self._is_page(scope):
            return None
        if _is_open(method, path):
            return None
        tokens = values(scope, b"authorization")
        caller = self._bearer(tokens) if tokens else None
        if not tokens:
            login = await self._login(scope)
            if login is not None:
                if _is_from_elsewhere(scope, login.page_digest):
                    return ELSEWHERE
                caller = login.holder
        if caller is None:
            is_try = tokens or any(COOKIE in each for each in values(scope, b"cookie"))
            return await self._pace.failed(scope, UNAUTHORIZED) if is_try else UNAUTHORIZED
        try:
            demand_of(method, path).require(caller)
        except NotAllowed as refused:
            return Problem.of(refused)
        scope[CALLER] = caller
        return self._pace.asked(caller)

    def _bearer(self, tokens: list[str]) -> Holder | None:
        scheme, _, given = tokens[0].partition(" ") if len(tokens) == 1 else ("", "", "")
        return self._keeper.bearer(given.strip()) if scheme.lower() == "bearer" else None

    async def _login(self, scope: Scope) -> Login | None:
        cookies = [
            value
            for header in values(scope, b"cookie")
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
            await refuse(UNAUTHORIZED, scope, receive, send)


def _is_open(method: str, path: str) -> bool:
    """Whether no token is asked for. Of the login's path, a wrong method learns that it is one."""
    if method in CHANGING:
        return (method, path) == ("POST", LOGIN_PATH)
    return path == LOGIN_PATH or path in OPEN_PATHS


def _is_from_elsewhere(scope: Scope, page_digest: str) -> bool:
    """Whether a login's request was not made by our own page, as far as can be told.

    The cookie proves nothing: a browser sends it to all ports of this machine, whose servers can
    send it on. The page's secret does, for it is kept where only pages of our own origin read.
    """
    sites = values(scope, b"sec-fetch-site")
    if any(site not in {"same-origin", "none"} for site in sites):
        return True
    secrets = values(scope, b"x-csrf-token")
    if len(secrets) != 1 or not hmac.compare_digest(digest(secrets[0]), page_digest):
        return True
    return scope["method"] in CHANGING and not values(scope, b"origin")


def _with_security_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            ours = {name for name, _ in SECURITY_HEADERS}
            rest = [pair for pair in message.get("headers", ()) if pair[0].lower() not in ours]
            message = {**message, "headers": [*rest, *SECURITY_HEADERS]}
        await send(message)

    return guarded
