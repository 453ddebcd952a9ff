"""Readers that come and go, and what each of them has seen; for `soak.py` only.

python -m benchmarks._soak_readers

The first line of standard input says where and what to read, the second, `{"last": {session: N}}`,
that nothing more is said: then nobody leaves any more, and once each is there and has its session's
last event, the books are written to standard output. At the end of standard input the readers wait
to be left by the server, and a last line says how many were told of its stop, and who wasn't.

A reader's books are a number and a checksum over all it saw: number, type and bytes of each event.
It believes nothing: a number that isn't the next one, an event of another session, a notice of a
gap are faults.
"""

import asyncio
import contextlib
import json
import random
import socket
import struct
import sys
import zlib
from typing import Any

PATIENCE_SECONDS = 0.5
TERMINAL = (b"done", b"aborted", b"error")


class Reader(asyncio.Protocol):
    """One reader of one session, over all its connections."""

    def __init__(self, where: dict[str, Any], session: str) -> None:
        self._where = where
        self.session = session
        self.seen = 0
        self.checksum = 0
        self.ends: dict[str, int] = {}
        self.connections = 0
        self.told_of_stop = False
        self.faults: list[str] = []
        self.transport: asyncio.Transport | None = None
        self.how_lost = ""
        self._rest = b""
        self._in_body = False
        self._leaving = False
        self.lost = asyncio.Event()

    async def come(self) -> None:
        """Connect, to go on behind the last event that was seen whole."""
        self._rest, self._in_body, self._leaving = b"", False, False
        self.lost.clear()
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: self, "127.0.0.1", self._where["port"])
        self.connections += 1

    def leave(self, *, rudely: bool) -> None:
        """Go away in the middle of whatever comes."""
        self._leaving = True
        if self.transport is not None:
            if rudely:
                raw = self.transport.get_extra_info("socket")
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        behind = f"Last-Event-ID: {self.seen}\r\n" if self.seen else ""
        transport.write(
            f"GET /api/chat/session/{self.session}/stream HTTP/1.0\r\nHost: localhost\r\n"
            f"Authorization: Bearer {self._where['token']}\r\n{behind}\r\n".encode()
        )

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self.how_lost = f"{exc!r} with {self._rest[:80]!r}"
        self.lost.set()

    def data_received(self, data: bytes) -> None:
        if self._leaving:
            return
        self._rest += data
        if not self._in_body:
            head, mark, self._rest = self._rest.partition(b"\r\n\r\n")
            if not mark:
                self._rest = head
                return
            self._in_body = True
            if b" 200 " not in head.split(b"\r\n", 1)[0]:
                self.faults.append(head[:80].decode())
        *blocks, self._rest = self._rest.split(b"\n\n")
        for block in blocks:
            self._take(block)

    def _take(self, block: bytes) -> None:
        fields = dict(
            line.split(b": ", 1) for line in block.split(b"\n") if line and line[:1] != b":"
        )
        data, kind = fields.get(b"data", b""), fields.get(b"event", b"")
        if b"id" not in fields:
            if b'"shutting_down"' in data:
                self.told_of_stop = True
            else:
                self.faults.append(f"without a number: {data[:200]!r}")
            return
        number = int(fields[b"id"])
        if number != self.seen + 1:
            self.faults.append(f"{number} after {self.seen}: {data[:200]!r}")
        self.seen = number
        self.checksum = zlib.crc32(b"%d %s %s" % (number, kind, data), self.checksum)
        if kind in TERMINAL:
            turn = json.loads(data)["turn_id"]
            self.ends[turn] = self.ends.get(turn, 0) + 1

    def has_come_to(self, number: int) -> bool:
        """Whether it has seen that event, and is there."""
        return self.seen >= number and self.transport is not None and self._in_body

    def books(self) -> dict[str, Any]:
        return {
            "session": self.session,
            "seen": self.seen,
            "checksum": self.checksum,
            "ends": self.ends,
            "connections": self.connections,
            "faults": self.faults[:5],
        }


async def live(reader: Reader, chance: random.Random, stays: asyncio.Event) -> None:
    """Read; now and then leave and come back, or stop reading for a while."""
    while True:
        try:
            await reader.come()
        except OSError as error:
            if stays.is_set():
                return  # the server has stopped
            reader.faults.append(str(error))
            await asyncio.sleep(1)
            continue
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if stays.is_set() else chance.uniform(5, 120)):
                kind = chance.random()
                if kind < 0.2 and not stays.is_set():
                    await asyncio.sleep(chance.uniform(0, 3))
                    if reader.transport is not None:
                        reader.transport.pause_reading()
                        await asyncio.sleep(chance.uniform(1, 15))
                    if reader.transport is not None:
                        reader.transport.resume_reading()
                await reader.lost.wait()
        if reader.told_of_stop:
            return
        if stays.is_set() and reader.transport is not None:
            reader.transport.resume_reading()
            await reader.lost.wait()
            return
        reader.leave(rudely=chance.random() < 0.5)
        await reader.lost.wait()
        await asyncio.sleep(0 if stays.is_set() else chance.expovariate(1 / 2))


async def work() -> None:
    """As the lines say."""
    told = json.loads(await asyncio.to_thread(sys.stdin.readline))
    chance = random.Random(told["seed"])  # noqa: S311 - repeatable on purpose
    stays = asyncio.Event()
    readers = [Reader(told, session) for session in told["sessions"]]
    async with asyncio.TaskGroup() as group:
        for each in readers:
            group.create_task(live(each, random.Random(chance.random()), stays))  # noqa: S311
        last = json.loads(await asyncio.to_thread(sys.stdin.readline))["last"]
        stays.set()
        for each in readers:
            if each.transport is not None:
                each.transport.resume_reading()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(240):
                while not all(each.has_come_to(last[each.session]) for each in readers):
                    await asyncio.sleep(PATIENCE_SECONDS)
        print(json.dumps([each.books() for each in readers]), flush=True)
        await asyncio.to_thread(sys.stdin.readline)
    untold = [f"{each.books()} {each.how_lost}" for each in readers if not each.told_of_stop]
    print(json.dumps([len(readers) - len(untold), untold]), flush=True)


if __name__ == "__main__":
    asyncio.run(work())
