"""Event streams over a real port: live, joined later, left, slow, silent."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import orjson
import pytest

from supervisor.ids import SessionId
from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.played_turns import aborted, done, failed, text
from tests.worlds.strict_sse import Message, StrictParser
from tests.worlds.waiting import A_WHILE, until

EXOTIC = "x\u2028\u2029\u0085\u000b\u000c\u001c\r\n\r\ndata: fake\n\nevent: done\ndata: {}\n\ny"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    """The API on a port; heartbeats come quickly."""
    async with api_world(tmp_path, heartbeat_seconds=0.05) as made:
        yield made


class Reader:
    """A client that reads a stream message by message and counts the comments."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.parser = StrictParser()
        self._pieces = response.aiter_raw()
        self._waiting: list[Message] = []

    async def next(self) -> Message | None:
        """The next message; None at the stream's end."""
        async with asyncio.timeout(A_WHILE):
            while not self._waiting:
                piece = await anext(self._pieces, None)
                if piece is None:
                    return None
                self._waiting += self.parser.feed(piece)
        return self._waiting.pop(0)

    async def rest(self) -> list[Message]:
        messages = []
        while (message := await self.next()) is not None:
            messages.append(message)
        return messages

    async def comments(self, count: int) -> None:
        """Wait for so many comments; a message before is an error."""
        async with asyncio.timeout(A_WHILE):
            while self.parser.comments < count:
                assert self.parser.feed(await anext(self._pieces)) == []


@contextlib.asynccontextmanager
async def joined(world: ApiWorld, path: str, **headers: str) -> AsyncIterator[Reader]:
    async with world.client(**headers) as client, client.stream("GET", path) as response:
        assert response.status_code == 200, await response.aread()
        yield Reader(response)


@contextlib.asynccontextmanager
async def sent(world: ApiWorld, message: str = "go") -> AsyncIterator[tuple[SessionId, Reader]]:
    async with (
        world.client() as client,
        client.stream("POST", "/api/chat/stream", json={"message": message}) as response,
    ):
        assert response.status_code == 200, await response.aread()
        yield SessionId(response.headers["trustfloor-session"]), Reader(response)


def delta(message: Message | None) -> str:
    assert message is not None
    said = orjson.loads(message.data)["delta"]
    assert isinstance(said, str)
    return said


async def until_nobody_reads(world: ApiWorld) -> None:
    await until(lambda: not world.log.hub.all_readers())


async def test_each_event_arrives_before_the_next_is_made_and_done_ends_the_stream(
    world: ApiWorld,
) -> None:
    async with sent(world) as (session, reader):
        for number in range(5):
            await world.turns.say(session, text(str(number)))
            assert delta(await reader.next()) == str(number)
        await world.turns.say(session, done(session))
        last = await reader.next()
        assert last is not None
        assert last.event == "done"
        assert await reader.next() is None


async def test_ids_are_the_numbers_and_data_the_bytes_of_the_log(world: ApiWorld) -> None:
    async with sent(world) as (session, reader):
        for each in (text("a"), text("b"), done(session)):
            await world.turns.say(session, each)
        messages = await reader.rest()
        assert reader.response.headers["cache-control"] == "no-store"
        assert reader.response.headers["x-accel-buffering"] == "no"
        assert reader.response.headers["content-type"].startswith("text/event-stream")
    stored = await world.log.read(session)
    assert [(m.id, m.event, m.data.encode()) for m in messages] == [
        (str(record.seq), record.type, record.data) for record in stored
    ]
    assert [record.seq for record in stored] == [1, 2, 3]


async def test_text_with_exotic_line_breaks_is_one_event_and_forges_none(world: ApiWorld) -> None:
    async with sent(world) as (session, reader):
        await world.turns.say(session, text(EXOTIC))
        await world.turns.say(session, done(session, EXOTIC))
        messages = await reader.rest()
    assert [message.event for message in messages] == ["text", "done"]
    assert delta(messages[0]) == EXOTIC
    assert orjson.loads(messages[1].data)["response"] == EXOTIC
    async with joined(world, f"/api/chat/session/{session}/stream?until=done") as again:
        assert await again.rest() == messages


