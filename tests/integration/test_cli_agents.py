"""`trustfloor agents` against a running supervisor: what there is, and what is broken."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.worlds.api import ApiWorld, api_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        folder = world.parts.settings.vault / "agents"
        folder.mkdir()
        (folder / "writer.md").write_text(
            "---\nname: Writer\ndescription: Writes\ntrust: vault\ntools: [Read]\n---\nBe brief.\n"
        )
        yield world


async def agents(world: ApiWorld, *arguments: str) -> tuple[int, str, str]:
    ran = await world.command("agents", *arguments)
    return ran.status, ran.out.decode(), ran.err


async def test_the_agents_are_listed_with_their_limits(world: ApiWorld) -> None:
    status, out, _ = await agents(world)
    assert status == 0
    assert "agents/writer.md  Writer  (at least vault; tools: Read)" in out


async def test_a_broken_one_is_told_with_its_place_and_gives_a_status(world: ApiWorld) -> None:
    (world.parts.settings.vault / "agents" / "bad.md").write_text("---\nnmae: x\n---\n")
    status, out, _ = await agents(world, "list")
    assert status == 1
    assert "broken: agents/bad.md:2:1 nmae: expected one of" in out
    assert "did you mean `name`?" in out


async def test_one_is_shown_with_its_prompt(world: ApiWorld) -> None:
    status, out, _ = await agents(world, "show", "writer")
    assert status == 0
    assert "its prompt:\n  Be brief.\n" in out
    assert re.search(r"^trust +at least vault$", out, re.MULTILINE)
    assert re.search(r"^tools +Read$", out, re.MULTILINE)
    assert re.search(r"^commands +what its level may$", out, re.MULTILINE)
    assert not set('[]{}"') & set(out), "words, and no JSON"


async def test_one_is_shown_as_json_for_programs(world: ApiWorld) -> None:
    status, out, _ = await agents(world, "show", "writer", "--json")
    assert status == 0
    assert json.loads(out)["tools"] == ["Read"]


async def test_what_there_is_not_is_refused_with_where_to_look(world: ApiWorld) -> None:
    status, _, err = await agents(world, "show", "nobody")
    assert status == 1
    assert "no agent" in err


async def test_skills_are_listed_as_json_too(world: ApiWorld) -> None:
    skill = world.parts.settings.vault / ".claude" / "skills" / "pdf" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: pdf\ndescription: Fills forms\n---\n")
    status, out, _ = await agents(world, "skills", "--json")
    assert status == 0
    assert [each["name"] for each in json.loads(out)["skills"]] == ["pdf"]
