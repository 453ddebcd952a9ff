"""Search over HTTP: any text is a question, filters, pages, and the index's state."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.worlds.api import ApiWorld, api_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as made:
        yield made


@pytest.fixture
async def client(world: ApiWorld) -> AsyncIterator[httpx.AsyncClient]:
    async with world.client() as client:
        yield client


async def indexed(world: ApiWorld, client: httpx.AsyncClient, **texts: str) -> None:
    for name, text in texts.items():
        (world.parts.settings.vault / f"{name}.md").write_text(text)
    answer = await client.post("/api/search/index", json={})
    assert answer.status_code == 202
    await world.parts.index.ended(answer.json()["number"])


async def test_a_hit_tells_its_place_its_rank_and_what_was_found(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    await indexed(world, client, fruit="# Fruit\n\n## Pears\n\nThey are <b>green</b>.\n")
    (hit,) = (await client.get("/api/search", params={"q": "green"})).json()["hits"]
    assert (hit["rank"], hit["contentType"], hit["path"]) == (1, "document", "fruit.md")
    assert (hit["title"], hit["heading"], hit["line"]) == ("Fruit", "Fruit > Pears", 5)
    assert [hit["snippet"][start:end] for start, end in hit["marks"]] == ["green"]
    assert "<b>green</b>" in hit["snippet"]
    assert (hit["sessionId"], hit["message"]) == (None, None)


@pytest.mark.parametrize(
    "text",
    ['"', "NEAR(a, b)", "*", "-", "a*b", "a:b", "é ü 漢字", "\0", "'; DROP TABLE chunks; --"],
)
async def test_any_text_is_answered(world: ApiWorld, client: httpx.AsyncClient, text: str) -> None:
    await indexed(world, client, a="some words")
    answer = await client.get("/api/search", params={"q": text})
    assert answer.status_code == 200, answer.text
    assert len((await client.get("/api/search", params={"q": "words"})).json()["hits"]) == 1


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"q": ""},
        {"q": "  "},
        {"q": "x" * 1_001},
        {"q": "a", "type": "letter"},
        {"q": "a", "limit": "0"},
        {"q": "a", "limit": "101"},
        {"q": "a", "after": "1.x"},
        {"q": "a", "tag": " "},
        {"q": "a", "tag": "x" * 1_000},
    ],
)
async def test_what_cannot_be_asked_is_refused_as_a_problem(
    client: httpx.AsyncClient, query: dict[str, str]
) -> None:
    answer = await client.get("/api/search", params=query)
    assert answer.status_code == 422
    assert answer.headers["content-type"].startswith("application/problem+json")


async def test_types_and_tags_narrow_and_pages_follow(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    texts = {f"n{number}": "---\ntags: [odd]\n---\ncommon" for number in (1, 3, 5)}
    texts |= {f"n{number}": "common" for number in (2, 4)}
    (world.parts.settings.vault / "2026-01-01.md").write_text("common")
    await indexed(world, client, **texts)

    async def paths(**query: object) -> list[str]:
        found = await client.get("/api/search", params={"q": "common", **query})  # type: ignore[dict-item]
        return [hit["path"] for hit in found.json()["hits"]]

    assert sorted(await paths(tag="odd")) == ["n1.md", "n3.md", "n5.md"]
    assert await paths(type="journal") == ["2026-01-01.md"]
    assert len(await paths(type=["journal", "document"])) == 6
    first = (await client.get("/api/search", params={"q": "common", "limit": 4})).json()
    rest = await client.get(
        "/api/search", params={"q": "common", "limit": 4, "after": first["next"]}
    )
    assert rest.json()["next"] is None
    assert [hit["rank"] for hit in first["hits"] + rest.json()["hits"]] == [1, 2, 3, 4, 5, 6]


async def test_the_index_tells_what_it_holds_and_follows_captures(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    await indexed(world, client, a="alpha")
    state = (await client.get("/api/search/index")).json()
    assert state["contents"] == {"document": 1}
    assert state["lastPass"]["error"] is None
    before = state["lastPass"]["number"]
    await client.post("/api/captures", json={"filename": "c.md", "content": "captured beta"})
    await world.parts.index.ended(before + 1)
    found = (await client.get("/api/search", params={"q": "beta"})).json()["hits"]
    assert [hit["path"] for hit in found] == ["captures/c.md"]


async def test_the_api_answers_while_a_large_text_is_indexed(
    world: ApiWorld, client: httpx.AsyncClient
) -> None:
    await indexed(world, client, a="alpha")
    large = "".join(f"# H{number}\n\nwords of {number}\n\n" for number in range(60_000))
    (world.parts.settings.vault / "large.md").write_text(large)
    begun = (await client.post("/api/search/index", json={})).json()["number"]
    ended = asyncio.create_task(world.parts.index.ended(begun))
    answered = 0
    while not ended.done():
        assert (await client.get("/api/health")).status_code == 200
        found = await client.get("/api/search", params={"q": "alpha"})
        assert [hit["path"] for hit in found.json()["hits"]] == ["a.md"]
        answered += 1
    assert ended.result().error is None
    assert answered > 3
