"""Serves the console's files beside the API: GET and HEAD of what the site lists, nothing else."""

from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from supervisor.console.site import HEADERS, File, Site

READING: Final = frozenset({"GET", "HEAD"})


class Console:
    """ASGI middleware: answers for the site's paths, and passes all else on."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app = app
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        found = self._site.find(scope["path"]) if scope["type"] == "http" else None
        if found is None or scope["method"] not in READING:
            await self._app(scope, receive, send)
            return
        await _answer(found, scope)(scope, receive, send)


def _answer(file: File, scope: Scope) -> Response:
    headers = {name.decode(): value.decode() for name, value in HEADERS}
    headers |= {"content-security-policy": file.policy}
    headers |= {"etag": file.tag, "cache-control": file.cache_control}
    if _is_known(file.tag, scope):
        return Response(status_code=304, headers=headers)
    headers["content-length"] = str(len(file.content))
    content = b"" if scope["method"] == "HEAD" else file.content
    return Response(content, headers=headers, media_type=file.media_type)


def _is_known(tag: str, scope: Scope) -> bool:
    """Whether the client has this very file (RFC 9110, 13.1.2)."""
    given = b",".join(value for name, value in scope["headers"] if name.lower() == b"if-none-match")
    known = {each.strip().removeprefix("W/") for each in given.decode("latin-1").split(",")}
    return tag in known or "*" in known
