"""What goes on for long ends when its token does: streams, and answers that wait for a turn."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PATIENCE_SECONDS: Final = 1.0
"""So long a stream may take to close in good order once its token has ended."""


def is_long(method: str, path: str) -> bool:
    """Whether a request may go on for as long as a turn or longer."""
    streams = path.endswith("/stream") and method in {"GET", "HEAD", "POST"}
    return streams or (method, path) == ("POST", "/api/chat")


async def until_over(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, gone: Callable[[], Awaitable[None]]
) -> bool:
    """Serve a request until it is answered or its token has ended; whether an answer began.

    To what serves it, the client seems to leave when the token ends; a turn that was begun goes on,
    as always when a client leaves.
    """
    began = False

    async def told(message: Message) -> None:
        nonlocal began
        began = True
        await send(message)

    over = asyncio.ensure_future(gone())

    async def heard() -> Message:
        hearing = asyncio.ensure_future(receive())
        try:
            await asyncio.wait({hearing, over}, return_when=asyncio.FIRST_COMPLETED)
            return await hearing if hearing.done() else {"type": "http.disconnect"}
        finally:
            hearing.cancel()

    answer = asyncio.ensure_future(app(scope, heard, told))
    try:
        await asyncio.wait({answer, over}, return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            await asyncio.wait({answer}, timeout=_PATIENCE_SECONDS)
    finally:
        over.cancel()
        is_cut = not answer.done()
        answer.cancel()
        with contextlib.suppress(*((asyncio.CancelledError,) if is_cut else ())):
            await answer
    return began