async def test_a_turn_that_is_over_before_anyone_reads_is_streamed_whole(world: ApiWorld) -> None:
    session = await world.session()
    world.turns.script = [text("quick"), done(session)]
    async with (
        world.client() as client,
        client.stream(
            "POST", "/api/chat/stream", json={"message": "go", "sessionId": session}
        ) as response,
    ):
        assert [m.event for m in await Reader(response).rest()] == ["text", "done"]


@pytest.mark.parametrize("path", ["/api/chat", "/api/chat/stream"])
async def test_the_answer_ends_with_its_own_turn_though_the_next_has_begun(
    world: ApiWorld, path: str
) -> None:
    session = await world.session()
    world.turns.script = [text("1"), done(session, "the first turn's answer")]
    world.turns.next_turn_follows = True
    async with world.client() as client, asyncio.timeout(A_WHILE):
        answer = await client.post(path, json={"message": "go", "sessionId": session})
    assert "the first turn's answer" in answer.text
    assert "of the next turn" not in answer.text


async def test_joining_again_gives_what_came_after_the_last_event_seen(world: ApiWorld) -> None:
    async with sent(world) as (session, reader):
        for number in range(6):
            await world.turns.say(session, text(str(number)))
        seen = [await reader.next() for _ in range(3)]
    await world.turns.say(session, done(session))
    last = seen[-1]
    assert last is not None
    path = f"/api/chat/session/{session}/stream?until=done"
    async with joined(world, path, **{"Last-Event-ID": last.id}) as again:
        assert [m.id for m in await again.rest()] == ["4", "5", "6", "7"]
    async with joined(world, f"{path}&after=5") as again:
        assert [m.id for m in await again.rest()] == ["6", "7"]
    async with joined(world, f"{path}&after=1", **{"Last-Event-ID": "6"}) as again:
        assert [m.id for m in await again.rest()] == ["7"]


@pytest.mark.parametrize("wrong", ["-1", "x", "1.5", str(2**63), ""])
async def test_a_last_event_id_that_is_none_is_refused(world: ApiWorld, wrong: str) -> None:
    session = await world.session()
    async with world.client() as client:
        path = f"/api/chat/session/{session}/stream"
        answer = await client.get(path, headers={"Last-Event-ID": wrong})
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/problem+json"
        assert (await client.get(path, params={"after": wrong})).status_code == 422


async def test_following_goes_on_over_turns_until_the_supervisor_stops(world: ApiWorld) -> None:
    session = await world.session()
    async with joined(world, f"/api/chat/session/{session}/stream") as reader:
        for turn in ("1", "2"):
            world.turns.script = [text(turn), done(session)]
            async with world.client() as client:
                body = {"message": "go", "sessionId": session}
                assert (await client.post("/api/chat", json=body)).status_code == 200
            assert delta(await reader.next()) == turn
            assert (await reader.next()).event == "done"  # type: ignore[union-attr]
        world.close_streams()
        assert await reader.next() is None


async def test_a_silent_stream_sends_comments_that_are_no_events(world: ApiWorld) -> None:
    async with sent(world) as (session, reader):
        await world.turns.say(session, text("first"))
        assert delta(await reader.next()) == "first"
        await reader.comments(4)
        await world.turns.say(session, done(session))
        assert [m.event for m in await reader.rest()] == ["done"]


async def test_a_reader_that_is_cut_off_only_unsubscribes(world: ApiWorld) -> None:
    body = b'{"message": "go"}'
    head = (
        f"POST /api/chat/stream HTTP/1.1\r\nHost: localhost:{world.at.port}\r\n"
        f"Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", world.at.port)
    writer.write(head.encode() + body)
    await reader.readuntil(b"retry: 1000\n")
    (session,) = world.turns.running
    await world.turns.say(session, text("before"))
    await reader.readuntil(b"\n\n")
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()  # RST
    await until_nobody_reads(world)
    assert world.turns.aborted == []
    assert world.turns.active() == [session]
    await world.turns.say(session, text("after"))
    await world.turns.say(session, done(session))
    async with joined(world, f"/api/chat/session/{session}/stream?until=done") as again:
        assert [m.event for m in await again.rest()] == ["text", "text", "done"]


