"""The transport: a container that says more than anyone reads is stopped by back-pressure."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path, PurePosixPath

import pytest

from supervisor.errors import AgentProcessFailed, HoneytokenTripped, TurnFailed
from supervisor.events.schema import TextEvent, ToolUseEvent
from supervisor.ids import SessionId
from supervisor.runtimes.honeytokens import Honeytokens, Trip
from supervisor.runtimes.transcript import TranscriptFile
from supervisor.runtimes.transport import ChannelTransport
from supervisor.runtimes.wire import Wire
from tests.worlds.waiting import A_WHILE, until

MIB = 1024 * 1024


class Endless:
    """A channel that always has one more line of text; counts what was taken."""

    def __init__(self, line: bytes) -> None:
        self.line = line
        self.taken = 0

    stderr_bytes = 0

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            self.taken += len(self.line)
            yield self.line

    async def write(self, data: bytes) -> None:  # noqa: ARG002
        raise AssertionError("nobody writes here")

    async def close_input(self) -> None:
        return

    async def cause_of_death(self) -> AgentProcessFailed | None:
        return None


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
    await until(lambda: channel.taken != before or size != MIB)
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


class Complaining(Brief):
    """A channel whose process ended with words of its own."""

    async def cause_of_death(self) -> AgentProcessFailed:
        return AgentProcessFailed("the agent process ended with status 7: words of its own")


async def test_the_turn_learns_its_last_words_and_the_library_that_logs_them_does_not(
    tmp_path: Path,
) -> None:
    transport = ChannelTransport(
        Complaining(b""),
        Wire(SessionId("s"), "/p"),
        TranscriptFile(tmp_path, PurePosixPath("t.jsonl")),
    )
    with pytest.raises(AgentProcessFailed) as raised:
        await anext(transport.read_messages())
    assert "words of its own" not in f"{raised.value!r} {raised.value} {raised.value.message}"
    told = await transport.said.get()
    assert isinstance(told, AgentProcessFailed)
    assert "words of its own" in told.message


class Saying(Brief):
    """A channel whose process says these pieces and ends."""

    def __init__(self, *pieces: bytes) -> None:
        super().__init__(b"")
        self.pieces = pieces

    async def chunks(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


def delta(text: str) -> bytes:
    event = {"type": "content_block_delta", "delta": {"text": text}}
    return json.dumps({"type": "stream_event", "event": event}).encode() + b"\n"


def mirror(text: str) -> bytes:
    entry = {"type": "tag", "sessionId": "s", "tag": text}
    return (
        json.dumps({"type": "transcript_mirror", "filePath": "/p/k/s.jsonl", "entries": [entry]})
        + "\n"
    ).encode()


def hook_call(text: str) -> bytes:
    call = {"tool_name": "Bash", "tool_input": {"command": text}}
    request = {"subtype": "hook_callback", "callback_id": "1", "input": call}
    frame = {"type": "control_request", "request_id": "1", "request": request}
    return json.dumps(frame).encode() + b"\n"


async def said_with(
    honeytokens: Honeytokens | None, folder: Path, *pieces: bytes
) -> tuple[list[object], list[object]]:
    """What the turn is told, and what the SDK is."""
    transport = ChannelTransport(
        Saying(*pieces),
        Wire(SessionId("s"), "/p"),
        TranscriptFile(folder, PurePosixPath("t.jsonl")),
        honeytokens,
    )
    frames: list[object] = []
    told: list[object] = []

    async def read() -> None:
        while not told or not (told[-1] is None or isinstance(told[-1], TurnFailed)):
            told.append(await transport.said.get())

    async with asyncio.TaskGroup() as group:
        group.create_task(read())
        with contextlib.suppress(AgentProcessFailed):
            async for frame in transport.read_messages():
                frames.append(frame)  # noqa: PERF401  (those before the error count)
    return told, frames


@pytest.mark.parametrize("form", [delta, mirror, hook_call])
@pytest.mark.parametrize("size", [7, 100_000])
async def test_a_frame_with_a_honeytoken_is_neither_told_nor_kept_nor_answered(
    form: Callable[[str], bytes], size: int, tmp_path: Path
) -> None:
    honeytokens = Honeytokens(b"this turn's")
    decoy = honeytokens.decoy(".env").decode()
    stream = delta("before") + form(decoy) + delta("after")
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]

    told, frames = await said_with(honeytokens, tmp_path, *pieces)
    assert isinstance(told[-1], HoneytokenTripped)
    assert honeytokens.tripped == Trip(".env", "the agent's output")
    kept = "".join(file.read_text() for file in tmp_path.rglob("*.jsonl"))
    assert honeytokens.trip(repr(told) + repr(frames) + kept) is None
    assert "after" not in repr(told)

    told, frames = await said_with(None, tmp_path, *pieces)  # control: nobody looks
    kept = "".join(file.read_text() for file in tmp_path.rglob("*.jsonl"))
    assert honeytokens.trip(repr(told) + repr(frames) + kept) == ".env"


async def test_a_honeytoken_that_is_streamed_in_pieces_is_stopped_before_the_last(
    tmp_path: Path,
) -> None:
    honeytokens = Honeytokens(b"this turn's")
    decoy = honeytokens.decoy(".env").decode()
    pieces = [delta(decoy[at : at + 3]) for at in range(0, len(decoy), 3)]
    told, _ = await said_with(honeytokens, tmp_path, *pieces)
    assert isinstance(told[-1], HoneytokenTripped)
    text = "".join(each.delta for each in told if isinstance(each, TextEvent))
    assert honeytokens.trip(text) is None
    assert decoy.startswith(text)

    told, _ = await said_with(None, tmp_path, *pieces)  # control
    assert honeytokens.trip("".join(e.delta for e in told if isinstance(e, TextEvent))) == ".env"


def tool_use(number: int) -> bytes:
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {}}
    message = {"role": "assistant", "content": [block]}
    return json.dumps({"type": "assistant", "message": message}).encode() + b"\n"


async def test_what_a_process_asks_and_answers_gets_through_while_nobody_reads_what_it_says(
    tmp_path: Path,
) -> None:
    """As when its turn ends: an interrupt is answered, whatever it asked before."""
    answer = {"type": "control_response", "response": {"request_id": "ours", "subtype": "success"}}
    said = b"".join((delta("so"), tool_use(1), hook_call("ls"), json.dumps(answer).encode(), b"\n"))
    transport = ChannelTransport(
        Saying(said), Wire(SessionId("s"), "/p"), TranscriptFile(tmp_path, PurePosixPath("t.jsonl"))
    )
    await transport.write('{"type":"control_request","request_id":"ours"}')
    async with asyncio.timeout(A_WHILE):
        heard = [frame["type"] async for frame in transport.read_messages()]
    assert heard == ["control_request", "control_response"]


async def test_a_call_that_it_has_said_is_known_once_the_turn_has_told_of_it(
    tmp_path: Path,
) -> None:
    transport = ChannelTransport(
        Saying(tool_use(1)),
        Wire(SessionId("s"), "/p"),
        TranscriptFile(tmp_path, PurePosixPath("t.jsonl")),
    )
    assert [frame async for frame in transport.read_messages()] == []
    asking = asyncio.create_task(transport.calls.told("toolu_1"))
    assert isinstance(await transport.said.get(), ToolUseEvent)
    await asyncio.sleep(0.1)
    assert not asking.done()
    assert await transport.said.get() is None
    async with asyncio.timeout(A_WHILE):
        await asking
