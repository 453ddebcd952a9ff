"""`trustfloor events` against a running supervisor."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.events.schema import WarningEvent
from supervisor.ids import SessionId
from tests.worlds.api import ApiWorld, api_world
from tests.worlds.played_turns import done


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        yield world


async def test_the_latest_events_are_told_and_those_of_a_type_behind_a_number(
    world: ApiWorld,
) -> None:
    world.turns.script = [
        WarningEvent(code="w", message="\x1b[2Jcareful"),
        done(SessionId("s"), "the end"),
    ]
    async with world.client() as client:
        for _ in range(3):
            assert (await client.post("/api/chat", json={"message": "x"})).status_code == 200
    ran = await world.command("events", "--limit", "3")
    assert ran.status == 0, ran.err
    lines = ran.out.decode().splitlines()
    assert [line.split()[3] for line in lines] == ["done", "warning", "done"]
    assert b"\x1b[2J" not in ran.out
    only = await world.command("events", "--type", "warning", "--after", "0", "--json")
    assert [json.loads(line)["type"] for line in only.out.splitlines()] == ["warning"] * 3
    numbers = [int(line.split()[0]) for line in lines]
    behind = await world.command("events", "--after", str(numbers[0]))
    assert behind.out.decode().splitlines() == lines[1:]
    behind = await world.command("events", "--after", str(numbers[1]), "--json")
    assert [json.loads(line)["number"] for line in behind.out.splitlines()] == numbers[2:]
    anew = await world.command("events", "--after", "9999", "--json", "--limit", "1")
    assert json.loads(anew.out)["number"] == 1
    assert "it is none that was given here" in anew.err
    wrong = await world.command("events", "--type", "nothing")
    assert wrong.status == 1
