"""`trustfloor search` against a running supervisor."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.worlds.api import ApiWorld, api_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        yield world


async def search(world: ApiWorld, *arguments: str) -> tuple[int, str, str]:
    ran = await world.command("search", *arguments)
    return ran[0], ran[1].decode(), ran[2]


async def test_words_are_found_with_their_place(world: ApiWorld) -> None:
    vault = world.parts.settings.vault
    (vault / "fruit.md").write_text("# Fruit\n\nred apples\n")
    (vault / "2026-01-01.md").write_text("apples \x1b[31mtoday\n")
    status, out, _ = await search(world, "--reindex")
    assert (status, out.startswith("indexed: 1 documents, 1 journals")) == (0, True), out
    status, out, _ = await search(world, "red", "apples")
    assert status == 0
    assert out.splitlines() == ["1. Fruit", "   fruit.md:3  Fruit", "   # Fruit  red apples"]
    status, out, _ = await search(world, "today", "--type", "journal")
    assert status == 0
    assert "\x1b" not in out
    status, out, _ = await search(world, "apples", "--limit", "1", "--json")
    assert status == 0
    found = json.loads(out)
    assert len(found["hits"]) == 1
    status, out, _ = await search(world, "apples", "--limit", "1", "--after", found["next"])
    assert out.startswith("2. ")


async def test_what_is_not_found_or_cannot_be_asked_is_told(world: ApiWorld) -> None:
    status, out, _ = await search(world, "nowhere")
    assert (status, out) == (0, "nothing found\n")
    status, out, _ = await search(world, "***")
    assert (status, out) == (0, "there is no word in this to look for\n")
    status, _, err = await search(world, "apples", "--type", "letter")
    assert status == 1
    assert "letter" in err or "type" in err
    status, _, err = await search(world)
    assert status == 2
    assert "WORD: give some words" in err
