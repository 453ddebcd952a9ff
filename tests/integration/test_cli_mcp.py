"""`trustfloor mcp` against a running supervisor: add, list, allow, test, remove."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.worlds.api import ApiWorld, api_world
from tests.worlds.mcp_servers import PLAIN


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        yield world


async def mcp(world: ApiWorld, *arguments: str) -> tuple[int, str, str]:
    ran = await world.command("mcp", *arguments)
    return ran.status, ran.out.decode(), ran.err


def config(world: ApiWorld) -> Path:
    return world.parts.settings.vault / ".mcp.json"


async def test_a_server_is_added_shown_and_removed(world: ApiWorld) -> None:
    added = ("add", "notes", "--env", "TOKEN=${NOTES_TOKEN}", "--", "python3", "-c", "pass")
    status, out, err = await mcp(world, *added)
    assert (status, err) == (0, "")
    assert json.loads(config(world).read_text())["notes"] == {
        "type": "stdio",
        "command": "python3",
        "args": ["-c", "pass"],
        "env": {"TOKEN": "${NOTES_TOKEN}"},
    }
    status, listed, _ = await mcp(world, "list")
    assert status == 0
    assert "notes  (stdio)" in listed
    assert "TOKEN=${NOTES_TOKEN}" in listed
    assert "    allowed\n" in listed
    assert out.removeprefix("added:\n") in listed
    assert (await mcp(world, "remove", "notes"))[0] == 0
    assert "no MCP servers" in (await mcp(world, "list"))[1]
    assert (await mcp(world, "remove", "notes"))[0] == 1


async def test_one_that_is_there_is_replaced_only_where_that_is_said(world: ApiWorld) -> None:
    await mcp(world, "add", "notes", "--", "first")
    status, out, err = await mcp(world, "add", "notes", "--", "second")
    assert (status, out) == (1, "")
    assert "has a server of this name" in err
    assert "--replace" in err
    assert json.loads(config(world).read_text())["notes"]["command"] == "first"
    status, out, _ = await mcp(world, "add", "notes", "--replace", "--", "second")
    assert (status, out.splitlines()[0]) == (0, "replaced:")
    assert json.loads(config(world).read_text())["notes"]["command"] == "second"


async def test_a_url_is_of_the_type_http(world: ApiWorld) -> None:
    header = "Authorization=Bearer ${NOTES_TOKEN}"
    await mcp(world, "add", "r", "--url", "https://h.example/mcp", "--header", header)
    assert json.loads(config(world).read_text())["r"] == {
        "type": "http",
        "url": "https://h.example/mcp",
        "headers": {"Authorization": "Bearer ${NOTES_TOKEN}"},
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ("x",),
        ("x", "--url", "https://h", "--", "y"),
        ("x", "--env", "CANARY", "--", "y"),
        ("x", "--env", "TOKEN=CANARY", "--", "y"),
    ],
)
async def test_what_makes_no_sense_is_refused_without_repeating_it(
    world: ApiWorld, arguments: tuple[str, ...]
) -> None:
    status, out, err = await mcp(world, "add", *arguments)
    assert status in {1, 2}
    assert "CANARY" not in out + err
    assert not config(world).exists()


async def test_what_is_not_allowed_or_broken_is_shown_so(world: ApiWorld) -> None:
    config(world).write_text('{"a": {"command": "x"},\n "b": {"command": 1}}')
    status, out, _ = await mcp(world, "list")
    assert status == 1
    assert "not allowed as it is now: trustfloor mcp allow a" in out
    assert "broken: .mcp.json:2:2 b.command: a text is expected" in out
    status, out, _ = await mcp(world, "allow", "a", "--sandboxed")
    assert (status, "allowed, in sandboxes too" in out) == (0, True)
    assert json.loads((await mcp(world, "list", "--json"))[1])["servers"][0]["sandboxed"]


async def test_a_server_is_tried_out_and_what_failed_is_told(world: ApiWorld) -> None:
    await mcp(world, "add", "good", "--", "python3", "-u", "-c", PLAIN)
    status, out, _ = await mcp(world, "test", "good")
    assert status == 0
    assert "good answers: plain 1" in out
    assert "mcp__good__echo" in out
    await mcp(world, "add", "bad", "--", "python3", "-c", "import sys; sys.exit('no\\x1b[2J way')")
    status, out, _ = await mcp(world, "test", "bad")
    assert status == 1
    assert "it ended with status 1" in out
    assert "no" in out
    assert "\x1b[2J" not in out
