"""Imports over HTTP and by `trustfloor import`: each conversation once, and on the terms here."""

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from supervisor.ids import SessionId
from supervisor.storage.session import SessionCreate
from supervisor.storage.session_source import SessionSource
from supervisor.trust.levels import TrustLevel
from tests.worlds.api import ApiWorld, api_world

ID = "0b6f7a52-6a0b-4d0e-9a2d-2a4c5f3e7b11"
FORM = "/api/import"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        yield world


@pytest.fixture
async def client(world: ApiWorld) -> AsyncIterator[httpx.AsyncClient]:
    async with world.client() as client:
        yield client


def export(*said: str, **more: Any) -> bytes:
    messages = [
        {
            "sender": ("human", "assistant")[number % 2],
            "text": text,
            "created_at": f"2025-03-01T10:00:0{number}Z",
        }
        for number, text in enumerate(said)
    ]
    conversation = {
        "uuid": ID,
        "name": "Plans",
        "created_at": "2025-03-01T10:00:00Z",
        "updated_at": f"2025-03-01T11:00:0{len(said)}Z",
        "chat_messages": messages,
        **more,
    }
    return json.dumps([conversation]).encode()


async def sent(client: httpx.AsyncClient, content: bytes, **fields: str) -> dict[str, Any]:
    answer = await client.post(FORM, files={"file": ("c.json", content)}, data=fields)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def history(client: httpx.AsyncClient) -> list[tuple[str, str]]:
    found = (await client.get(f"/api/chat/session/{ID}")).json()
    return [(each["role"], each["content"]) for each in found["messages"]]


