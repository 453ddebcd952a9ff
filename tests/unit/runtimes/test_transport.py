"""The transport: a container that says more than anyone reads is stopped by back-pressure."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath

import pytest

from supervisor.errors import AgentProcessFailed
from supervisor.ids import SessionId
from supervisor.runtimes.transcript import TranscriptFile
from supervisor.runtimes.transport import ChannelTransport
from supervisor.runtimes.wire import Wire

MIB = 1024 * 1024
A_WHILE = 30.0


class Endless:
    """A channel that always has one more line of text; counts what was taken."""

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.taken = 0

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            self.taken += len(self.line)
            yield self.line

    async def write(self, data: bytes) -> None:  # noqa: ARG002
        raise AssertionError("nobody writes here")

    async def close_input(self) -> None:
        return

    async def cause_of_death(self) -> None:
        return


@pytest.mark.parametrize("size", [10, MIB])
async def test_a_turn_that_does_not_read_stops_its_container_from_sending(
    size: int, tmp_path: Path
) -> None:
    text = {"type": "content_block_delta", "delta": {"text": "x" * size}}
    frame = json.dumps({"type": "stream_event", "event": text}).encode() + b"\n"
    channel = Endless(frame)
    transport = ChannelTransport(
        channel, Wire(SessionId("s"), "/p"), TranscriptFile(tmp_path, PurePosixPath("t.jsonl"))
    )
    reading = asyncio.ensure_future(anext(transport.read_messages()))
    before = -1
    async with asyncio.timeout(A_WHILE):
        while channel.taken != before or channel.taken == 0:  # until it stands still
            before = channel.taken
            for _ in range(1000):
                await asyncio.sleep(0)
    assert channel.taken < 8 * MIB
    await transport.said.get()  # control: reading on lets it go on
    async with asyncio.timeout(A_WHILE):
        while channel.taken == before and size == MIB:
            await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait({reading})


class Brief(Endless):
    """A channel whose process ends at once, and well."""

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self.line

    async def write(self, data: bytes) -> None:  # noqa: ARG002
        return


async def test_a_process_that_ends_well_but_owes_an_answer_has_failed(tmp_path: Path) -> None:
    transport = ChannelTransport(
        Brief(b""), Wire(SessionId("s"), "/p"), TranscriptFile(tmp_path, PurePosixPath("t.jsonl"))
    )
    await transport.write('{"type":"control_request","request_id":"1"}')
    with pytest.raises(AgentProcessFailed):
        await anext(transport.read_messages())


async def test_one_that_owes_nothing_has_just_ended(tmp_path: Path) -> None:
    transport = ChannelTransport(
        Brief(b""), Wire(SessionId("s"), "/p"), TranscriptFile(tmp_path, PurePosixPath("t.jsonl"))
    )
    assert [frame async for frame in transport.read_messages()] == []
    assert await transport.said.get() is None
