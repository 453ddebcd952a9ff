"""Many readers of SSE streams in one process; for `sse.py` only.

python -m benchmarks._sse_readers

Lines of JSON on standard input say what to do, each is answered by one on standard output:
`{"open": NAME, "port": …, "path": …, "token": …, "readers": N}` opens N streams, `"stalled": true`
such as never read; `{"collect": NAME, "through": ID}` waits until each of them has that event, and
tells when each event came to each reader, on the monotonic clock; `{"drop": NAME}` closes them.
"""

import asyncio
import json
import re
import socket
import sys
import time
from typing import Any

_ID = re.compile(rb"id: (\d+)\n")
_TAIL = 24  # longer than an id's line, which may come in two pieces


class Reader(asyncio.Protocol):
    """One stream; notes when each event's id came."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._rest = b""
        self._answered = False
        self.opened = asyncio.get_running_loop().create_future()
        self.arrived: dict[int, float] = {}
        self.last = 0
        self.transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        transport.write(self._request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        text = self._rest + data
        if not self._answered:
            self._answered = True
            if not text.startswith(b"HTTP/1.1 200"):
                self.opened.set_exception(RuntimeError(text[:300].decode()))
        if not self.opened.done() and b"retry: " in text:
            self.opened.set_result(None)
        end = 0
        for found in _ID.finditer(text):
            self.last = int(found[1])
            self.arrived[self.last] = now
            end = found.end()
        self._rest = text[max(end, len(text) - _TAIL) :]


class Stalled(asyncio.Protocol):
    """One that reads the headers, and then nothing any more."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self.opened = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        transport.write(self._request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:  # noqa: ARG002
        if self.transport is not None and not self.opened.done():
            self.transport.pause_reading()
            self.opened.set_result(None)


async def opened(told: dict[str, Any]) -> list[Any]:
    """So many connections, a few at a time."""
    request = (
        f"GET {told['path']} HTTP/1.1\r\nHost: 127.0.0.1:{told['port']}\r\n"
        f"Authorization: Bearer {told['token']}\r\n\r\n"
    ).encode()
    kind = Stalled if told.get("stalled") else Reader
    loop = asyncio.get_running_loop()
    made: list[Any] = []
    for _ in range(told["readers"]):
        raw = socket.socket()
        raw.setblocking(False)
        if kind is Stalled:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await loop.sock_connect(raw, ("127.0.0.1", told["port"]))
        _, protocol = await loop.create_connection(lambda: kind(request), sock=raw)
        await protocol.opened
        made.append(protocol)
    return made


async def work() -> None:
    """Until standard input ends."""
    sets: dict[str, list[Any]] = {}
    while line := await asyncio.to_thread(sys.stdin.readline):
        told = json.loads(line)
        answer: Any = None
        if "open" in told:
            sets.setdefault(told["open"], []).extend(await opened(told))
        elif "drop" in told:
            for each in sets.pop(told["drop"], []):
                each.transport.abort()
        else:
            readers = sets[told["collect"]]
            while any(reader.last < told["through"] for reader in readers):
                await asyncio.sleep(0.02)
            answer = [reader.arrived for reader in readers]
            for reader in readers:
                reader.arrived = {}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(work())
