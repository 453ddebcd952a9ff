"""A client that goes away changes nothing: the turn runs on, told truly, joined again (S04).

The documented rule: a turn belongs to the supervisor, not to a request.
"""

import asyncio
import json
import signal
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from tests.worlds.forked import trustfloor
from tests.worlds.house import bash, calls, prompt, step
from tests.worlds.process_house import ProcessHouse, Told, a_process_house, is_a
from tests.worlds.server import environment
from tests.worlds.strict_sse import StrictParser
from tests.worlds.waiting import A_WHILE

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

WRITES = calls(("Write", {"file_path": "/tmp/asked", "content": "x"}))


@pytest_asyncio.fixture(name="house", scope="module", loop_scope="module")
async def house_fixture() -> AsyncIterator[ProcessHouse]:
    async with a_process_house() as house:
        await house.start(approval_seconds="6")
        yield house


async def left_with_a_reset(house: ProcessHouse, message: str, seen: str) -> Told:
    """Send a message, read up to an event of this type, and cut the connection by RST."""
    at = urlsplit(house.url)
    body = json.dumps({"message": message, "trustLevel": "sandboxed"}).encode()
    head = (
        f"POST /api/chat/stream HTTP/1.1\r\nHost: {at.netloc}\r\n"
        f"Authorization: Bearer {house.token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection(at.hostname, at.port)
    writer.write(head.encode() + body)
    parser = StrictParser()
    await reader.readuntil(b"\r\n\r\n")
    async with asyncio.timeout(A_WHILE):
        while True:
            size = int((await reader.readuntil(b"\r\n")).strip(), 16)
            piece = (await reader.readexactly(size + 2))[:-2]
            for each in parser.feed(piece):
                if each.event == seen:
                    raw = writer.get_extra_info("socket")
                    linger = struct.pack("ii", 1, 0)
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    writer.transport.abort()
                    with suppress(ConnectionError):
                        await writer.wait_closed()
                    told: Told = json.loads(each.data)
                    return told


async def is_active(house: ProcessHouse, session_id: str) -> bool:
    return bool((await house.get(f"/api/chat/session/{session_id}"))["active"])


def states(house: ProcessHouse, session_id: str) -> list[Any]:
    return [row["state"] for row in house.rows(session_id)]


async def test_the_turn_runs_on_to_its_end_and_is_read_whole_later(house: ProcessHouse) -> None:
    message = prompt(bash("sleep 1; echo went on"), step("All done."))
    seen = await left_with_a_reset(house, message, "tool_use")
    session_id = seen["session_id"]
    assert await is_active(house, session_id)
    assert states(house, session_id) == ["running"]
    async with house.joined(session_id, after=seen["seq"]) as stream:
        rest = await stream.rest()
    assert [event["seq"] for event in rest] == list(range(seen["seq"] + 1, rest[-1]["seq"] + 1))
    assert [e["content"] for e in rest if e["type"] == "tool_result"] == ["went on"]
    assert rest[-1]["type"] == "done"
    await over(house, session_id, "done")


async def test_a_terminal_client_that_is_killed_leaves_its_turn_to_go_on_and_be_read_whole(
    house: ProcessHouse,
) -> None:
    message = prompt(bash("echo at it"), bash("sleep 2; echo went on"), step("All done."))
    before = {row["session_id"] for row in house.rows()}
    client = await trustfloor(
        *("chat", message, "--trust", "sandboxed"),
        env=environment(house.root, {"TRUSTFLOOR_URL": house.url, "TRUSTFLOOR_TOKEN": house.token}),
    )
    assert client.stdout is not None
    async with asyncio.timeout(A_WHILE):
        seen = b""
        while b"went on" not in seen:  # the command that it is told of, not yet its result
            seen += await client.stdout.read(4096)
        client.kill()
        assert await client.wait() == -signal.SIGKILL
    (session_id,) = {row["session_id"] for row in house.rows()} - before
    assert await is_active(house, session_id)
    async with house.joined(session_id) as stream:
        told = await stream.rest()
    assert [event["seq"] for event in told] == list(range(1, len(told) + 1))
    assert [e["content"] for e in told if e["type"] == "tool_result"] == ["at it", "went on"]
    assert told[-1]["type"] == "done"
    assert told[-1]["response"] == "All done."
    await over(house, session_id, "done")


async def test_one_who_comes_back_can_abort_it(house: ProcessHouse) -> None:
    seen = await left_with_a_reset(house, prompt(bash("sleep 600"), step("x")), "tool_use")
    session_id = seen["session_id"]
    async with house.joined(session_id, after=seen["seq"]) as stream:
        answer = await house.post(f"/api/chat/session/{session_id}/abort", {"reason": "enough"})
        assert answer.json() == {"aborted": True}
        rest = await stream.rest()
    assert [event["type"] for event in rest if event["type"] != "tool_result"] == ["aborted"]
    await over(house, session_id, "aborted")


async def test_a_request_that_waits_can_be_granted_by_one_who_comes_back(
    house: ProcessHouse,
) -> None:
    message = prompt(WRITES, bash("cat /tmp/asked"), step("ok"))
    request = await left_with_a_reset(house, message, "permission_request")
    session_id = request["session_id"]
    waiting = (await house.get(f"/api/permissions?sessionId={session_id}"))["permissions"]
    assert [each["id"] for each in waiting] == [request["id"]]
    assert (await house.grant(request)).status_code == 200
    async with house.joined(session_id, after=request["seq"]) as stream:
        rest = await stream.rest()
    assert [e["decision"] for e in rest if e["type"] == "permission_resolved"] == ["granted"]
    assert [e["content"] for e in rest if e["type"] == "tool_result"][1] == "x"
    await over(house, session_id, "done")


async def test_a_request_that_nobody_answers_is_denied_at_its_limit_and_the_turn_goes_on(
    house: ProcessHouse,
) -> None:
    message = prompt(WRITES, bash("ls /tmp/asked"), step("ok"))
    request = await left_with_a_reset(house, message, "permission_request")
    session_id = request["session_id"]
    assert states(house, session_id) == ["running"]
    async with house.joined(session_id, after=request["seq"]) as stream:
        rest = await stream.rest()
    assert [e["decision"] for e in rest if e["type"] == "permission_resolved"] == ["timed_out"]
    refused, listing = (event for event in rest if event["type"] == "tool_result")
    assert refused["isError"]
    assert "nobody answered within 6 s" in refused["content"]
    assert "No such file" in listing["content"]
    assert rest[-1]["type"] == "done"
    late = await house.post(f"/api/permissions/{request['id']}/grant")
    assert late.status_code == 410
    await over(house, session_id, "done")


async def test_an_abort_voids_a_request_whose_viewer_has_left(house: ProcessHouse) -> None:
    request = await left_with_a_reset(house, prompt(WRITES, step("ok")), "permission_request")
    session_id = request["session_id"]
    await house.post(f"/api/chat/session/{session_id}/abort")
    async with house.joined(session_id, after=request["seq"]) as stream:
        rest = await stream.rest()
    assert [e["decision"] for e in rest if e["type"] == "permission_resolved"] == ["void"]
    assert rest[-1]["type"] == "aborted"
    assert (await house.post(f"/api/permissions/{request['id']}/grant")).status_code == 410
    await over(house, session_id, "aborted")


async def over(house: ProcessHouse, session_id: str, state: str) -> None:
    """The turn has ended, its row says so, nothing of it is left, the next one is accepted."""
    assert not await is_active(house, session_id)
    await house.nothing_left()
    assert states(house, session_id) == [state]
    turn = await house.turn(prompt(step("Next.")), sessionId=session_id)
    assert is_a("done")(turn[-1])
