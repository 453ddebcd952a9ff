"""`trustfloor mcp` is an MCP server over a real supervisor: read, begin, go on; all sandboxed."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO, Any

import httpx
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from supervisor.access.holder import OWNER, Scope
from supervisor.observability.health import version
from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.house import bash, prompt, step
from tests.worlds.played_turns import done, text
from tests.worlds.process_house import ProcessHouse, a_process_house
from tests.worlds.waiting import A_WHILE, until

TOOLS = {"list_sessions", "read_session", "search", "start_session", "send_message"}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        yield world


def known(url: str, token: str) -> dict[str, str]:
    """The environment of a client's program that knows where the supervisor is."""
    kept = ("PATH", "HOME", "PYTHONPATH")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "TRUSTFLOOR_URL": url,
        "TRUSTFLOOR_TOKEN": token,
    }


def over_stdio(url: str, token: str = TOKEN) -> Client:
    return Client(
        StdioServerParameters(
            command=sys.executable, args=["-m", "supervisor", "mcp"], env=known(url, token)
        )
    )


@asynccontextmanager
async def over_http(url: str, log: IO[bytes] | None = None) -> AsyncIterator[str]:
    """`trustfloor mcp serve --http` on a free port; where it listens."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "supervisor", "mcp", "serve", "--http", "--port", "0"),
        env=known(url, TOKEN),
        stdout=asyncio.subprocess.PIPE,
        stderr=log,
    )
    try:
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), A_WHILE)).decode()
        assert line.startswith("listening "), line
        yield line.split()[1]
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await asyncio.wait_for(process.wait(), A_WHILE)


def said(result: Any) -> dict[str, Any]:
    assert not result.is_error, result.content
    found: dict[str, Any] = result.structured_content
    return found


async def test_it_lists_and_reads_sessions_and_tells_refusals(world: ApiWorld) -> None:
    session = await world.session()
    async with over_stdio(world.at.url) as client:
        assert {each.name for each in (await client.list_tools()).tools} == TOOLS
        assert client.server_info is not None
        assert client.server_info.version == version()
        listed = said(await client.call_tool("list_sessions", {"limit": 5}))
        assert [each["id"] for each in listed["sessions"]] == [session]
        read = said(await client.call_tool("read_session", {"session_id": session}))
        assert (read["id"], read["messages"]) == (session, [])
        (world.parts.settings.vault / "fruit.md").write_text("red apples")
        await world.parts.index.ended(world.parts.index.begin())
        found = said(await client.call_tool("search", {"words": "apples"}))
        assert [hit["path"] for hit in found["hits"]] == ["fruit.md"]
        missing = await client.call_tool("read_session", {"session_id": "../../health"})
        assert missing.is_error
        found = said(await client.call_tool("search", {"words": "nothing has this"}))
        assert found["hits"] == []
        for wrong in ({"limit": 1000}, {"limit": "x"}):
            assert (await client.call_tool("list_sessions", wrong)).is_error


async def test_every_message_is_asked_for_in_a_sandbox_and_may_not_say_else(
    world: ApiWorld,
) -> None:
    session = await world.session()
    world.turns.script = [text("hi"), done(session, "hi")]
    async with over_stdio(world.at.url) as client:
        given = {"session_id": session, "message": "go", "trustLevel": "full"}
        await client.call_tool("send_message", given)
        await client.call_tool("start_session", {"message": "go", "trust_level": "full"})
    assert [each.trust_level.value for each in world.turns.asked if each.trust_level] == [
        "sandboxed",
        "sandboxed",
    ]
    assert [each.session_id for each in world.turns.asked] == [session, None]


async def test_it_can_do_no_more_than_its_token(world: ApiWorld) -> None:
    async with over_stdio(world.at.url, "another-token") as client:
        told = await client.call_tool("list_sessions", {})
        assert told.is_error
        assert "token" in str(told.content)
        assert "another-token" not in str(told.content)
    assert world.turns.asked == []


async def test_a_call_that_is_cancelled_aborts_its_turn(world: ApiWorld) -> None:
    async with over_stdio(world.at.url) as client:
        call = asyncio.create_task(client.call_tool("start_session", {"message": "go"}))
        await until(lambda: world.turns.running)
        call.cancel()
        await until(lambda: world.turns.aborted)
    assert [reason for _, reason in world.turns.aborted] == ["the MCP client cancelled its call"]


async def test_over_http_only_who_has_the_token_calls_and_no_web_page(world: ApiWorld) -> None:
    session = await world.session()
    async with over_http(world.at.url) as url:
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        good = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
        attacks: list[tuple[dict[str, str], int]] = [
            ({"Accept": good["Accept"]}, 401),
            ({**good, "Authorization": "Bearer x"}, 401),
            ({**good, "Host": "evil.example"}, 421),
            ({**good, "Origin": "https://evil.example"}, 403),
            ({**good, "Origin": "null"}, 403),
            ({**good, "Content-Type": "text/plain"}, 415),
        ]
        async with httpx.AsyncClient(trust_env=False) as plain:
            for headers, status in attacks:
                answer = await plain.post(url, json=body, headers=headers)
                assert answer.status_code == status, headers
            get = await plain.get(url, headers={"Host": "evil.example"})
            assert get.status_code == 421
        async with (
            httpx2.AsyncClient(headers={"Authorization": good["Authorization"]}) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            assert {each.name for each in (await client.list_tools()).tools} == TOOLS
            listed = said(await client.call_tool("list_sessions", {}))
            assert [each["id"] for each in listed["sessions"]] == [session]


async def test_its_log_says_what_was_turned_away_and_why(world: ApiWorld, tmp_path: Path) -> None:
    with (tmp_path / "log").open("w+b") as log:
        async with over_http(world.at.url, log) as url, httpx.AsyncClient(trust_env=False) as plain:
            assert (await plain.post(url, json={})).status_code == 401
        lines = (tmp_path / "log").read_text().splitlines()
    (line,) = [each for each in lines if "request refused" in each]
    assert "status=401 code=unauthorized method=POST path=/mcp" in line


async def test_a_token_without_the_scope_is_told_so(world: ApiWorld) -> None:
    _, secret = await world.parts.keeper.make_token(OWNER, "x", [Scope.CHAT], None, None)
    ran = await world.command("mcp", "list", token=secret)
    assert ran.status == 1
    assert "admin" in ran.err


@pytest.mark.engine
async def test_a_session_is_begun_gone_on_with_and_read_in_a_sandbox() -> None:
    async with a_process_house() as house:
        await house.start()
        async with over_stdio(house.url, house.token) as client:
            await begun_and_gone_on_with(client, house)


async def begun_and_gone_on_with(client: Client, house: ProcessHouse) -> None:
    look = prompt(bash("cat /vault/.env /vault/notes/today.md; hostname"), step("Oat milk."))
    first = said(await client.call_tool("start_session", {"message": look}))
    assert first["response"] == "Oat milk."
    assert first["trustLevel"] == "sandboxed"
    assert first["refused"]
    given = {"session_id": first["sessionId"], "message": prompt(step("And bread."))}
    assert said(await client.call_tool("send_message", given))["response"] == "And bread."
    read = said(await client.call_tool("read_session", {"session_id": first["sessionId"]}))
    assert read["trustLevel"] == "sandboxed"
    assert "And bread." in json.dumps(read["messages"])
    assert "CANARY" not in json.dumps(read)
    assert {row["trust_level"] for row in house.rows()} == {"sandboxed"}
