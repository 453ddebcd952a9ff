"""Captures over HTTP: whole or not at all, under names that lead nowhere else."""

import base64
import os
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from supervisor.captures.store import Upload
from supervisor.errors import InvalidRequest
from tests.worlds.api import ApiWorld, api_world
from tests.worlds.house import a_house

MIB = 1024 * 1024
JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        yield world


@pytest.fixture
async def client(world: ApiWorld) -> AsyncIterator[httpx.AsyncClient]:
    async with world.client() as client:
        yield client


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def outside_captures(world: ApiWorld) -> set[str]:
    found = tree(world.parts.settings.vault.parent)
    return {path for path in found if not path.startswith("vault/captures")}


async def test_a_document_is_stored_listed_read_and_known_to_be_there(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    body = {"filename": "plan.md", "content": "# Plan\n", "title": "My plan", "context": "for May"}
    made = await client.post("/api/captures", json={**body, "timestamp": "2026-05-01T10:00:00Z"})
    assert made.status_code == 201, made.text
    assert made.json()["path"] == "captures/plan.md"
    assert (world.parts.settings.vault / "captures" / "plan.md").read_text() == "# Plan\n"
    (listed,) = (await client.get("/api/captures")).json()["captures"]
    assert listed == made.json()
    assert (listed["title"], listed["context"], listed["size"]) == ("My plan", "for May", 7)
    assert listed["capturedAt"].startswith("2026-05-01T10:00:00")
    read = await client.get("/api/captures/plan.md")
    assert (read.status_code, read.content) == (200, b"# Plan\n")
    assert read.headers["x-content-type-options"] == "nosniff"
    assert (await client.head("/api/captures/plan.md")).status_code == 200
    assert (await client.head("/api/captures/other.md")).status_code == 404
    blank = await client.post("/api/captures", json={**body, "filename": "b.md", "title": " "})
    assert blank.json()["title"] is None, "a form's empty field says nothing"


async def test_the_same_again_is_the_same_and_another_of_the_name_gets_a_number(
    client: httpx.AsyncClient,
) -> None:
    for content, status, name in (("a", 201, "n.md"), ("a", 200, "n.md"), ("b", 201, "n-2.md")):
        said = await client.post("/api/captures", json={"filename": "n.md", "content": content})
        assert (said.status_code, said.json()["filename"]) == (status, name)


async def test_bytes_come_by_a_form_or_in_base64(client: httpx.AsyncClient) -> None:
    content = bytes(range(256)) * 100
    form = await client.post(
        "/api/captures", files={"file": ("a.bin", content)}, data={"title": "bytes"}
    )
    assert form.status_code == 201, form.text
    assert (await client.get("/api/captures/a.bin")).content == content
    encoded = base64.b64encode(content).decode()
    given = {"filename": "b.bin", "content": encoded, "encoding": "base64"}
    assert (await client.post("/api/captures", json=given)).status_code == 201
    assert (await client.get("/api/captures/b.bin")).content == content


ODD = ["../x", "..\\x", "/etc/cron.d/x", "a/../../x", "%2e%2e%2fx", "..%00/x", "a\0b", "a\nb",
       "a\x1bb", "CON", "nul.txt", "a.", "a ", ".mcp.json", ".env", "x" * 255, "x" * 256, "ä" * 130,
       "👩‍👩‍👧" * 60, "x" * 250]  # fmt: skip


@pytest.mark.parametrize("name", ODD, ids=range(len(ODD)))
async def test_an_odd_name_is_data_and_its_document_is_found_again_by_it(
    client: httpx.AsyncClient, world: ApiWorld, name: str
) -> None:
    before = outside_captures(world)
    made = await client.post("/api/captures", json={"filename": name, "content": "x"})
    assert made.status_code == 201, made.text
    assert made.json()["originalName"] == name
    stored = made.json()["filename"]
    assert (await client.get(f"/api/captures/{quote(stored)}")).content == b"x"
    assert outside_captures(world) == before
    folder = world.parts.settings.vault / "captures"
    assert {path.name for path in folder.iterdir()} == {".about", stored}


DENIED = (".env", "notes/.ENV.production", "..\\.env", "/root/.ssh/id_ed25519", ".\u200benv")


async def test_what_agents_may_not_see_is_not_brought_to_them_under_another_name() -> None:
    async with a_house() as house:
        captures = house.parts.captures
        for name in DENIED:
            with pytest.raises(InvalidRequest, match="on the deny list"):
                captures.put(Upload(name, b"CANARY"))
        assert not (house.vault / "captures").exists()
        for seen in ("environment.md", ".env.example", "plan.env.md"):
            captures.put(Upload(seen, b"for agents"))
        assert len(captures.all()) == 3


@pytest.mark.parametrize("name", ["", " ", ".", "..", "/"])
async def test_what_names_nothing_is_refused_and_leaves_nothing(
    client: httpx.AsyncClient, world: ApiWorld, name: str
) -> None:
    before = tree(world.parts.settings.vault)
    said = await client.post("/api/captures", json={"filename": name, "content": "x"})
    assert said.status_code == 422
    assert said.headers["content-type"] == "application/problem+json"
    assert tree(world.parts.settings.vault) == before


@pytest.mark.parametrize(
    "name", ["отчёт.txt", "план-🧭.txt", 'a"b;c.txt', "a\\b.txt", "x\r\nSet-Cookie: x=1"]
)
async def test_a_download_has_its_whole_name_in_one_harmless_header(
    client: httpx.AsyncClient, name: str
) -> None:
    made = await client.post("/api/captures", json={"filename": name, "content": "bytes"})
    read = await client.get(f"/api/captures/{quote(made.json()['filename'])}")
    assert (read.status_code, read.content) == (200, b"bytes")
    said = read.headers["content-disposition"]
    plain, _, whole = said.partition("; filename*=UTF-8''")
    assert httpx.URL(f"http://x/{whole}").path[1:] == name
    assert plain.isascii()
    assert "set-cookie" not in read.headers


async def test_a_folder_that_is_a_link_is_written_to_by_nobody(
    client: httpx.AsyncClient, world: ApiWorld, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (world.parts.settings.vault / "captures").symlink_to(outside)
    said = await client.post("/api/captures", json={"filename": "x", "content": "x"})
    assert said.status_code == 422
    assert list(outside.iterdir()) == []
    (outside / "secret.txt").write_text("CANARY")
    assert (await client.get("/api/captures/secret.txt")).status_code == 404
    assert (await client.get("/api/captures")).json()["captures"] == []


async def test_one_that_is_deleted_is_gone_with_what_was_known_of_it_and_no_other(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    for content in ("one", "two"):
        given = {"filename": "n.md", "content": content, "title": content}
        await client.post("/api/captures", json=given)
    gone = await client.delete("/api/captures/n.md", headers=JSON)
    assert (gone.status_code, gone.json()["title"]) == (200, "one")
    assert (await client.get("/api/captures/n.md")).status_code == 404
    assert (await client.delete("/api/captures/n.md", headers=JSON)).status_code == 404
    (left,) = (await client.get("/api/captures")).json()["captures"]
    assert left["filename"] == "n-2.md"
    names = {each.name for each in (world.parts.settings.vault / "captures").rglob("*.*")}
    assert names == {".about", "n-2.md", "n-2.md.json"}


async def test_nothing_but_a_capture_is_deleted(client: httpx.AsyncClient, world: ApiWorld) -> None:
    vault = world.parts.settings.vault
    (vault / "captures").mkdir()
    (vault / "plan.md").write_text("mine")
    (vault / "captures" / "x.md").symlink_to(vault / "plan.md")
    (vault / "captures" / "folder").mkdir()
    for name in ("../plan.md", "..%2Fplan.md", "x.md", "folder", ".about", ".", "%2e%2e"):
        said = await client.delete(f"/api/captures/{name}", headers=JSON)
        assert said.status_code in (404, 405), name
    assert (vault / "plan.md").read_text() == "mine"
    assert (vault / "captures" / "x.md").is_symlink()
    assert (vault / "captures" / "folder").is_dir()


async def test_a_link_among_the_captures_is_not_read_and_its_name_is_taken(
    client: httpx.AsyncClient, world: ApiWorld, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("CANARY")
    folder = world.parts.settings.vault / "captures"
    folder.mkdir()
    (folder / "x.txt").symlink_to(secret)
    os.mkfifo(folder / "pipe.txt")
    assert (await client.get("/api/captures/x.txt")).status_code == 404
    assert (await client.get("/api/captures/pipe.txt")).status_code == 404
    made = await client.post("/api/captures", json={"filename": "x.txt", "content": "new"})
    assert made.json()["filename"] == "x-2.txt"
    assert secret.read_text() == "CANARY"


async def test_over_the_limit_it_is_refused_and_nothing_is_left(
    client: httpx.AsyncClient, world: ApiWorld
) -> None:
    just = await client.post("/api/captures", files={"file": ("a", b"x" * (25 * MIB))})
    assert just.status_code == 201
    over = await client.post("/api/captures", files={"file": ("b", b"x" * (25 * MIB + 1))})
    assert over.status_code == 422
    far = await client.post("/api/captures", files={"file": ("c", b"x" * (27 * MIB))})
    assert far.status_code == 413
    names = {path.name for path in (world.parts.settings.vault / "captures").iterdir()}
    assert names == {".about", "a"}


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/form-data; boundary=b", b"--b\r\nno form"),
        ("multipart/form-data; boundary=b", b"--b--\r\n"),
        ("multipart/form-data; nothing=b", b""),
        ("application/json", b'{"filename": "x"}'),
        ("application/json", b'{"filename": "x", "content": "y", "contnet": "z"}'),
        ("application/json", b'{"filename": "x", "content": "!", "encoding": "base64"}'),
    ],
)
async def test_a_body_that_is_none_is_refused(
    client: httpx.AsyncClient, content_type: str, body: bytes
) -> None:
    said = await client.post("/api/captures", content=body, headers={"Content-Type": content_type})
    assert said.status_code == 422, said.text


@pytest.mark.parametrize("body", [b"{", b'{"filename": "\\ud800", "content": "y"}'])
async def test_a_body_that_is_no_json_is_refused_as_everywhere(
    client: httpx.AsyncClient, body: bytes
) -> None:
    kind = {"Content-Type": "application/json"}
    said = await client.post("/api/captures", content=body, headers=kind)
    assert (said.status_code, said.json()["code"]) == (400, "malformed_json")


async def test_a_form_is_welcome_nowhere_else(client: httpx.AsyncClient) -> None:
    said = await client.post("/api/chat", files={"file": ("a", b"x")})
    assert said.status_code == 415


@pytest.mark.parametrize("when", [0, 0.5, "0", "1.5e9"])
async def test_a_number_is_no_time_at_which_a_document_was_made(
    client: httpx.AsyncClient, when: float | str
) -> None:
    body = {"filename": "plan.md", "content": "x", "timestamp": when}
    answer = await client.post("/api/captures", json=body)
    assert answer.status_code == 422
    assert answer.json()["where"] == "timestamp"


@pytest.mark.parametrize("anything", [1, "true", "yes"])
async def test_what_only_looks_like_true_is_refused(
    client: httpx.AsyncClient, anything: object
) -> None:
    body = {"tool": "Read", "input": {}, "permissions": {"confined": anything}}
    assert (await client.post("/api/policy/explain", json=body)).status_code == 422
    body = {"tool": "Read", "input": {}, "permissions": {"confined": True}}
    assert (await client.post("/api/policy/explain", json=body)).status_code == 200
