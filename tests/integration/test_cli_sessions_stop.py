"""`trustfloor sessions stop`: a turn is ended by whoever doesn't sit before it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.errors import SessionBusy
from tests.worlds.api import ApiWorld, api_world
from tests.worlds.chatting import chat, the_turn


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    """The API on a port."""
    async with api_world(tmp_path) as made:
        yield made


async def test_a_turn_that_runs_is_stopped_and_those_who_follow_it_hear_why(
    world: ApiWorld,
) -> None:
    async with chat(world, "hello") as cli:
        session = await the_turn(world)
        stopped = await world.command("sessions", "stop", session[:8], "--reason", "too long")
        assert (stopped.status, stopped.out) == (0, b"stopped\n"), stopped.err
        assert await cli.end() == 1
    assert "aborted: too long" in cli.seen


async def test_where_no_turn_runs_that_is_told_and_no_fault(world: ApiWorld) -> None:
    session = await world.session()
    told = await world.command("sessions", "stop", session)
    assert (told.status, told.out) == (0, b"no turn runs in it\n")
    as_json = await world.command("sessions", "stop", session, "--json")
    assert json.loads(as_json.out) == {"aborted": False}


@pytest.mark.parametrize("words", [("nosuch",), ("0d8f6a1e", "--reason", " ")])
async def test_what_can_not_be_stopped_is_told(world: ApiWorld, words: tuple[str, ...]) -> None:
    told = await world.command("sessions", "stop", *words)
    assert told.status in {1, 2}
    assert "Traceback" not in told.err


async def test_who_is_refused_because_a_turn_runs_is_told_how_to_stop_it(world: ApiWorld) -> None:
    world.turns.fails_with = SessionBusy(
        "a turn of this session is running", remedy="wait for its end, or abort it"
    )
    async with chat(world, "hello", "--session", str(await world.session())) as cli:
        assert await cli.end() == 1
    assert "trustfloor sessions stop" in cli.seen
