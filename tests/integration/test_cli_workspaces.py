"""`trustfloor workspaces` and `trustfloor sessions trust`: floors and levels at a terminal."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.ids import new_session_id
from tests.worlds.api import ApiWorld, api_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        yield world


async def test_a_workspace_is_made_changed_listed_and_removed(world: ApiWorld) -> None:
    made = await world.command(
        "workspaces", "set", "garden", "--folder", "Notes", "--floor", "sandboxed"
    )
    assert made.status == 0, made.err
    assert b"Notes \xc2\xb7 floor sandboxed" in made.out
    await world.command("workspaces", "set", "garden", "--name", "The garden")
    listed = json.loads((await world.command("workspaces", "list", "--json")).out)["workspaces"]
    (garden,) = [each for each in listed if each["slug"] == "garden"]
    assert (garden["name"], garden["floor"]) == ("The garden", "sandboxed")
    nameless = await world.command("workspaces", "set", "garden", "--name", " ")
    assert nameless.status == 1
    assert "it may not be empty" in nameless.err
    assert (await world.command("workspaces", "remove", "garden")).out == b"removed\n"
    gone = await world.command("workspaces", "remove", "garden")
    assert gone.status == 1
    assert "`trustfloor workspaces`" in gone.err
    assert "/api/" not in gone.err


async def test_a_session_s_level_is_shown_and_changed_and_a_floor_is_named(
    world: ApiWorld,
) -> None:
    session = await world.session()
    shown = await world.command("sessions", "trust", session)
    assert b"runs at sandboxed" in shown.out
    changed = await world.command("sessions", "trust", session, "vault")
    assert changed.out.count(b"runs at vault") == 1
    assert changed.out.count(b"demands at least vault") == 1
    refused = await world.command("sessions", "trust", session, "full")
    assert refused.status == 1
    assert "`trustfloor workspaces set default --floor …`" in refused.err
    unknown = await world.command("sessions", "trust", str(new_session_id()))
    assert "`trustfloor sessions list`" in unknown.err
