"""MCP servers over HTTP: set by an admin, started by nothing, and no secret is told (S26)."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from supervisor.access.holder import OWNER, Scope
from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.waiting import A_WHILE

SECRET = "sk-ant-CANARY-of-a-server-0123456789"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        yield world


@pytest.fixture
async def client(world: ApiWorld) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(base_url=world.at.url, headers=headers, timeout=A_WHILE) as client:
        yield client


def config(world: ApiWorld) -> Path:
    return world.parts.settings.vault / ".mcp.json"


def touching(folder: Path) -> tuple[dict[str, Any], Path]:
    """An entry whose start leaves a mark, and the mark."""
    mark = folder / "added"
    return {"command": "/usr/bin/env", "args": ["touch", str(mark)]}, mark


async def test_a_server_is_added_listed_changed_and_removed(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    body = {"command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "${NOTES_TOKEN}"}}
    made = await client.post("/api/mcp/notes", json=body)
    assert made.status_code == 201, made.text
    assert json.loads(config(world).read_text()) == {"notes": body}
    listed = await client.get("/api/mcp")
    assert listed.json() == {"servers": [made.json()], "broken": []}
    assert made.json()["env"] == {"TOKEN": "${NOTES_TOKEN}"}
    assert made.json()["references"] == ["NOTES_TOKEN"]
    assert (made.json()["type"], made.json()["allowed"]) == ("stdio", True)
    assert (await client.get("/api/mcp/notes")).json() == made.json()
    changed = await client.post("/api/mcp/notes", json={"type": "http", "url": "https://x.example"})
    assert (changed.status_code, changed.json()["url"]) == (200, "https://x.example")
    assert (await client.delete("/api/mcp/notes", headers={"Content-Type": "application/json"})
            ).status_code == 204  # fmt: skip
    assert (await client.get("/api/mcp/notes")).status_code == 404
    assert json.loads(config(world).read_text()) == {}


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({}, "a.command"),
        ({"command": "x", "args": [1]}, "a.args[0]"),
        ({"command": "x", "env": {"LD_PRELOAD": "/tmp/x.so"}}, "a.env.LD_PRELOAD"),
        ({"command": "x", "env": {"TOKEN": SECRET}}, "a.env.TOKEN"),
        ({"type": "sse"}, "a.url"),
        ({"type": "http", "url": "gopher://x"}, "a.url"),
        ({"type": "x"}, "a.type"),
        ({"comand": "x"}, "a.comand"),
    ],
)
async def test_an_entry_with_a_mistake_is_refused_with_the_field(
    client: httpx.AsyncClient, world: ApiWorld, body: dict[str, Any], where: str
) -> None:
    said = await client.post("/api/mcp/a", json=body)
    assert (said.status_code, said.json()["where"]) == (422, where), said.text
    assert "CANARY" not in said.text
    assert not config(world).exists()


async def test_a_secret_in_the_file_is_in_no_answer_log_or_audit_entry(
    client: httpx.AsyncClient, world: ApiWorld, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG, logger="supervisor")
    servers: dict[str, Any] = {
        "a": {"command": "x", "args": ["--token", SECRET], "env": {"TOKEN": SECRET, "B": SECRET}},
        "b": {"type": "http", "url": "https://h/", "headers": {"Authorization": f"B {SECRET}"}},
        "c": {"command": 1, "env": {"TOKEN": SECRET}},
        "d": {"command": "x", "env": {SECRET: "x"}},
    }
    config(world).write_text(json.dumps(servers))
    told = [(await client.get("/api/mcp")).text]
    told += [(await client.get(f"/api/mcp/{name}")).text for name in servers]
    for name, body in servers.items():
        told.append((await client.post(f"/api/mcp/{name}", json=body)).text)
        told.append((await client.post(f"/api/mcp/{name}/allow", json={})).text)
    shown = (await client.get("/api/mcp/a")).json()
    again = {key: shown[key] for key in ("type", "command", "args", "env")}
    told.append((await client.post("/api/mcp/a", json=again)).text)
    assert json.loads(config(world).read_text())["a"]["env"] == servers["a"]["env"]
    told += [caplog.text, (tmp_path / "audit.jsonl").read_text()]
    assert "CANARY" not in "".join(told)
    assert SECRET in config(world).read_text()


async def test_only_an_admin_may_and_nothing_runs_at_all(
    client: httpx.AsyncClient, world: ApiWorld, tmp_path: Path
) -> None:
    entry, mark = touching(tmp_path)
    chats = [Scope.CHAT, Scope.APPROVE]
    _, secret = await world.parts.keeper.make_token(OWNER, "a chat client", chats, None, None)
    narrow = {"Authorization": f"Bearer {secret}"}
    asked = [
        ("GET", "/api/mcp"),
        ("GET", "/api/mcp/a"),
        ("POST", "/api/mcp/a"),
        ("POST", "/api/mcp/a/allow"),
        ("DELETE", "/api/mcp/a"),
    ]
    for method, path in asked:
        body = entry if path == "/api/mcp/a" else {}
        said = await client.request(method, path, json=body, headers=narrow)
        assert (said.status_code, said.json()["where"]) == (403, "admin"), (method, path)
    assert not config(world).exists()
    for method, path in asked:
        said = await client.request(method, path, json=entry if path == "/api/mcp/a" else {})
        assert said.status_code in {200, 201, 204, 404}, (method, path, said.text)
    assert not mark.exists()
    control = await asyncio.create_subprocess_exec(entry["command"], *entry["args"])
    await control.wait()
    assert mark.exists()


async def test_what_was_put_into_the_file_by_hand_is_allowed_by_an_admin_as_it_is(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    config(world).write_text('{"a": {"command": "x"}}')
    assert not (await client.get("/api/mcp/a")).json()["allowed"]
    said = await client.post("/api/mcp/a/allow", json={"sandboxed": True})
    assert (said.json()["allowed"], said.json()["sandboxed"]) == (True, True)
    config(world).write_text('{"a": {"command": "y"}}')
    assert not (await client.get("/api/mcp/a")).json()["allowed"]
    assert (await client.post("/api/mcp/b/allow", json={})).status_code == 404
    saved = await client.post("/api/mcp/a", json={"command": "z"})
    assert (saved.json()["allowed"], saved.json()["sandboxed"]) == (True, False)
    remote = {"type": "http", "url": "https://h/"}
    assert (await client.post("/api/mcp/r", json=remote)).status_code == 201
    said = await client.post("/api/mcp/r/allow", json={"sandboxed": True})
    assert (said.status_code, said.json()["sandboxed"]) == (200, True)


async def test_what_was_changed_since_an_admin_looked_at_it_is_not_allowed(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    config(world).write_text('{"a": {"command": "x"}}')
    seen = {"If-Match": (await client.get("/api/mcp")).headers["ETag"]}
    config(world).write_text('{"a": {"command": "y"}}')
    said = await client.post("/api/mcp/a/allow", json={}, headers=seen)
    assert (said.status_code, said.json()["where"]) == (412, "If-Match")
    assert not (await client.get("/api/mcp/a")).json()["allowed"]
    seen = {"If-Match": (await client.get("/api/mcp")).headers["ETag"]}
    said = await client.post("/api/mcp/a/allow", json={}, headers=seen)
    assert said.json()["allowed"]


async def test_a_server_of_an_agents_file_is_allowed_by_its_agent(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    agents = world.parts.settings.vault / "agents"
    agents.mkdir()
    (agents / "web.md").write_text("---\nname: Web\nmcpServers:\n  b: {command: x}\n---\n")
    said = await client.post("/api/mcp/b/allow", json={"agentPath": "Web"})
    assert (said.status_code, said.json()["allowed"]) == (200, True), said.text
    assert (await client.get("/api/mcp/b")).status_code == 404
    said = await client.post("/api/mcp/c/allow", json={"agentPath": "Web"})
    assert said.status_code == 404


async def test_a_broken_file_is_told_with_line_and_column_and_stays(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    text = '{\n  "a": {"command": "x"},\n}'
    config(world).write_text(text)
    listed = (await client.get("/api/mcp")).json()
    assert listed["servers"] == []
    assert (listed["broken"][0]["line"], listed["broken"][0]["column"]) == (3, 1)
    said = await client.post("/api/mcp/b", json={"command": "x"})
    assert (said.status_code, said.json()["where"]) == (422, ".mcp.json:3:1")
    assert config(world).read_text() == text


async def test_a_link_is_refused_and_what_it_leads_to_untouched(
    client: httpx.AsyncClient, world: ApiWorld, tmp_path: Path
) -> None:
    target = tmp_path / "elsewhere.json"
    target.write_text('{"a": {"command": "CANARY"}}')
    config(world).symlink_to(target)
    listed = await client.get("/api/mcp")
    assert "CANARY" not in listed.text
    assert "link" in listed.json()["broken"][0]["reason"]
    assert (await client.post("/api/mcp/b", json={"command": "x"})).status_code == 422
    assert config(world).is_symlink()
    assert target.read_text() == '{"a": {"command": "CANARY"}}'


async def test_what_is_to_be_new_replaces_nothing(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    new = {"If-None-Match": "*"}
    said = await client.post("/api/mcp/a", json={"command": "x"}, headers=new)
    assert said.status_code == 201
    before = config(world).read_bytes()
    said = await client.post("/api/mcp/a", json={"command": "y"}, headers=new)
    assert (said.status_code, said.json()["code"]) == (412, "already_there")
    assert config(world).read_bytes() == before
    said = await client.post("/api/mcp/a", json={"command": "y"})
    assert (said.status_code, said.json()["command"]) == (200, "y")
    said = await client.post("/api/mcp/b", json={"command": "y"}, headers={"If-None-Match": '"x"'})
    assert (said.status_code, said.json()["where"]) == (422, "If-None-Match")


async def test_one_with_a_mistake_is_not_replaced_by_a_new_one_either(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    config(world).write_text('{"a": {"command": 1}}')
    new = {"If-None-Match": "*"}
    said = await client.post("/api/mcp/a", json={"command": "y"}, headers=new)
    assert said.status_code == 412
    assert config(world).read_text() == '{"a": {"command": 1}}'


async def test_updates_side_by_side_lose_nothing_and_an_old_tag_is_refused(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    body = {"command": "x"}
    said = await asyncio.gather(*(client.post(f"/api/mcp/s{n}", json=body) for n in range(20)))
    assert {each.status_code for each in said} == {201}
    listed = await client.get("/api/mcp")
    assert len(listed.json()["servers"]) == 20
    tag = listed.headers["etag"]
    first = await client.post("/api/mcp/s0", json={"command": "y"}, headers={"If-Match": tag})
    assert first.status_code == 200
    second = await client.post("/api/mcp/s1", json={"command": "y"}, headers={"If-Match": tag})
    assert (second.status_code, second.json()["code"]) == (412, "changed_meanwhile")
