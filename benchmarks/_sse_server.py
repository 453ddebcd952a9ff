"""An SSE server whose events are made when it is told to; for `sse.py` only.

    python -m benchmarks._sse_server ours|bare FOLDER

`ours` is a whole supervisor with its routes and its event log, over a session that no agent works
in; `bare` a Starlette application that does what a page about SSE shows: a queue for each reader,
nothing stored, nobody asked who they are. Both are served by uvicorn with the same settings. Told
by `POST /bench?events=N&every=SECONDS&bytes=SIZE`, they make N events; 0 seconds: one after the
other, as fast as it goes.
"""

import asyncio
import json
import socket
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import parse_qs

import uvicorn
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from supervisor.api.main import make_api
from supervisor.api.stalled import let_go_of_stalled
from supervisor.app import open_supervisor
from supervisor.events.schema import TextEvent
from supervisor.ids import TurnId, new_session_id
from supervisor.settings import Settings
from supervisor.storage.session import SessionCreate
from supervisor.trust.levels import TrustLevel

Say = Callable[[str], Awaitable[object]]


class Told:
    """ASGI middleware: makes events at `/bench`, passes everything else on."""

    def __init__(self, app: ASGIApp, say: Say) -> None:
        self._app = app
        self._say = say

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/bench":
            await self._app(scope, receive, send)
            return
        query = {key: float(values[0]) for key, values in parse_qs(scope["query_string"]).items()}
        text = "x" * int(query[b"bytes"])
        began, cpu = time.monotonic(), time.process_time()
        for number in range(int(query[b"events"])):
            if query[b"every"]:
                await asyncio.sleep(max(0.0, began + number * query[b"every"] - time.monotonic()))
            await self._say(text)
        spent = {"began": began, "cpu": cpu}
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": json.dumps(spent).encode()})


class Bare:
    """The other server: what is sent goes into each reader's queue."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[bytes]] = set()
        self._seq = 0
        self.app = Starlette(routes=[Route("/stream", self._stream)])

    async def _stream(self, _request: Request) -> StreamingResponse:
        return StreamingResponse(self._read(), media_type="text/event-stream")

    async def _read(self) -> AsyncIterator[bytes]:
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._queues.add(queue)
        try:
            yield b"retry: 1000\n"
            while True:
                yield await queue.get()
        finally:
            self._queues.discard(queue)

    async def say(self, text: str) -> None:
        self._seq += 1
        data = json.dumps({"seq": self._seq, "type": "text", "delta": text}).encode()
        frame = b"id: %d\nevent: text\ndata: %s\n\n" % (self._seq, data)
        for queue in self._queues:
            queue.put_nowait(frame)
        await asyncio.sleep(0)


async def serve(app: ASGIApp, listener: socket.socket, path: str, token: str) -> None:
    """Until it is killed; says where once it listens."""
    config = uvicorn.Config(
        app, http="h11", ws="none", lifespan="off", access_log=False, log_config=None
    )
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve([listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    port = listener.getsockname()[1]
    print(json.dumps({"port": port, "path": path, "token": token}), flush=True)
    await serving


async def ours(place: Path, listener: socket.socket) -> None:
    """A whole supervisor."""
    (place / "vault").mkdir(parents=True)
    settings = Settings(
        vault=place / "vault",
        data_dir=place / "data",
        runtime_dir=place / "run",
        port=0,
        api_key=SecretStr("a-benchmark's"),
    )
    async with AsyncExitStack() as stack:
        parts = await stack.enter_async_context(open_supervisor(settings))
        session = new_session_id()
        await parts.sessions.create_session(
            SessionCreate(id=session, trust_level=TrustLevel.SANDBOXED, workspace="default")
        )

        async def say(text: str) -> None:
            await parts.log.append(session, TurnId("turn_of_the_benchmark"), TextEvent(delta=text))

        path = f"/api/chat/session/{session}/stream"
        await serve(Told(make_api(parts), say), listener, path, parts.token.get_secret_value())


def main() -> None:
    """Serve one of the two."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        let_go_of_stalled(listener)
        listener.bind(("127.0.0.1", 0))
        if sys.argv[1] == "ours":
            asyncio.run(ours(Path(sys.argv[2]), listener))
        else:
            bare = Bare()
            asyncio.run(serve(Told(bare.app, bare.say), listener, "/stream", ""))


if __name__ == "__main__":
    main()
