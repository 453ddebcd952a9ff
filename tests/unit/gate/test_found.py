"""What a person is told that a call would do: the effects that the policy found, made visible."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.gate.found import LONGEST_TOLD, MOST_TOLD
from tests.worlds.grants import GrantsWorld, grants_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[GrantsWorld]:
    async with grants_world(tmp_path) as world:
        yield world


async def told(world: GrantsWorld, tool: str, **input: str) -> list[tuple[str, str | None]]:
    request = await world.asks(world.gate(), tool, **input)
    return [(each.act, each.target) for each in request.effects]


async def test_a_command_is_told_as_what_it_runs_reads_and_writes_in_its_order(
    world: GrantsWorld,
) -> None:
    found = await told(world, "Bash", command="cat notes/a.md | sort > notes/b.md")
    assert found == [
        ("executes", "cat notes/a.md"),
        ("reads", "notes/a.md"),
        ("executes", "sort"),
        ("writes", "notes/b.md"),
    ]


async def test_what_can_t_be_told_is_said_to_be_unknown_and_why(world: GrantsWorld) -> None:
    request = await world.asks(world.gate(), "Bash", command='x=$(date); "$x" notes')
    unknown = [each for each in request.effects if each.act == "unknown"]
    assert unknown
    assert all(each.reason for each in unknown)


async def test_a_file_tool_is_told_by_what_it_does_to_which_file(world: GrantsWorld) -> None:
    assert await told(world, "Read", file_path="notes/a.md") == [("reads", "notes/a.md")]
    written = await told(world, "Write", file_path="notes/new.md", content="x")
    assert written == [("writes", "notes/new.md")]


async def test_where_a_link_leads_is_told(world: GrantsWorld) -> None:
    request = await world.asks(world.gate(), "Read", file_path="link-in")
    (effect,) = request.effects
    assert any("notes/a.md" in remark for remark in effect.remarks)


async def test_what_deceives_the_eye_is_named_in_effects_too(world: GrantsWorld) -> None:
    request = await world.asks(world.gate(), "Bash", command="cat 'notes/\u202eexe.md'")
    assert request.has_hidden_characters
    texts = [text for each in request.effects for text in (each.target, each.text) if text]
    assert any("⟨U+202E⟩" in text for text in texts)
    assert not any("\u202e" in text for text in texts)


async def test_there_are_not_more_and_no_longer_ones_than_a_person_reads(
    world: GrantsWorld,
) -> None:
    many = "; ".join(f"cat notes/{number}.md" for number in range(60))
    request = await world.asks(world.gate(), "Bash", command=many)
    assert len(request.effects) == MOST_TOLD
    assert request.more_effects > 0
    request = await world.asks(world.gate(), "Bash", command=f"cat notes/{'x' * 5000}.md")
    assert max(len(each.target or "") for each in request.effects) <= LONGEST_TOLD
