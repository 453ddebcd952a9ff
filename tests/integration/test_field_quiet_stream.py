"""A turn that is quiet for longer than an ordinary proxy waits, in full size (S01).

Debian's nginx with nothing but `proxy_pass`, whose patience is 60 s; a real tool that sleeps 75 s.
What the scaled-down tests (`test_api_behind_nginx.py`) can't show: that our own default is what the
real proxy's default needs.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.worlds.house import bash, prompt, step
from tests.worlds.nginx import nginx
from tests.worlds.process_house import ProcessHouse, a_process_house
from tests.worlds.serving import serving
from tests.worlds.strict_sse import Message, StrictParser

pytestmark = [pytest.mark.engine, pytest.mark.slow]

QUIET = "sleep 75; echo woke up"
PATIENCE = 120.0


@asynccontextmanager
async def silent_server() -> AsyncIterator[int]:
    """The control: it opens a stream and says nothing more; gives its port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"X-Accel-Buffering: no\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n:\n\r\n"
        )
        await writer.drain()
        await reader.read()

    async with serving(serve) as port:
        yield port


async def quiet_turn(house: ProcessHouse, port: int) -> tuple[list[Message], int]:
    """A turn with the quiet tool, through the proxy: its messages, and how many comments."""
    parser, messages = StrictParser(), list[Message]()
    body = {"message": prompt(bash(QUIET), step("Good morning.")), "trustLevel": "sandboxed"}
    headers = {"Authorization": f"Bearer {house.token}"}
    async with (
        httpx.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False) as client,
        client.stream("POST", f"http://127.0.0.1:{port}/api/chat/stream", json=body) as response,
    ):
        assert response.status_code == 200
        async for piece in response.aiter_raw():
            messages += parser.feed(piece)
    return messages, parser.comments


async def is_cut(port: int) -> bool:
    """Whether the proxy cuts a stream on which nothing is said."""
    async with (
        httpx.AsyncClient(timeout=PATIENCE, trust_env=False) as client,
        client.stream("GET", f"http://127.0.0.1:{port}/") as response,
    ):
        try:
            _ = [piece async for piece in response.aiter_raw()]
        except httpx.RemoteProtocolError:
            return True
        return False


async def test_a_turn_quiet_for_75_seconds_reaches_its_end_through_stock_nginx(
    tmp_path: Path,
) -> None:
    folders = [tmp_path / "ours", tmp_path / "silent"]
    for folder in folders:
        folder.mkdir()
    async with a_process_house() as house, silent_server() as silent:
        await house.start()
        upstream = urlsplit(house.url).port
        assert upstream is not None
        async with (
            nginx(folders[0], upstream) as ours,
            nginx(folders[1], silent) as other,
            asyncio.timeout(PATIENCE),
            asyncio.TaskGroup() as group,
        ):
            control = group.create_task(is_cut(other))
            turn = group.create_task(quiet_turn(house, ours))
    messages, comments = turn.result()
    events = [json.loads(message.data) for message in messages]
    assert [each["content"] for each in events if each["type"] == "tool_result"] == ["woke up"]
    assert messages[-1].event == "done"
    assert comments >= 4
    assert control.result(), "this proxy would have waited for a silent stream, too"
