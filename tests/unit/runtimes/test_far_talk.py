"""What a hostile program and a slow one can do to the messages between it and far servers."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import Any, cast

from supervisor.ids import SessionId
from supervisor.runtimes.admitted import FarMessage
from supervisor.runtimes.container.channel import ContainerChannel
from supervisor.runtimes.contract import FarAnswer
from supervisor.runtimes.far import CALLS_HELD, FarTalk
from supervisor.runtimes.transcript import TranscriptFile
from supervisor.runtimes.transport import ChannelTransport
from supervisor.runtimes.wire import MAX_OPEN_REQUESTS, Wire
from tests.worlds.waiting import A_WHILE, until

CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}


class Servers:
    """Answers when it is let, and counts who waits for it."""

    names = frozenset({"s"})

    def __init__(self) -> None:
        self.let = asyncio.Event()
        self.waiting = 0
        self.begun = 0

    def permit(self, tool: str, input: Mapping[str, Any]) -> None:
        """Nothing."""

    async def answer(self, server: str, message: Mapping[str, Any]) -> FarAnswer:
        """Wait, and give the message back."""
        self.waiting += 1
        self.begun += 1
        try:
            await self.let.wait()
        finally:
            self.waiting -= 1
        return FarAnswer({"server": server, **message})

    def open(self) -> AbstractAsyncContextManager[None]:
        """Nothing."""

        @asynccontextmanager
        async def nothing() -> AsyncIterator[None]:
            yield

        return nothing()


async def quiet(*_: str) -> None:
    """Take a line, or a warning, and be done."""


async def settled() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_an_id_that_is_used_again_hides_no_message_from_the_end() -> None:
    servers = Servers()
    talk = FarTalk(servers, quiet, quiet)
    talk.begin("r", "s", CALL)
    await settled()
    talk.cancel("r")
    talk.begin("r", "s", CALL)
    await settled()
    assert servers.waiting == 1  # control: the second is under way
    await talk.close()
    assert servers.waiting == 0


async def test_after_the_end_nothing_begins() -> None:
    servers = Servers()
    talk = FarTalk(servers, quiet, quiet)
    await talk.close()
    talk.begin("r", "s", CALL)
    await settled()
    assert servers.begun == 0


async def test_answers_that_the_program_does_not_take_are_not_heaped_up() -> None:
    servers = Servers()
    servers.let.set()
    taken = asyncio.Event()
    lines: list[str] = []

    async def write(line: str) -> None:
        lines.append(line)
        await taken.wait()

    talk = FarTalk(servers, write, quiet)
    for number in range(CALLS_HELD * 3):
        talk.begin(f"r{number}", "s", CALL)
    await settled()
    assert len(lines) == 1
    assert servers.begun == CALLS_HELD
    taken.set()
    await until(lambda: len(lines) >= CALLS_HELD * 3)
    await talk.close()


async def test_lines_that_are_sent_at_once_reach_the_program_whole(tmp_path: Path) -> None:
    """The engine's socket takes a long line in pieces: none may come between them."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    channel = ContainerChannel(ours, cast("Any", None), cast("Any", None), cast("Any", None))
    transport = ChannelTransport(
        channel, Wire(SessionId("s"), "/p"), TranscriptFile(tmp_path, PurePosixPath("t.jsonl"))
    )
    reader, writer = await asyncio.open_unix_connection(sock=theirs, limit=16 * 1024 * 1024)
    sent = [json.dumps({"n": n, "text": "x" * 1024 * 1024}) + "\n" for n in range(4)]
    async with asyncio.timeout(A_WHILE), asyncio.TaskGroup() as group:
        for line in sent:
            group.create_task(transport.write(line))
        await settled()
        assert sorted([(await reader.readline()).decode() for _ in sent]) == sorted(sent)
    writer.close()
    channel.close()


async def test_what_is_not_on_its_way_counts_as_unanswered(tmp_path: Path) -> None:
    """Or else a program that takes no answer could ask without end."""

    class Stuck:
        stderr_bytes = 0

        async def chunks(self) -> AsyncIterator[bytes]:
            yield b""

        async def write(self, data: bytes) -> None:  # noqa: ARG002
            await asyncio.Event().wait()

        async def close_input(self) -> None:
            return

        async def cause_of_death(self) -> None:
            return

    servers = Servers()
    servers.let.set()
    wire = Wire(SessionId("s"), "/p", servers.names)
    transport = ChannelTransport(
        Stuck(), wire, TranscriptFile(tmp_path, PurePosixPath("t.jsonl")), None, servers
    )
    admitted = 0
    for number in range(MAX_OPEN_REQUESTS * 3):
        request = {"subtype": "mcp_message", "server_name": "s", "message": {"id": 1}}
        frame = {"type": "control_request", "request_id": f"r{number}", "request": request}
        for each in wire.feed(json.dumps(frame).encode() + b"\n"):
            if isinstance(each, FarMessage):
                admitted += 1
                await transport._take(each)
        await settled()
    assert admitted == MAX_OPEN_REQUESTS + 1
    await transport._hang_up()
