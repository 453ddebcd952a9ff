"""One record on the wire: one event to any reader that keeps to the standard, cut as it may be."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import orjson
import pytest
from httpx_sse import EventSource
from hypothesis import given
from hypothesis import strategies as st

from supervisor.api.sse import frame
from supervisor.events.log import EventRecord
from supervisor.ids import SessionId, TurnId
from tests.worlds.strict_sse import Message, StrictParser

EXOTIC = "x\u2028\u2029\u0085\u000b\u000c\u001c\r\n\r\ndata: fake\n\nevent: done\n\ny🙂"


def record(said: str, seq: int = 7) -> EventRecord:
    data = orjson.dumps({"seq": seq, "type": "text", "delta": said})
    return EventRecord(SessionId("s"), TurnId("t"), seq, "text", "2026-01-01T00:00:00Z", data)


def read(pieces: list[bytes]) -> list[Message]:
    parser = StrictParser()
    return [message for piece in pieces for message in parser.feed(piece)]


def test_a_chunk_boundary_at_every_byte_changes_nothing() -> None:
    wire = frame(record(EXOTIC)) + frame(record("second", 8))
    whole = read([wire])
    assert [orjson.loads(message.data)["delta"] for message in whole] == [EXOTIC, "second"]
    assert [message.id for message in whole] == ["7", "8"]
    assert read([wire[i : i + 1] for i in range(len(wire))]) == whole
    for cut in range(1, len(wire)):
        assert read([wire[:cut], wire[cut:]]) == whole


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_any_text_comes_back_code_point_for_code_point(said: str) -> None:
    (message,) = read([frame(record(said))])
    assert orjson.loads(message.data)["delta"] == said


@pytest.mark.parametrize("line_break", [b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r"])
def test_white_space_between_json_tokens_can_not_end_the_event(line_break: bytes) -> None:
    data = b'{"delta":' + line_break + b'"x"}'
    (message,) = read([frame(record("")._replace(data=data))])
    assert orjson.loads(message.data) == {"delta": "x"}


def test_the_library_our_client_uses_reads_the_same() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for index in range(len(wire)):
            yield wire[index : index + 1]

    async def heard() -> list[str]:
        headers = {"content-type": "text/event-stream"}
        response = httpx.Response(200, headers=headers, content=pieces())
        return [event.data async for event in EventSource(response).aiter_sse()]

    wire = frame(record(EXOTIC))
    assert [orjson.loads(data)["delta"] for data in asyncio.run(heard())] == [EXOTIC]
