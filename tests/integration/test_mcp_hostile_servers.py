"""Far servers that mean harm: raw HTTP on loopback, against the supervisor's own client."""

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpcore
import pytest

from supervisor.mcp import called, reach
from supervisor.mcp.chosen import Far
from supervisor.mcp.dialogue import LONGEST_NAME, ServerFailed
from supervisor.mcp.far import LONGEST_LISTING, MOST_GREETINGS, MOST_LISTINGS, FarServer
from supervisor.mcp.relay import Relay
from supervisor.mcp.started import parsed
from tests.worlds.serving import serving
from tests.worlds.waiting import A_WHILE, until

MIB = 1024 * 1024
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "x", "version": "1"},
}
Answer = Callable[[dict[str, Any], asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Hostile:
    """A server that greets well, and then does with a method's requests what the test says."""

    port: int = 0
    does: dict[str, Answer] = field(default_factory=dict)
    heard: list[str] = field(default_factory=list)
    open: int = 0

    def server(self, **headers: str) -> FarServer:
        return FarServer(self.far(**headers))

    def far(self, **headers: str) -> Far:
        url = f"http://127.0.0.1:{self.port}/mcp"
        return Far({"type": "http", "url": url, "headers": headers}, frozenset(headers.values()))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while True:
                    await self._one(reader, writer)
        finally:
            self.open -= 1
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        _, _, length = head.partition(b"content-length:")
        body = await reader.readexactly(int(length.split(b"\r\n")[0])) if length else b""
        asked = json.loads(body) if body else {"method": head.split()[0].decode()}
        method = str(asked["method"])
        self.heard.append(method)
        if method in self.does:
            await self.does[method](asked, writer)
            await writer.drain()
        elif method == "initialize":
            plain(writer, {"jsonrpc": "2.0", "id": asked["id"], "result": GREETING})
        else:
            plain(writer, {"jsonrpc": "2.0", "id": asked.get("id"), "result": {"tools": []}})


def plain(writer: asyncio.StreamWriter, answer: object) -> None:
    body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s\r\n"
        + f"Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )


@asynccontextmanager
async def hostile(**does: Answer) -> AsyncIterator[Hostile]:
    world = Hostile(does={name.replace("_", "/"): each for name, each in does.items()})
    async with serving(world.serve) as port:
        world.port = port
        yield world


async def test_a_farewell_without_end_holds_up_no_ending() -> None:
    sent = 0

    async def drip(_: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        while True:
            writer.write(b"x" * MIB)
            await writer.drain()
            sent += MIB
            await asyncio.sleep(0.01)

    async with hostile(delete=drip) as world:
        server = world.server()
        await server.tools()
        async with asyncio.timeout(A_WHILE):
            await server.close()
        await until(lambda: not world.open)
        assert "delete" in world.heard  # control: it was said goodbye to
        assert sent < 32 * MIB


async def test_a_header_that_never_ends_holds_up_no_ending_either() -> None:
    async def drip(_: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.1)

    async with hostile(delete=drip) as world:
        relay = Relay({"s": world.far(), "t": world.far()}, _no_record)
        async with relay.open():
            for name in ("s", "t"):
                await relay.answer(name, {"id": 1, "method": "tools/list"})
            began = time.monotonic()
        assert time.monotonic() - began < A_WHILE
        assert world.heard.count("delete") == 2


async def test_many_small_messages_do_not_take_the_supervisors_time() -> None:
    async def chatter(_: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM)
        for _chunk in range(200):
            writer.write(b'data:{"method":1}\n\n' * 4_000)
            await writer.drain()

    async with hostile(tools_call=chatter) as world:
        server = world.server()
        with pytest.raises(ServerFailed, match="other things"):
            async with asyncio.timeout(A_WHILE):
                await server.call("t", {})
        await server.close()


async def test_a_byte_at_a_time_is_no_way_to_go_on_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(called, "MOST_BYTES", 4 * MIB)

    async def crumbs(_: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM.replace(b"Connection: close", b"Transfer-Encoding: chunked"))
        while True:
            writer.write(b"1\r\nx\r\n" * 10_000)
            await writer.drain()

    async with hostile(tools_call=crumbs) as world:
        server = world.server()
        with pytest.raises(ServerFailed, match="more than"):
            async with asyncio.timeout(A_WHILE):
                await server.call("t", {})
        await server.close()


@pytest.mark.parametrize(
    "said",
    [
        b'{"id":1,"result":{"x":NaN}}',
        b'{"id":1,"result":{"x":-Infinity}}',
        b'{"id":1,"result":{"x":1e999}}',
        b'{"id":1,"result":{"x":' + b"9" * 400 + b"}}",
        b'{"id":1,"result":{"x":[' + b",".join([b"{}"] * 100_000) + b"]}}",
        b'{"id":1,"result":' + b"[" * 60_000,
    ],
)
def test_what_no_json_holds_or_no_memory_is_no_message(said: bytes) -> None:
    assert parsed(said) is None


def test_half_a_character_does_not_get_through() -> None:
    found = parsed(
        b'{"\\ud800":"a\\udfffb","c":"\\ud83d\\ude00","d":"\xed\xa0\x80","e":"\\\\ud800"}'
    )
    assert found is not None
    assert "😀" in found.values()
    assert json.dumps(found, ensure_ascii=False).encode()
    assert found["e"] == "\\ud800"


async def test_how_often_the_tools_are_asked_for_tells_the_server_nothing() -> None:
    """An agent may take back a question that isn't answered, and ask anew: like a lamp's signs."""
    begun = asyncio.Event()

    async def never(_: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        begun.set()
        await asyncio.sleep(A_WHILE)

    async with hostile(tools_list=never) as world:
        server = world.server()
        for _ in range(MOST_LISTINGS):
            begun.clear()
            asking = asyncio.create_task(server.tools())
            await begun.wait()
            asking.cancel()
            await asyncio.wait([asking])
        for _ in range(3):
            with pytest.raises(ServerFailed, match="asked for its tools"):
                await server.tools()
        assert world.heard.count("tools/list") == MOST_LISTINGS
        await server.end()


async def test_a_listing_is_bounded_as_it_is_told_again_and_again() -> None:
    async def much(asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        page = asked["id"]
        tools = [{"name": f"t{page}-{n}", "description": "x" * 90_000} for n in range(10)]
        result = {"tools": tools, "nextCursor": str(page)}
        plain(writer, {"jsonrpc": "2.0", "id": page, "result": result})

    async with hostile(tools_list=much) as world:
        server = world.server()
        tools = await server.tools()
        assert 0 < len(json.dumps(tools)) <= LONGEST_LISTING + len(tools) * 2
        await server.end()


async def test_a_session_that_the_server_has_ended_is_begun_anew_once_for_a_call() -> None:
    refusals = 1

    async def ended(asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        nonlocal refusals
        if refusals:
            refusals -= 1
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        else:
            result = {"content": [{"type": "text", "text": "done"}]}
            plain(writer, {"jsonrpc": "2.0", "id": asked["id"], "result": result})

    async with hostile(tools_call=ended) as world:
        server = world.server()
        try:
            said = await server.call("t", {})
            assert said["content"][0]["text"] == "done"
            first = ["initialize", "notifications/initialized", "tools/call"]
            assert world.heard == first * 2
            # One that ends each session is called so often and no more.
            refusals = 1_000
            for _ in range(MOST_GREETINGS):
                with pytest.raises(ServerFailed):
                    await server.call("t", {})
            assert world.heard.count("initialize") == MOST_GREETINGS
        finally:
            await server.end()


async def test_a_404_outside_of_a_session_is_an_error_like_any_other() -> None:
    async def gone(_: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")

    async with hostile(initialize=gone) as world:
        with pytest.raises(ServerFailed, match="HTTP 404"):
            await world.server().about()
        assert world.heard == ["initialize"]


@pytest.mark.parametrize("address", ["169.254.169.254", "::ffff:100.100.100.200", "fd00:ec2::254"])
async def test_a_name_that_leads_to_the_machines_metadata_is_sent_nothing(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    async with hostile() as world:
        looked_up = [("127.0.0.1", world.port), (address, world.port)]

        def lookup(host: str, port: int, **_: Any) -> list[Any]:
            return [(0, 0, 0, "", each) for each in looked_up]

        monkeypatch.setattr("socket.getaddrinfo", lookup)
        far = Far({"type": "http", "url": f"http://rebound.example:{world.port}/", "headers": {}})
        with pytest.raises(ServerFailed, match="metadata"):
            await FarServer(far).about()
        assert world.heard == []
        # The control: the same name without that address is called, at the address found.
        looked_up.pop()
        server = FarServer(far)
        await server.about()
        assert world.heard[0] == "initialize"
        await server.end()


async def test_a_name_server_that_does_not_answer_holds_up_nothing_but_lookups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = threading.Event()

    def silent(*_: Any, **__: Any) -> list[Any]:
        held.wait(A_WHILE)
        raise OSError("no such name")

    monkeypatch.setattr("socket.getaddrinfo", silent)
    asked = [
        asyncio.create_task(reach.addresses_of(f"{number}.example", 80)) for number in range(50)
    ]
    try:
        async with asyncio.timeout(A_WHILE):
            assert await asyncio.to_thread(lambda: "free") == "free"
        named = [each.name for each in threading.enumerate() if each.name.startswith("mcp-lookup")]
        assert len(named) == reach.LOOKUPS_AT_ONCE
    finally:
        held.set()
        ends = await asyncio.gather(*asked, return_exceptions=True)
    assert {type(each) for each in ends} == {httpcore.ConnectError}


async def test_after_the_turn_nothing_calls_again() -> None:
    async with hostile() as world:
        server = world.server()
        await server.tools()
        await server.end()
        heard = list(world.heard)
        with pytest.raises(ServerFailed, match="over"):
            await server.call("t", {})
        assert world.heard == heard


@pytest.mark.parametrize("value", ["short\n", " short", "with'quo\\te\n", "tok\x00en"])
async def test_a_header_that_cannot_be_sent_is_not_told(value: str) -> None:
    async with hostile() as world:
        server = world.server(Authorization=value)
        with pytest.raises(ServerFailed) as failed:
            await server.about()
        assert value.strip()[:5] not in str(failed.value)
        await server.end()


async def _no_record(_kind: str, _body: dict[str, Any]) -> None:
    return


async def test_provisional_answers_without_end_do_not_take_the_supervisors_time() -> None:
    async def soon(_: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"HTTP/1.1 103 \r\n\r\n" * 1_000)
            await writer.drain()

    async with hostile(tools_call=soon) as world:
        server = world.server()
        await server.tools()
        with pytest.raises(ServerFailed, match="headers of more than"):
            async with asyncio.timeout(A_WHILE):
                await server.call("t", {})
        await server.end()


async def test_headers_are_bounded_one_answer_at_a_time() -> None:
    """Of a connection that is used again and again, each answer has its own bound."""

    async def much(asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        text = {"content": [{"type": "text", "text": "x" * 500_000}]}
        plain(writer, {"jsonrpc": "2.0", "id": asked["id"], "result": text})

    async with hostile(tools_call=much) as world:
        server = world.server()
        for _ in range(3):
            assert await server.call("t", {})
        assert world.open == 1  # control: one connection
        await server.end()


async def test_a_name_that_the_models_api_would_refuse_is_not_offered() -> None:
    longest = "t" * (LONGEST_NAME - len("mcp__s__"))

    async def named(asked: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        tools = [{"name": longest + "t"}, {"name": longest}]
        plain(writer, {"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": tools}})

    async with hostile(tools_list=named) as world:
        relay = Relay({"s": world.far()}, _no_record)
        async with relay.open():
            answer = (await relay.answer("s", {"id": 1, "method": "tools/list"})).reply
        assert answer is not None
        assert [each["name"] for each in answer["result"]["tools"]] == [longest]
