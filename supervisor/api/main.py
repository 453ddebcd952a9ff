"""The HTTP application: its routes, its door, its one way of saying what went wrong."""

import asyncio
import functools
import logging
from typing import Any

from fastapi import Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from supervisor.api import (
    agents,
    audit,
    captures,
    chat,
    containers,
    contexts,
    events,
    grants,
    health,
    imports,
    login,
    mcp,
    metrics,
    permissions,
    policy,
    questions,
    search,
    sessions,
    tokens,
    trust,
    workspaces,
)
from supervisor.api.access import Access
from supervisor.api.bodies import REFERENCE, ProblemView
from supervisor.api.capture_bodies import CaptureBody
from supervisor.api.entered import entered
from supervisor.api.event_schema import schemas_of, tell_events
from supervisor.api.import_bodies import ImportBody
from supervisor.api.links import tell_links
from supervisor.api.mcp_bodies import McpServerBody
from supervisor.api.pace import Pace
from supervisor.api.parts import Parts
from supervisor.api.problems import speak_problems
from supervisor.api.refusals import tell_refusals
from supervisor.api.requests import tell_requests
from supervisor.api.sse import HEARTBEAT_SECONDS
from supervisor.api.stopping import Closing
from supervisor.api.waiting_bodies import NoLongerOpen, OpenList
from supervisor.console.serve import Console
from supervisor.console.site import Site
from supervisor.observability.health import version
from supervisor.observability.logs import fields
from supervisor.observability.traces import span
from supervisor.storage.timestamp import SystemClock

_log = logging.getLogger(__name__)


class Api:
    """The whole application as ASGI, and the lever that ends its endless streams."""

    def __init__(self, inner: FastAPI, door: ASGIApp) -> None:
        self.inner = inner
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            with span("request", method=str(scope.get("method", ""))):
                await self._door(scope, receive, send)
        except asyncio.CancelledError:
            if not self.inner.state.closing.is_set():
                raise
            # The server gives up on a client that doesn't read: no fault that needs a traceback.
            _log.warning("a connection was cut at the stop", extra=fields(path=scope["path"]))

    def openapi(self) -> dict[str, Any]:
        """The OpenAPI document of all routes and events."""
        return self.inner.openapi()

    def announce_stop(self, seconds: float) -> None:
        """Tell every stream that the supervisor stops, and that turns have so many seconds."""
        self.inner.state.closing.announce(seconds)

    def close_streams(self) -> None:
        """End the streams that follow a session over its turns, once all that is there is sent."""
        self.inner.state.closing.set()


def make_api(
    parts: Parts,
    *,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
    address: str | None = None,
) -> Api:
    """The application over these parts. A stream is never silent for longer than the heartbeat.

    `address`: where a browser on this machine finds it, if that is known.
    """
    inner = make_routes()
    inner.state.parts = parts
    inner.state.closing = Closing(SystemClock())
    inner.state.heartbeat_seconds = heartbeat_seconds
    inner.state.address = address
    site = Site()
    app = Console(HeadAsGet(inner), site)
    settings = parts.settings
    pace = Pace(settings.rate_per_minute, settings.failed_per_minute, record=parts.record)
    inner.state.pace = pace
    door = Access(app, parts.keeper, settings.allowed_hosts, pages=site, pace=pace)
    return Api(inner, door)


def make_routes() -> FastAPI:
    """The routes without a supervisor behind them: enough to describe them."""
    app = FastAPI(
        title="Trustfloor",
        version=version(),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.router.routes.extend(_rooms())
    speak_problems(app)
    app.openapi = functools.cache(lambda: _describe(app))  # type: ignore[method-assign]

    async def described(_: Request) -> Response:
        # It takes most of a second to make, once: others are answered meanwhile.
        return JSONResponse(await asyncio.to_thread(app.openapi))

    app.openapi_url = "/api/openapi.json"
    app.add_route(app.openapi_url, described, include_in_schema=False)
    return app


@functools.cache
def _rooms() -> tuple[BaseRoute, ...]:
    """The rooms' routes, the same for every application of a process.

    The framework finds out what a route takes when it is first looked for, and keeps it with the
    route.
    """
    app = FastAPI(openapi_url=None, dependencies=[Depends(entered)])
    for room in (
        health,
        chat,
        events,
        sessions,
        trust,
        contexts,
        search,
        agents,
        captures,
        imports,
        mcp,
        permissions,
        grants,
        questions,
        workspaces,
        policy,
        login,
        tokens,
        audit,
        containers,
    ):
        app.include_router(room.router, prefix="/api")
    app.include_router(metrics.router)
    return tuple(app.routes)


class HeadAsGet:
    """ASGI middleware: HEAD is answered as GET would be, up to the end of the headers.

    To what answers, the client seems to leave as soon as the headers are out, so that a stream's
    HEAD ends as well.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        answered = asyncio.Event()

        async def headers_only(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})
                answered.set()

        async def leaving() -> Message:
            await answered.wait()
            return {"type": "http.disconnect"}

        await self._app({**scope, "method": "GET"}, leaving, headers_only)


def _describe(app: FastAPI) -> dict[str, Any]:
    """OpenAPI with our problems instead of the framework's errors, the events, and the token."""
    document = get_openapi(title=app.title, version=app.version, routes=app.routes)
    document["info"]["description"] = (
        "Errors are problem+json. Streams are server-sent events: `id` is the event's `seq`, "
        "`event` its type, `data` one of the schemas under `AnyEvent` with the envelope "
        "`seq`, `turn_id`, `ts`, `session_id`."
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for name, schema in schemas_of(OpenList, NoLongerOpen).items():
        schemas.setdefault(name, schema)
    tell_events(schemas)
    schemas["Problem"] = ProblemView.model_json_schema(ref_template=REFERENCE)
    schemas["ImportBody"] = ImportBody.model_json_schema(ref_template=REFERENCE)
    schemas["CaptureBody"] = CaptureBody.model_json_schema(ref_template=REFERENCE)
    schemas["McpServerBody"] = McpServerBody.model_json_schema(ref_template=REFERENCE)
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    tell_requests(document)
    tell_refusals(document)
    tell_links(document)
    return document
