"""What the gateway adds to a model call; how soon a granted tool runs; how fast events replay.

    python -m benchmarks.gateway [CALLS]

The gateway runs in a process of its own between this one, which calls, and the scripted model. A
call goes to the model directly and through the gateway by turns, over a connection that is kept.
"""

import asyncio
import contextlib
import json
import math
import sqlite3
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks._figures import machine, median, percentile, spread, table
from benchmarks._house import Supervisor, make_vault, supervisor, workplace
from benchmarks._model import recording_model
from supervisor.events.log import EventLog
from supervisor.events.schema import DoneEvent, SessionResume, Spending, TextEvent
from supervisor.ids import SessionId, new_turn_id

BODY_BYTES = 60_000  # what the CLI sends in its first request, mostly the tools' descriptions
REPLAYED = 10_000
APPROVALS = 10
REPLAYS = 9
WARM_UPS = 50


def request_body() -> bytes:
    """A streamed request of about the size the CLI's first one has."""
    tool = {"name": "Read", "description": "w " * 500, "input_schema": {"type": "object"}}
    return json.dumps(
        {
            "model": "claude-sonnet-5-5",
            "max_tokens": 100,
            "stream": True,
            "messages": [{"role": "user", "content": "hello"}],
            "tools": [{**tool, "name": f"Tool{number}"} for number in range(BODY_BYTES // 1080)],
        }
    ).encode()


@asynccontextmanager
async def door(socket: Path, model: Path) -> AsyncIterator[None]:
    """The gateway's process."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks._door", str(socket), str(model)),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(30):
            assert await process.stdout.readline() == b"open\n"
        yield
    finally:
        process.kill()
        await process.wait()


async def call(client: aiohttp.ClientSession, body: bytes) -> tuple[float, float]:
    """Milliseconds to the first byte of the answer's body, and to its end."""
    began = time.perf_counter()
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    async with client.post("/v1/messages", data=body, headers=headers) as answer:
        answer.raise_for_status()
        await answer.content.readany()
        first = time.perf_counter()
        await answer.read()
    return (first - began) * 1000, (time.perf_counter() - began) * 1000


async def measure_calls(place: Path, calls: int) -> None:
    """Directly and through the gateway, by turns."""
    body = request_body()
    took: dict[str, list[tuple[float, float]]] = {"directly": [], "through the gateway": []}
    async with recording_model(place) as model, door(place / "door.sock", model.socket):
        clients = {
            way: aiohttp.ClientSession("http://model", connector=aiohttp.UnixConnector(str(path)))
            for way, path in zip(took, (model.socket, place / "door.sock"), strict=True)
        }
        for number in range(calls + WARM_UPS):
            for way, client in clients.items():
                times = await call(client, body)
                if number >= WARM_UPS:
                    took[way].append(times)
        for client in clients.values():
            await client.close()
    rows = []
    for column, what in enumerate(("first byte", "whole answer")):
        direct, through = ([each[column] for each in took[way]] for way in took)
        added = median(through) - median(direct)
        added_p99 = percentile(through, 0.99) - percentile(direct, 0.99)
        rows.append(
            [
                what,
                f"{median(direct):.2f} / {percentile(direct, 0.99):.2f}",
                f"{median(through):.2f} / {percentile(through, 0.99):.2f}",
                f"{median(through) / median(direct):.2f}",
                f"{added:.2f} / {added_p99:.2f}",
            ]
        )
    print(f"\nA call of {len(body)} bytes, {calls} each way; ms: median / 99th percentile\n")
    table(["until", "directly", "through the gateway", "ratio", "added"], rows)


def prompt(*steps: dict[str, Any]) -> str:
    """A message that makes the scripted model answer with these steps."""
    return f"please <<steps: {json.dumps(list(steps))}>>"


async def granted(
    house: Supervisor, level: str, tool: str, tool_input: dict[str, Any]
) -> list[float]:
    """A tool called twice, granted each time: milliseconds from sending the grant to its run.

    Bash tells the time itself; of another tool it is when a client sees the result.
    """
    call = {"tools": [{"name": tool, "input": tool_input}]}
    body = {"message": prompt(call, call, {"text": "ok"}), "trustLevel": level}
    sent, took = math.nan, []
    async with house.client.post(f"{house.url}/api/chat/stream", json=body) as answer:
        answer.raise_for_status()
        async for line in answer.content:
            if not line.startswith(b"data: "):
                continue
            event = json.loads(line[6:])
            if event["type"] == "permission_request":
                url = f"{house.url}/api/permissions/{event['id']}/grant"
                sent = time.time()
                reply = await house.client.post(url, json={"contentHash": event["contentHash"]})
                reply.raise_for_status()
            elif event["type"] == "tool_result":
                if event["isError"]:
                    raise RuntimeError(event["content"])
                ran = float(event["content"]) if tool == "Bash" else time.time()
                if math.isnan(sent):
                    raise RuntimeError("nobody was asked")
                took.append((ran - sent) * 1000)
                sent = math.nan
    return took


async def measure_grants(house: Supervisor) -> None:
    """At `vault` when the command itself runs, at `sandboxed` when its result is seen."""
    # What reaches the network is asked for; nobody listens there.
    told = {"command": "date +%s.%N; curl -s http://127.0.0.1:1 || true", "description": "the time"}
    written = {"file_path": "/tmp/granted", "content": "x"}  # noqa: S108
    at_vault, sandboxed = [], []
    for _ in range(APPROVALS):
        at_vault.append(await granted(house, "vault", "Bash", told))
        sandboxed.append(await granted(house, "sandboxed", "Write", written))
    print("\nFrom sending a grant over HTTP, ms: median [smallest..largest]\n")
    rows = [
        ["vault: the turn's first command runs", spread([each[0] for each in at_vault])],
        ["vault: its second command runs", spread([each[1] for each in at_vault])],
        ["sandboxed: the first tool's result is seen", spread([each[0] for each in sandboxed])],
        ["sandboxed: the second's", spread([each[1] for each in sandboxed])],
    ]
    table(["until", "ms"], rows)


async def store_events(data: Path, session: SessionId) -> None:
    """A long turn, as a supervisor would have left it."""
    turn = new_turn_id()
    async with EventLog(data / "events.db") as log:
        text = TextEvent(delta="Some words of an answer as a model streams them. " * 2)
        for _ in range(REPLAYED // 1000):
            await log.append_all(session, turn, [text] * 1000)
        done = DoneEvent(
            response="",
            session_id=session,
            working_directory="",
            message_count=2,
            model="scripted",
            duration_ms=1,
            tool_calls=0,
            permission_denials=(),
            session_resume=SessionResume(method="new"),
            spending=Spending(),
        )
        await log.append(session, turn, done)


async def replayed(house: Supervisor, session: str) -> tuple[float, int, int]:
    """Seconds to join and read all, events, bytes."""
    began = time.monotonic()
    url = f"{house.url}/api/chat/session/{session}/stream"
    count = size = 0
    async with house.client.get(url, params={"until": "done"}) as answer:
        answer.raise_for_status()
        async for piece in answer.content.iter_any():
            count += piece.count(b"\nevent: ")
            size += len(piece)
    return time.monotonic() - began, count, size


def read_plainly(database: Path, session: str) -> float:
    """Seconds to read the same rows with SQLite alone."""
    began = time.monotonic()
    with contextlib.closing(sqlite3.connect(database)) as cx:
        rows = cx.execute("SELECT data FROM events WHERE session_id = ? ORDER BY seq", (session,))
        b"".join(data for (data,) in rows)
    return time.monotonic() - began


async def measure_replay(place: Path, session: str, model_url: str) -> None:
    """Join a session of many events, beside a plain read of the same rows."""
    await store_events(place / "data", SessionId(session))
    async with supervisor(place, api_url=model_url, api_key="a-benchmark's") as house:
        joins, reads = [], []
        for number in range(REPLAYS + 1):
            took, count, size = await replayed(house, session)
            read = await asyncio.to_thread(read_plainly, place / "data" / "events.db", session)
            if number:
                joins.append(took * 1000)
                reads.append(read * 1000)
    print(f"\nReplay of {count} events, {size / 1e6:.1f} MB, to a client that joins\n")
    rows = [
        ["a client has read the last event", spread(joins)],
        ["SQLite alone has read the rows", spread(reads)],
    ]
    table(["until", "ms"], rows)


async def measure(calls: int) -> None:
    """All of it, one after the other."""
    with workplace() as place:
        (place / "m").mkdir()
        make_vault(place / "vault", 200)
        await measure_calls(place / "m", calls)
        async with recording_model(place / "m") as model:
            async with supervisor(place, api_url=model.url, api_key="a-benchmark's") as house:
                turn = await house.send("hello", "full")
                await measure_grants(house)
            await measure_replay(place, turn.session, model.url)


def main() -> None:
    """Measure and print."""
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(machine())
    asyncio.run(measure(calls))
    print(f"\nload afterwards: {machine().partition('load ')[2]}")


if __name__ == "__main__":
    main()