async def test_a_reader_that_does_not_read_holds_up_nobody_and_misses_nothing(
    world: ApiWorld,
) -> None:
    session = await world.session()
    path = f"/api/chat/session/{session}/stream?until=done"
    world.turns.script = []
    async with world.client() as client, joined(world, path) as slow:
        world.turns.script = [text("x" * 30_000) for _ in range(400)] + [done(session)]
        body = {"message": "go", "sessionId": session}
        answer = await client.post("/api/chat", json=body)
        assert answer.status_code == 200
        assert [int(m.id) for m in await slow.rest()] == list(range(1, 402))


async def test_head_answers_a_stream_with_its_headers_and_ends(world: ApiWorld) -> None:
    session = await world.session()
    async with world.client() as client, asyncio.timeout(A_WHILE):
        answer = await client.head(f"/api/chat/session/{session}/stream")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.content == b""
    await until_nobody_reads(world)


async def test_a_session_that_is_none_is_not_found_before_a_stream_begins(world: ApiWorld) -> None:
    async with world.client() as client:
        for name in ("00000000-0000-4000-8000-000000000000", "../../etc/passwd", "x"):
            for path in ("stream", "abort"):
                method = "POST" if path == "abort" else "GET"
                url = f"/api/chat/session/{name}/{path}"
                answer = await client.request(method, url, json={} if method == "POST" else None)
                assert answer.status_code == 404
                assert answer.json()["code"] in {"session_not_found", "not_found"}


class TestWaitingForTheEnd:
    async def test_done_is_answered_as_it_is_stored(self, world: ApiWorld) -> None:
        session = await world.session()
        world.turns.script = [text("quick"), done(session, "the answer")]
        async with world.client() as client:
            body = {"message": "go", "session_id": session}
            answer = await client.post("/api/chat", json=body)
        assert answer.status_code == 200
        assert answer.json()["response"] == "the answer"
        assert answer.content == (await world.log.read(session))[-1].data

    async def test_an_abort_is_a_conflict(self, world: ApiWorld) -> None:
        session = await world.session()
        world.turns.script = [aborted(session, "a floor was raised")]
        async with world.client() as client:
            answer = await client.post("/api/chat", json={"message": "go", "sessionId": session})
        assert answer.status_code == 409
        assert answer.json()["code"] == "turn_aborted"
        assert answer.json()["detail"] == "a floor was raised"

    async def test_a_failure_is_told_with_its_status_its_place_and_what_to_do(
        self, world: ApiWorld
    ) -> None:
        session = await world.session()
        world.turns.script = [failed(session, "engine_unreachable")]
        async with world.client() as client:
            answer = await client.post("/api/chat", json={"message": "go", "sessionId": session})
        assert answer.status_code == 503
        problem = answer.json()
        assert problem["code"] == "engine_unreachable"
        assert problem["title"] == "The container engine is unreachable"
        assert problem["where"] == "/var/run/docker.sock"
        assert problem["remedy"] == "start dockerd"
        assert problem["retryable"] is True

    async def test_an_abort_from_outside_ends_the_wait(self, world: ApiWorld) -> None:
        session = await world.session()
        async with world.client() as client, asyncio.TaskGroup() as group:
            body = {"message": "go", "sessionId": session}
            waiting = group.create_task(client.post("/api/chat", json=body))
            await until(lambda: world.turns.running)
            url = f"/api/chat/session/{session}/abort"
            assert (await client.post(url, json={"reason": "enough"})).json() == {"aborted": True}
            assert (await waiting).status_code == 409
            assert (await client.post(url, json={})).json() == {"aborted": False}
        assert world.turns.aborted[0] == (session, "enough")
