"""The filter's socket: reads one request a connection, has it judged, and answers.

Fails closed: what can't be read is answered with a refusal and the connection is closed.
"""

import asyncio
import json
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import h11

from supervisor.engine_filter.calls import Call, Refused, Verb, check_headers, read_call
from supervisor.engine_filter.engine_side import CHUNK, Answer, EngineCall, EngineSide
from supervisor.engine_filter.guard import Guard

_HEAD_BYTES: Final = 16 * 1024
_PIECE: Final = 4096  # a head is measured between two reads
_BODY_BYTES: Final = 64 * 1024
_REQUEST_SECONDS: Final = 10.0
_INPUT_SECONDS: Final = 60.0  # between an attach and the start it waits for
_CONNECTIONS: Final = 512
_SWITCH: Final = 101
_RAW: Final = (("Content-Type", "application/vnd.docker.raw-stream"),)
_UPGRADE: Final = (("Connection", "Upgrade"), ("Upgrade", "tcp"))
_REASON: Final = {_SWITCH: b"UPGRADED"}

logger = logging.getLogger(__name__)


@asynccontextmanager
async def listening(path: Path, mode: int, engine: EngineSide, guard: Guard) -> AsyncIterator[None]:
    """Serve on a Unix socket at `path` with these permissions, until the block is left."""
    room = asyncio.Semaphore(_CONNECTIONS)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with room:
            await _Connection(reader, writer, engine, guard).serve()

    listener = await asyncio.to_thread(_bound, path, mode)
    server = await asyncio.start_unix_server(serve, sock=listener, limit=CHUNK, start_serving=False)
    try:
        await server.start_serving()
        yield
    finally:
        server.close()
        await asyncio.to_thread(path.unlink, missing_ok=True)


def _bound(path: Path, mode: int) -> socket.socket:
    """A socket at `path`, with these permissions from its first moment."""
    if path.is_socket():  # one that a killed filter left; nothing else is ever removed
        path.unlink()
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o777 & ~mode)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)
    return listener


class _Connection:
    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        engine: EngineSide,
        guard: Guard,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._engine = engine
        self._guard = guard
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES)

    async def serve(self) -> None:
        try:
            await self._serve()
        except Refused as refused:
            logger.warning("refused: %s", refused.why)
            message = json.dumps({"message": f"the engine filter: {refused.why}"}).encode()
            await self._reply(Answer(refused.status, "application/json", message))
        except (OSError, TimeoutError):
            pass  # the caller left, or never asked
        except Exception:
            logger.exception("a call failed within the filter")
        finally:
            self._writer.close()
            with suppress(OSError):
                await self._writer.wait_closed()

    async def _serve(self) -> None:
        async with asyncio.timeout(_REQUEST_SECONDS):
            asked = await self._request()
        if asked is None:
            return
        call, body = asked
        if call.verb is Verb.ATTACH:
            await self._attach(call)
            return
        answering = asyncio.ensure_future(self._guard.answer(call, body))
        leaving = asyncio.ensure_future(self._reader.read(1))
        try:
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done() and call.verb is not Verb.WAIT:
                # What has begun is ended in order: a start isn't left unjudged by one who leaves.
                await asyncio.wait({answering})
            if answering.done():
                await self._reply(answering.result())
        finally:
            for each in (answering, leaving):
                each.cancel()

    async def _request(self) -> tuple[Call, bytes] | None:
        head = await self._next()
        if not isinstance(head, h11.Request):
            return None
        call = read_call(head.method.decode("ascii"), head.target.decode("ascii", "replace"))
        if head.http_version != b"1.1":
            raise Refused("another HTTP than 1.1")
        check_headers(list(head.headers), call)
        body = b""
        while isinstance(event := await self._next(), h11.Data):
            body += bytes(event.data)
            if len(body) > _BODY_BYTES:
                raise Refused("a body that is too long", 413)
        if self._http.trailing_data[0]:
            raise Refused("more than one request at once")
        return call, body

    async def _next(self) -> Any:
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(await self._reader.read(_PIECE))
        except h11.RemoteProtocolError as error:
            raise Refused(f"no plain HTTP: {error}", 400) from None
        return event

    async def _reply(self, answer: Answer) -> None:
        if self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            return
        headers = [("Connection", "close"), ("Content-Type", answer.kind)]
        bare = answer.status in (204, 304)
        if not bare:
            headers.append(("Content-Length", str(len(answer.body))))
        with suppress(h11.LocalProtocolError, OSError):
            head = h11.Response(status_code=answer.status, headers=headers)
            self._writer.write(self._http.send(head) or b"")
            if not bare:
                self._writer.write(self._http.send(h11.Data(answer.body)) or b"")
            self._writer.write(self._http.send(h11.EndOfMessage()) or b"")
            await self._writer.drain()

    async def _attach(self, call: Call) -> None:
        may_speak = await self._guard.may_attach(call)
        async with self._engine.call() as engine:
            head = await engine.send(call.method, call.target, more=_UPGRADE)
            if head.status_code != _SWITCH:
                assert isinstance(head, h11.Response)  # noqa: S101 - `send` returns no other
                body = await engine.rest()
                await self._reply(Answer(head.status_code, "application/json", body))
                return
            switched = h11.InformationalResponse(
                status_code=_SWITCH, headers=[*_UPGRADE, *_RAW], reason=_REASON[_SWITCH]
            )
            self._writer.write(self._http.send(switched) or b"")
            self._writer.write(engine.left_over())
            await self._writer.drain()
            await self._pass_both_ways(engine, may_speak)

    async def _pass_both_ways(self, engine: EngineCall, may_speak: asyncio.Event) -> None:
        """Until the container's output ends; its input may end before."""
        talking = asyncio.ensure_future(self._pass_input(engine, may_speak))
        try:
            await _pass(engine.reader, self._writer)
        finally:
            talking.cancel()
            await asyncio.wait({talking})

    async def _pass_input(self, engine: EngineCall, may_speak: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(_INPUT_SECONDS):
                await may_speak.wait()
            await _pass(self._reader, engine.writer)
            engine.writer.write_eof()
        except (OSError, TimeoutError):
            engine.writer.close()


async def _pass(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    while data := await source.read(CHUNK):
        sink.write(data)
        await sink.drain()
