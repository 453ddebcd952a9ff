"""Every refusal and failure as problem+json (RFC 9457): what happened, where, and what to do.

The one place where errors become HTTP. What nobody foresaw becomes a 500 with an incident id; its
details go to the log under that id and nowhere else.
"""

import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final

import orjson
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from supervisor.api.faults import say
from supervisor.errors import NotFound, TrustfloorError

_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")

MEDIA_TYPE = "application/problem+json"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FieldError:
    """One field of the request that is wrong, and why. The value itself is never repeated."""

    field: str
    detail: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem document; `code` is the stable, machine-readable name of its kind."""

    status: int
    code: str
    title: str
    detail: str
    where: str | None = None
    remedy: str | None = None
    errors: Sequence[FieldError] = ()
    incident: str | None = None
    retryable: bool | None = None
    retry_after: int | None = None
    """Seconds; told in a header."""

    @classmethod
    def of(cls, error: TrustfloorError) -> "Problem":
        """The problem that an error of ours is to the caller."""
        return cls(
            status=error.status,
            code=error.code,
            title=error.title,
            detail=error.message,
            where=error.where,
            remedy=error.remedy,
            retryable=error.retryable,
        )

    def document(self, instance: str) -> dict[str, Any]:
        """The JSON object; members without a value are left out."""
        members = {
            "type": f"urn:trustfloor:problem:{self.code}",
            "title": self.title,
            "status": self.status,
            "detail": _sayable(self.detail),
            "instance": instance,
            "code": self.code,
            "where": None if self.where is None else _sayable(self.where),
            "remedy": None if self.remedy is None else _sayable(self.remedy),
            "errors": [
                {"field": _sayable(each.field), "detail": _sayable(each.detail)}
                for each in self.errors
            ],
            "incident": self.incident,
            "retryable": self.retryable,
        }
        return {name: value for name, value in members.items() if value not in (None, [])}

    def response(self, instance: str, headers: Mapping[str, str] | None = None) -> Response:
        """The problem as a response; `instance` is the path that was asked for."""
        wait = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        return Response(
            orjson.dumps(self.document(instance)),
            status_code=self.status,
            media_type=MEDIA_TYPE,
            headers={**wait, **(headers or {})},
        )


def _sayable(text: str) -> str:
    """The text with halves of surrogate pairs spelt out: a file's name may hold them, JSON not."""
    return text.encode("utf-8", "backslashreplace").decode()


MALFORMED_JSON: Final = Problem(
    400, "malformed_json", "Malformed JSON", "The request's body is not JSON."
)
NO_SUCH_ROUTE: Final = Problem(404, NotFound.code, NotFound.title, "There is no such route.")
INCIDENT: Final = Problem(
    500,
    TrustfloorError.code,
    TrustfloorError.title,
    "Something went wrong that nobody foresaw.",
)


def speak_problems(app: FastAPI) -> None:
    """Answer every error, foreseen or not, as a problem."""

    async def ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, TrustfloorError)  # noqa: S101 - registered for this type only
        return Problem.of(error).response(request.url.path)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)  # noqa: S101 - as above
        return _invalid(error).response(request.url.path)

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 - as above
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            return _method_not_allowed(request)
        return _from_http(error).response(request.url.path, error.headers)

    app.add_exception_handler(TrustfloorError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_middleware(Incidents)


class Incidents:
    """ASGI middleware: what nobody foresaw is logged under an id, and the caller learns the id."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; answer 500 if that raises before a response began."""
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception:
            if scope["type"] != "http":
                raise
            incident = uuid.uuid4().hex
            _log.exception("incident %s: %s %s", incident, scope["method"], scope["path"])
            if started:  # the server closes the connection; a stream's reader joins again
                return
            problem = replace(
                INCIDENT,
                remedy=f"look for incident {incident} in the supervisor's log",
                incident=incident,
            )
            await problem.response(scope["path"])(scope, receive, watched)


def _invalid(error: RequestValidationError) -> Problem:
    faults = error.errors()
    if any(fault["type"] == "json_invalid" for fault in faults):
        return MALFORMED_JSON
    fields = tuple(FieldError(field=_place(fault["loc"]), detail=say(fault)) for fault in faults)
    return Problem(
        status=422,
        code="invalid_request",
        title="Invalid request",
        detail="; ".join(f"{each.field}: {each.detail}" for each in fields),
        where=fields[0].field if fields else None,
        errors=fields,
    )


def _place(loc: Sequence[str | int]) -> str:
    """`("body", "answers", 0)` is shown as `answers.0`; a place outside the body keeps its room."""
    parts = [str(part) for part in loc]
    if parts[:1] == ["body"] and len(parts) > 1:
        parts = parts[1:]
    return ".".join(parts)


def _from_http(error: HTTPException) -> Problem:
    status = HTTPStatus(error.status_code)
    if status is HTTPStatus.NOT_FOUND:
        return NO_SUCH_ROUTE
    code = status.name.lower()
    return Problem(status.value, code, status.phrase, str(error.detail))


def _method_not_allowed(request: Request) -> Response:
    allow = {"Allow": ", ".join(sorted(_methods(request.app, request.scope)))}
    if request.method == "OPTIONS":
        return Response(status_code=204, headers=allow)
    problem = Problem(
        status=405,
        code="method_not_allowed",
        title="Method not allowed",
        detail=f"{request.method} is not for this route.",
        remedy=f"use one of: {allow['Allow']}",
    )
    return problem.response(request.url.path, allow)


def _methods(app: FastAPI, scope: Scope) -> set[str]:
    """What the routes on this path take: the router itself names only the first's.

    Asked of the routes, as the document that describes them takes most of a second to make.
    """
    methods = {
        method
        for method in _METHODS
        if any(
            route.matches({**scope, "method": method})[0] is Match.FULL
            for route in app.router.routes
        )
    }
    methods.add("OPTIONS")
    return methods | ({"HEAD"} if "GET" in methods else set())
