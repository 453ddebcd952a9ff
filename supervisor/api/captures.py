"""Captures: documents that clients put into the vault, listed and read again by name."""

import asyncio
import mimetypes
from datetime import UTC, datetime
from email.utils import format_datetime
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from supervisor.api.capture_bodies import CaptureBody, CapturesView, CaptureView
from supervisor.api.parts import Supervisor
from supervisor.api.refusals import refusals
from supervisor.api.uploads import read_upload, upload_request
from supervisor.captures.names import LARGEST
from supervisor.captures.store import Capture, Upload
from supervisor.errors import InvalidRequest, NotFound

router = APIRouter(prefix="/captures", tags=["captures"])

_SHOWN: Final = frozenset(
    {"text/plain", "text/markdown", "application/pdf", "image/png", "image/jpeg", "image/gif"}
)
"""What a browser may be told the type of; everything else is bytes to keep."""
_BYTES_TO_KEEP: Final = "application/octet-stream"


_THERE_ALREADY: dict[int | str, dict[str, Any]] = {
    200: {"model": CaptureView, "description": "It was there already"}
}
_BYTES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The document's bytes",
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}}
            for kind in sorted({*_SHOWN, _BYTES_TO_KEEP})
        },
    }
}


@router.get("")
async def list_captures(supervisor: Supervisor) -> CapturesView:
    """All captures, the latest first."""
    found = await asyncio.to_thread(supervisor.captures.all)
    return CapturesView(captures=[_view(each) for each in found])


@router.post(
    "",
    status_code=HTTPStatus.CREATED,
    openapi_extra=upload_request(CaptureBody),
    responses=_THERE_ALREADY,
)
async def upload(request: Request, response: Response, supervisor: Supervisor) -> CaptureView:
    """Store a document, as JSON or as a form with a file. 200: it was there already.

    The answer says under which name it is stored; a name is never a path.
    """
    body, content = await read_upload(request, CaptureBody)
    if len(content) > LARGEST:
        raise InvalidRequest(
            f"the document has {len(content)} bytes",
            where="content",
            remedy=f"give at most {LARGEST}",
        )
    given = Upload(
        filename=body.filename,
        content=content,
        title=_if_any(body.title),
        context=body.context,
        captured_at=body.timestamp,
    )
    capture, is_new = await asyncio.to_thread(supervisor.captures.put, given)
    supervisor.index.changed()
    if not is_new:
        response.status_code = HTTPStatus.OK
    return _view(capture)


@router.get("/{filename}", response_class=Response, responses={**_BYTES, **refusals(NotFound)})
async def read(filename: str, supervisor: Supervisor) -> Response:
    """The bytes of a capture, by the name that it is stored or was given under."""
    capture, content = await asyncio.to_thread(supervisor.captures.read, filename)
    guessed = mimetypes.guess_type(capture.filename)[0]
    kind = guessed if guessed in _SHOWN else _BYTES_TO_KEEP
    return Response(
        content,
        media_type=kind,
        headers={
            "Content-Disposition": _disposition(capture.original_name),
            "Last-Modified": _http_date(capture.captured_at),
        },
    )


@router.delete("/{filename}", responses=refusals(NotFound))
async def delete(filename: str, supervisor: Supervisor) -> CaptureView:
    """Delete a capture for good, by the same names; the answer says which it was."""
    gone = await asyncio.to_thread(supervisor.captures.remove, filename)
    supervisor.index.changed(deleted=True)
    return _view(gone)


def _if_any(text: str | None) -> str | None:
    """The text; none where it is blank, as forms send fields that nobody filled in."""
    return text if text and text.strip() else None


def _disposition(name: str) -> str:
    """By RFC 6266: a plain stand-in for old clients, the whole name by RFC 8187."""
    plain = "".join(c if c.isascii() and c.isprintable() and c not in '"\\%' else "_" for c in name)
    whole = quote(name, safe="", errors="replace")
    return f"attachment; filename=\"{plain[:200]}\"; filename*=UTF-8''{whole}"


def _http_date(moment: str) -> str:
    return format_datetime(datetime.fromisoformat(moment).astimezone(UTC), usegmt=True)


def _view(capture: Capture) -> CaptureView:
    return CaptureView(
        filename=capture.filename,
        original_name=capture.original_name,
        size=capture.size,
        captured_at=capture.captured_at,
        title=capture.title,
        context=capture.context,
        path=f"captures/{capture.filename}",
    )
