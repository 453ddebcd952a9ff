"""A thousand SSE readers of one session, beside a bare Starlette SSE server with as many.

    python -m benchmarks.sse [READERS] [ROUNDS]

Each server is a process of its own; so are the two that hold the readers. The servers take turns in
each round. Measured are how fast events go out when they come without a pause, how far behind its
first reader each reader gets an event when they come at a steady pace, and the memory of a reader.
At last, half as many readers that never read: what each of them costs.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks._figures import machine, median, percentile, spread, table
from benchmarks._house import resident_kib, workplace

HOLDERS = 2
BYTES = 120
FLOOD, PACED = 100, 40
EVERY_SECONDS = 0.2
LARGE, LARGE_BYTES = 400, 60_000
WAYS = ("ours", "bare")


class Process:
    """A helper that is told lines of JSON and answers with lines of JSON."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self._in, self._out = process, process.stdin, process.stdout

    async def answer(self) -> Any:
        line = await self._out.readline()
        if not line:
            raise RuntimeError(f"it ended with status {await self.process.wait()}")
        return json.loads(line)

    def say(self, **told: Any) -> None:
        self._in.write(json.dumps(told).encode() + b"\n")

    async def ask(self, **told: Any) -> Any:
        self.say(**told)
        return await self.answer()


@asynccontextmanager
async def started(*words: str) -> AsyncIterator[Process]:
    """A module of this folder as a process; killed when the block ends."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", *words),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=1 << 28,
    )
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@dataclass
class Server:
    """One of the two servers, and what was measured of it."""

    process: Process
    where: dict[str, Any]
    client: aiohttp.ClientSession
    said: int = 0
    rates: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    behind: list[float] = field(default_factory=list)
    worst: list[float] = field(default_factory=list)

    @property
    def pid(self) -> int:
        return self.process.process.pid

    async def say(self, events: int, every: float, size: int = BYTES) -> dict[str, float]:
        """Let it make events; when it began."""
        query = f"events={events}&every={every}&bytes={size}"
        url = f"http://127.0.0.1:{self.where['port']}/bench?{query}"
        async with self.client.post(url) as answer:
            told: dict[str, float] = json.loads(await answer.read())
        self.said += events
        return told


def cpu_seconds(pid: int) -> float:
    """The processor time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


async def arrivals(holders: list[Process], way: str, through: int) -> list[dict[str, float]]:
    """When each event came to each reader, once all have the last one."""
    told = await asyncio.gather(*(each.ask(collect=way, through=through) for each in holders))
    return [reader for part in told for reader in part]


async def flood(server: Server, holders: list[Process], way: str) -> None:
    """Events one after the other: deliveries in a second, and processor time for each."""
    cpu = cpu_seconds(server.pid)
    began = (await server.say(FLOOD, 0))["began"]
    readers = await arrivals(holders, way, server.said)
    last = max(max(each.values()) for each in readers)
    deliveries = FLOOD * len(readers)
    server.rates.append(deliveries / (last - began))
    server.cpu.append((cpu_seconds(server.pid) - cpu) / deliveries * 1e6)


async def paced(server: Server, holders: list[Process], way: str) -> None:
    """Events at a steady pace: how far each reader is behind the first one, in ms."""
    await server.say(PACED, EVERY_SECONDS)
    readers = await arrivals(holders, way, server.said)
    behind = []
    for event in readers[0]:
        came = [each[event] for each in readers]
        behind += [(each - min(came)) * 1000 for each in came]
    server.behind.append(percentile(behind, 0.99))
    server.worst.append(max(behind))


async def stalled(server: Server, holder: Process, holders: list[Process], readers: int) -> str:
    """The memory that readers cost who never read, while others do."""
    before = resident_kib(server.pid)
    await holder.ask(open="stalled", readers=readers, stalled=True, **server.where)
    idle = resident_kib(server.pid)
    began = (await server.say(LARGE, 0, LARGE_BYTES))["began"]
    last = max(max(each.values()) for each in await arrivals(holders, "few", server.said))
    after = resident_kib(server.pid)
    await holder.ask(drop="stalled")
    sent = LARGE * LARGE_BYTES / 2**20
    return (
        f"{readers} that never read while {sent:.0f} MiB are said:"
        f" {(after - idle) / readers:.0f} KiB each, after"
        f" {(idle - before) / readers:.0f} KiB each for what had been said before;"
        f" the others had it all after {last - began:.1f} s"
    )


async def measure(count: int, rounds: int) -> None:
    """All of it; prints at the end."""
    async with AsyncExitStack() as stack:
        place = stack.enter_context(workplace())
        client = await stack.enter_async_context(aiohttp.ClientSession())
        holders = [
            await stack.enter_async_context(started("benchmarks._sse_readers"))
            for _ in range(HOLDERS)
        ]
        servers, memory = {}, []
        for way in WAYS:
            process = await stack.enter_async_context(
                started("benchmarks._sse_server", way, str(place / way))
            )
            server = servers[way] = Server(process, await process.answer(), client)
            before = resident_kib(server.pid)
            told = {"readers": count // HOLDERS, **server.where}
            await asyncio.gather(*(each.ask(open=way, **told) for each in holders))
            await server.say(1, 0)
            await arrivals(holders, way, server.said)
            memory.append(f"{way}: {(resident_kib(server.pid) - before) / count:.0f} KiB a reader")
        for number in range(-1, rounds):
            for way in WAYS if number % 2 else reversed(WAYS):
                server = servers[way]
                await flood(server, holders, way)
                await paced(server, holders, way)
                if number < 0:  # a warm-up
                    for figures in (server.rates, server.cpu, server.behind, server.worst):
                        figures.clear()
        show(servers, memory)
        ours = servers["ours"]
        for each in holders:
            await each.ask(drop="ours")
        few = {"readers": 5, **ours.where}
        await asyncio.gather(*(each.ask(open="few", **few) for each in holders))
        await ours.say(1, 0)
        await arrivals(holders, "few", ours.said)
        print("\n" + await stalled(ours, holders[0], holders, count // 2))


def show(servers: dict[str, Server], memory: list[str]) -> None:
    """The table, and the ratios per round."""
    rows = [
        [
            way,
            spread(server.rates),
            spread(server.cpu),
            spread(server.behind),
            spread(server.worst),
        ]
        for way, server in servers.items()
    ]
    table(["way", "deliveries/s", "us of CPU each", "p99 behind the first, ms", "last, ms"], rows)
    ours, bare = (servers[way] for way in WAYS)
    ratios = [one / other for one, other in zip(ours.rates, bare.rates, strict=True)]
    print(f"\nrate, ours / bare: {median(ours.rates) / median(bare.rates):.2f};", end=" ")
    print(f"per round {spread(ratios, 2)} (target 0.8)")
    slower = [one / other for one, other in zip(ours.behind, bare.behind, strict=True)]
    print(f"p99 behind the first, ours / bare: {spread(slower, 2)} (target 100 ms)")
    print(f"memory: {'; '.join(memory)}")


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 6
    print(f"{machine()}; {count} readers in {HOLDERS} processes, {rounds} rounds\n")
    began = time.monotonic()
    asyncio.run(measure(count, rounds))
    print(f"\n{time.monotonic() - began:.0f} s; load afterwards: {machine().partition('load ')[2]}")


if __name__ == "__main__":
    main()
