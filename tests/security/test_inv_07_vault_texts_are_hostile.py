"""A text of the vault that is made to break its reader costs itself at most, never the others."""

import resource
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import yaml

from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.search import search_world
from tests.worlds.waiting import A_WHILE

ODD = (
    "title: !!bool foo",
    'title: !!int ""',
    'title: !!float ""',
    "title: !!timestamp foo",
    'title: "\\ud800"',
    'tags: ["\\ud800"]',
    "tags: &a [*a]",
    "? [a]\n: b",
    "x: " + ":".join(["59"] * 900),
)
"""What a YAML reader fails at with other than its own errors, or builds without end."""


def bomb() -> str:
    """A list that written out has 10^9 entries."""
    levels = "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9))
    return f"a0: &a0 [{','.join('x' * 10)}]\n{levels}tags: [*a8]\n"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[tuple[httpx.AsyncClient, ApiWorld]]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        api_world(tmp_path) as world,
        httpx.AsyncClient(base_url=world.at.url, headers=headers, timeout=A_WHILE) as client,
    ):
        yield client, world


@pytest.mark.parametrize("front", [*ODD, bomb()], ids=[*map(repr, ODD), "a bomb of aliases"])
async def test_an_odd_frontmatter_keeps_no_text_out_of_the_index(
    tmp_path: Path, front: str
) -> None:
    async with search_world(tmp_path) as world:
        (world.vault / "a-odd.md").write_text(f"---\n{front}\n---\nkingfisher\n")
        (world.vault / "b-good.md").write_text("---\ntitle: Birds\ntags: [wing]\n---\nkingfisher\n")
        report = await world.index.ended(world.index.begin())
        assert report.error is None
        answer = await world.finding.find("kingfisher")
        assert {hit.found.content_id for hit in answer.hits} == {"a-odd.md", "b-good.md"}
        tagged = await world.finding.find("kingfisher", tags=("wing",))
        assert [hit.found.title for hit in tagged.hits] == ["Birds"]


def test_the_bomb_would_go_off_if_it_was_written_out() -> None:
    code = "import sys, yaml; str(yaml.safe_load(sys.stdin.read())['tags'])"
    limit = 512 << 20
    ended = subprocess.run(
        [sys.executable, "-c", code],
        input=bomb().encode(),
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert b"MemoryError" in ended.stderr


@pytest.mark.parametrize("value", ["!!bool foo", '!!int ""', "!!timestamp foo"])
def test_a_tag_makes_a_yaml_reader_fail_with_an_error_that_is_not_its_own(value: str) -> None:
    with pytest.raises((LookupError, AttributeError)):
        yaml.safe_load(value)


@pytest.mark.parametrize(
    "front",
    [
        "name: !!bool foo",
        'name: "\\ud800"',
        "name: x\nconstraints: {timeout: !!timestamp foo}",
        'name: x\nmcpServers: {a: {command: x, "z\\ud800": y}}',
        'name: x\nmcpServers: {a: {command: x, "comman\\ud800": y}}',
        'name: x\nmcpServers: {a: {command: x, z: !!int ""}}',
    ],
)
async def test_an_odd_agent_file_is_told_as_broken_or_left_be(
    client: tuple[httpx.AsyncClient, ApiWorld], front: str
) -> None:
    http, world = client
    folder = world.parts.settings.vault / "agents"
    folder.mkdir(exist_ok=True)
    (folder / "good.md").write_text("---\nname: good\n---\nhello\n")
    (folder / "odd.md").write_text(f"---\n{front}\n---\nhello\n")
    said = await http.get("/api/agents")
    assert said.status_code == 200, said.text
    assert "agents/good.md" in {each["path"] for each in said.json()["agents"]}


@pytest.mark.parametrize(
    "entry",
    [
        r'{"command":"x","z\ud800":1}',
        r'{"command":"x","z":"\ud800"}',
        r'{"command":"x","comman\ud800":1}',
        '{"command":"x","z":1e999}',
        '{"command":"x","z":' + "[" * 200 + "]" * 200 + "}",
    ],
)
async def test_an_odd_entry_of_a_server_is_refused_and_costs_no_other(
    client: tuple[httpx.AsyncClient, ApiWorld], entry: str
) -> None:
    http, world = client
    file = world.parts.settings.vault / ".mcp.json"
    assert (await http.post("/api/mcp/good", json={"command": "y"})).status_code == 201
    before = file.read_bytes()
    kind = {"Content-Type": "application/json"}
    made = await http.post("/api/mcp/odd", content=entry, headers=kind)
    assert made.status_code == 422, made.text
    assert file.read_bytes() == before
    if "[[" not in entry:  # nested too deeply, it makes the file unreadable as a whole
        file.write_text(f'{{"odd": {entry}, "good": {{"command": "y"}}}}')
        listed = await http.get("/api/mcp")
        assert listed.status_code == 200, listed.text
        assert [each["name"] for each in listed.json()["servers"]] == ["good"]
        assert (await http.get("/api/mcp/odd")).status_code == 422