async def test_imported_sessions_are_found_by_a_tag_which_can_be_taken_off(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    await world.session()
    await sent(client, export("hello", "hi"))
    tagged = "/api/chat/sessions?tag=imported"
    (row,) = (await client.get(tagged)).json()["sessions"]
    assert (row["id"], row["tags"]) == (ID, ["imported"])
    await client.patch(f"/api/chat/session/{ID}", json={"tags": []})
    await sent(client, export("hello", "hi", "more"))
    assert (await client.get(tagged)).json()["sessions"] == []


async def test_a_conversation_becomes_a_session_that_can_be_read(client: httpx.AsyncClient) -> None:
    found = await sent(client, export("hello", "hi"))
    assert found == {
        "imported": [
            {
                "id": ID,
                "title": "Plans",
                "source": "claude",
                "trustLevel": "sandboxed",
                "messages": 2,
                "state": "new",
            }
        ],
        "broken": [],
    }
    (row,) = (await client.get("/api/chat/sessions")).json()["sessions"]
    assert (row["source"], row["messageCount"]) == ("claude", 2)
    assert row["createdAt"].startswith("2025-03-01T10:00:00")
    assert row["lastAccessed"].startswith("2025-03-01T11:00:02")
    assert await history(client) == [("user", "hello"), ("assistant", "hi")]
    first = (await client.get(f"/api/chat/session/{ID}?limit=1")).json()
    assert [each["content"] for each in first["messages"]] == ["hi"]
    before = {"limit": "1", "before": first["before"]}
    page = (await client.get(f"/api/chat/session/{ID}", params=before)).json()
    assert [each["content"] for each in page["messages"]] == ["hello"]
    assert page["before"] is None


async def test_imported_again_it_is_the_same_session_brought_up_to_date(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    await sent(client, export("hello", "hi"))
    (file,) = world.parts.settings.vault.rglob(f"brought/{ID}.jsonl")
    before = file.read_bytes()
    assert (await sent(client, export("hello", "hi")))["imported"][0]["state"] == "unchanged"
    await world.sessions.increment_message_count(SessionId(ID))  # as a message here does
    newer = export("hello", "hi", "more", name="Better plans")
    assert (await sent(client, newer))["imported"][0]["state"] == "updated"
    assert file.read_bytes().startswith(before)
    assert (await sent(client, export("hello", "hi")))["imported"][0]["state"] == "unchanged"
    row = await world.sessions.get_session(SessionId(ID))
    assert (row.title, row.message_count) == ("Better plans", 4)
    assert [text for _, text in await history(client)] == ["hello", "hi", "more"]
    assert await world.sessions.get_session_count() == 1


async def test_a_title_given_here_stays(client: httpx.AsyncClient) -> None:
    await sent(client, export("hello"))
    await client.patch(f"/api/chat/session/{ID}", json={"title": "Mine"})
    await sent(client, export("hello", "hi", name="Theirs"))
    assert (await client.get(f"/api/chat/session/{ID}")).json()["title"] == "Mine"


async def test_nothing_in_the_file_has_a_say_in_trust_folders_or_agents(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    await sent(
        client,
        export(
            "hello",
            trust_level="full",
            trustLevel="full",
            workspace="other",
            working_directory="/etc",
            agent_path="agents/x.md",
            transcript_path="../../x",
            metadata={"permissions": {"trust_mode": True}},
        ),
    )
    row = await world.sessions.get_session(SessionId(ID))
    assert (row.trust_level, row.workspace, row.agent_path) == (
        TrustLevel.SANDBOXED,
        "default",
        None,
    )
    assert row.working_directory == "."
    assert "permissions" not in row.metadata
    outside = [
        path
        for path in world.parts.settings.vault.parent.rglob(f"*{ID}*")
        if not path.is_relative_to(world.parts.settings.vault / ".claude" / "projects")
    ]
    assert outside == []


async def test_the_trust_that_is_said_holds_as_far_as_floors_let_it(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    await world.parts.workspaces.put("strict", folder="Notes", floor=TrustLevel.VAULT)
    said = await sent(client, export("x"), trustLevel="full", workspace="strict")
    assert said["imported"][0]["trustLevel"] == "vault"


async def test_an_id_of_another_session_is_not_taken_over(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    await world.sessions.create_session(
        SessionCreate(id=SessionId(ID), trust_level=TrustLevel.FULL, workspace="default")
    )
    found = await sent(client, export("hello"))
    assert found["imported"] == []
    assert "another session" in found["broken"][0]["reason"]
    row = await world.sessions.get_session(SessionId(ID))
    assert (row.source, row.message_count) == (SessionSource.PARACHUTE, 0)


async def test_moments_in_the_future_or_missing_are_now_at_most(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    far = "2150-01-01T00:00:00Z"
    said = [{"sender": "human", "text": "x", "created_at": far}]
    await sent(client, export(chat_messages=said, created_at=far, updated_at=far))
    row = await world.sessions.get_session(SessionId(ID))
    assert row.last_accessed.year < 2150
    assert await history(client) == [("user", "x")]


async def test_it_is_taken_as_json_too_and_what_is_no_export_is_refused(
    client: httpx.AsyncClient,
) -> None:
    text = export("hello").decode()
    as_text = await client.post(FORM, json={"filename": "c.json", "content": text})
    assert as_text.json()["imported"][0]["state"] == "new"
    coded = base64.b64encode(text.encode()).decode()
    as_bytes = await client.post(FORM, json={"content": coded, "encoding": "base64"})
    assert as_bytes.json()["imported"][0]["state"] == "unchanged"
    refused: list[object] = [
        {"content": "%", "encoding": "base64"},
        {"content": text, "trustLevel": "loose"},
        {"content": text, "path": "/etc"},
        [],
    ]
    for body in refused:
        assert (await client.post(FORM, json=body)).status_code == 422
    unknown = await client.post(FORM, json={"content": text, "workspace": "none"})
    assert unknown.status_code == 404
    nothing = (await client.post(FORM, json={"content": "words"})).json()
    assert nothing["broken"][0]["place"] == "the file"
    assert (await client.post(FORM, files={"other": ("x", b"x")})).status_code == 422


async def run(world: ApiWorld, *arguments: str) -> tuple[int, str]:
    ran = await world.command("import", *arguments)
    return ran.status, ran.out.decode() + ran.err


async def test_the_command_imports_a_file_and_a_folder_and_tells_what_is_broken(
    world: ApiWorld, tmp_path: Path
) -> None:
    folder = tmp_path / "from" / "deep"
    folder.mkdir(parents=True)
    (folder / "conversations.json").write_bytes(export("hello", "hi"))
    (folder / "notes.txt").write_text("not this")
    status, out = await run(world, str(folder / "conversations.json"))
    assert (status, out.splitlines()[0]) == (0, f"{ID}  Plans")
    assert "new · claude · 2 messages · sandboxed" in out
    assert b"2 messages \xc2\xb7 from claude" in (await world.command("sessions", "list")).out
    (folder / "bad.jsonl").write_text("nothing\n")
    status, out = await run(world, str(folder.parent))
    assert status == 1
    assert "unchanged" in out
    assert "not imported: deep/bad.jsonl" in out
