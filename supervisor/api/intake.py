"""How much of a request's body is taken, in which form, and how slowly it may come."""

import asyncio
import re
from types import MappingProxyType
from typing import Final

from starlette.types import Message, Receive, Scope

from supervisor.api.headers import values
from supervisor.api.problems import Problem
from supervisor.captures.names import LARGEST as LARGEST_CAPTURE
from supervisor.imports.fields import LARGEST as LARGEST_IMPORT

MAX_BODY: Final = 4 * 1024 * 1024
"""The largest body of a request, in bytes."""

MAX_UNKNOWN: Final = 1024
"""The largest body of one who isn't known yet, in bytes: a login's code."""

_LEAST_BYTES_A_SECOND: Final = 64 * 1024
_LEAST_BODY_SECONDS: Final = 20.0
"""How slowly a body may come; it is held in memory until it is there."""

_AROUND: Final = 1024 * 1024
"""What may stand round a document in its upload, in bytes."""

MAX_CHAT: Final = 16 * 1024 * 1024
"""The largest body of a message, in bytes: 4 MiB of text, and 8 MiB of attachments in base64."""

UPLOADS: Final = MappingProxyType(
    {"/api/captures": LARGEST_CAPTURE + _AROUND, "/api/import": LARGEST_IMPORT}
)
"""Where bodies may be larger, up to so many bytes, and forms with files."""

_LARGER: Final = MappingProxyType({**UPLOADS, "/api/chat": MAX_CHAT, "/api/chat/stream": MAX_CHAT})
"""All paths whose bodies may be larger."""

CHANGING: Final = frozenset({"POST", "PUT", "PATCH", "DELETE"})
"""Methods whose requests are always looked at as if they had a body."""

_JSON = re.compile(r'application/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?', re.IGNORECASE)
_FORM = re.compile(r"multipart/form-data\s*;.{1,200}", re.IGNORECASE)

UNSUPPORTED: Final = Problem(
    415,
    "unsupported_media_type",
    "Unsupported media type",
    "Requests that change something, and all bodies, are plain `application/json`.",
    remedy="send `Content-Type: application/json`",
)
TOO_SLOW: Final = Problem(
    408, "too_slow", "The body came too slowly", "The request's body wasn't there in time."
)


def too_large(most: int = MAX_BODY) -> Problem:
    """What is answered where a body has more than so many bytes."""
    return Problem(
        413,
        "too_large",
        "The body is too large",
        f"A request's body may have {most} bytes here.",
    )


def judge_body(scope: Scope) -> Problem | None:
    """Why the body can't be taken, by what the request's head says of it; None: it may come."""
    if not has_body(scope):
        return None
    types = values(scope, b"content-type")
    if len(types) != 1 or not _is_welcome(types[0], scope) or values(scope, b"content-encoding"):
        return UNSUPPORTED
    lengths, most = values(scope, b"content-length"), most_of(scope)
    if any(not length.isdecimal() or int(length) > most for length in lengths):
        return too_large(most)
    return None


def _is_welcome(content_type: str, scope: Scope) -> bool:
    if _JSON.fullmatch(content_type) is not None:
        return True
    return scope["path"] in UPLOADS and _FORM.fullmatch(content_type) is not None


def _body_seconds(most: int) -> float:
    return max(_LEAST_BODY_SECONDS, most / _LEAST_BYTES_A_SECOND)


def most_of(scope: Scope) -> int:
    """How many bytes a body may have on this path."""
    return _LARGER.get(scope["path"], MAX_BODY)


def has_body(scope: Scope) -> bool:
    """Whether the request has a body, or is one that has to be looked at as if it had."""
    if scope["method"] in CHANGING or values(scope, b"transfer-encoding"):
        return True
    return any(length != "0" for length in values(scope, b"content-length"))


async def read_body(receive: Receive, most: int) -> bytes | Problem | None:
    """The body, or why it isn't taken; None if the client left before it had said all of it."""
    try:
        async with asyncio.timeout(_body_seconds(most)):
            body = await _read_bounded(receive, most)
    except TimeoutError:
        return TOO_SLOW
    return too_large(most) if body is not None and len(body) > most else body


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


def replay(body: bytes, receive: Receive) -> Receive:
    """What gives a body that was read once more, and then what comes after it."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
