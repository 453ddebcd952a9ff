"""What the door answers in place of a route, and how that is logged."""

import logging
from typing import Final

from starlette.types import Receive, Scope, Send

from supervisor.api.intake import TOO_SLOW, UNSUPPORTED, too_large
from supervisor.api.pace import TOO_MANY, whence
from supervisor.api.problems import Problem
from supervisor.observability.logs import fields

_log = logging.getLogger(__name__)

_LONGEST_LOGGED: Final = 200
"""Characters of a path, which a stranger may have made up."""

MALFORMED_REQUEST: Final = Problem(
    400, "malformed_request", "Malformed request", "What was sent can't be read as HTTP/1.1."
)
BAD_TARGET: Final = Problem(
    400, "bad_target", "Bad request target", "The request line must name a path only."
)
BAD_HOST: Final = Problem(
    400, "bad_host", "Bad Host header", "Exactly one well-formed Host header is needed."
)
FOREIGN_HOST: Final = Problem(
    421,
    "foreign_host",
    "Not a name of this server",
    "This server does not answer to the name in the Host header.",
    remedy="call it by a loopback name, or list the name in TRUSTFLOOR_ALLOWED_HOSTS",
)
FOREIGN_ORIGIN: Final = Problem(
    403,
    "foreign_origin",
    "Not from this page",
    "Requests made by other pages are refused.",
    remedy="if the page is yours, list its host in TRUSTFLOOR_ALLOWED_HOSTS",
)
UNAUTHORIZED: Final = Problem(
    401,
    "unauthorized",
    "A token is needed",
    "Send a token that counts as `Authorization: Bearer …`.",
    remedy="the owner's token is in the file `token` of the supervisor's data folder",
)
ELSEWHERE: Final = Problem(
    403,
    "csrf",
    "Not sent by this page",
    "A request by a login takes its `X-CSRF-Token`, and comes from a page of this server.",
    remedy="pages send the `csrfToken` that they were told at login; programs have tokens",
)
REFUSALS: Final = (
    MALFORMED_REQUEST,
    BAD_TARGET,
    BAD_HOST,
    FOREIGN_HOST,
    FOREIGN_ORIGIN,
    too_large(),
    TOO_SLOW,
    UNSUPPORTED,
    UNAUTHORIZED,
    ELSEWHERE,
    TOO_MANY,
)
"""What may be answered here in place of any route."""


async def refuse(problem: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the problem, and log who was turned away."""
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
