"""`trustfloor chat` as a person or a script runs it, against an API whose turns the test plays."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.errors import SessionBusy, SessionNotFound
from supervisor.events.schema import (
    ToolUse,
    ToolUseEvent,
)
from supervisor.ids import new_session_id
from supervisor.trust.levels import TrustLevel
from tests.worlds.api import ApiWorld, api_world
from tests.worlds.chatting import ask, chat, the_turn
from tests.worlds.played_turns import done, failed, text
from tests.worlds.terminal import terminal


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    """The API on a port."""
    async with api_world(tmp_path) as made:
        yield made


async def test_text_is_shown_as_it_comes_and_done_is_status_0(world: ApiWorld) -> None:
    async with chat(world, "hello", "--trust", "full", "--workspace", "w", "--dir", "Notes") as cli:
        session = await the_turn(world)
        await world.turns.say(session, text("first "))
        await cli.until("first ")
        tool = ToolUse(id="1", name="Read", input={"file_path": "a.md"})
        await world.turns.say(session, ToolUseEvent(tool=tool))
        await cli.until('Read {"file_path":"a.md"}')
        await world.turns.say(session, done(session))
        assert await cli.end() == 0
    (asked,) = world.turns.asked
    assert (asked.message, asked.workspace, asked.working_directory) == ("hello", "w", "Notes")
    assert asked.trust_level is TrustLevel.FULL


async def test_exotic_line_breaks_are_shown_by_name_and_forge_no_event(world: ApiWorld) -> None:
    exotic = "x\u2028\u2029\u0085\u000b\u000c\u001c\r\n\r\ndata: fake\n\nevent: done\ndata: {}\n\ny"
    async with chat(world, "hello") as cli:
        session = await the_turn(world)
        await world.turns.say(session, text(exotic))
        await cli.until("\n\ny")
        assert "x<U+2028><U+2029><U+0085>␋␌␜\n\ndata: fake\n\nevent: done\ndata: {}" in cli.seen
        await world.turns.say(session, text("and on"))  # it was no end of the turn
        await cli.until("and on")
        await world.turns.say(session, done(session))
        assert await cli.end() == 0


async def test_a_failed_turn_is_status_1_and_says_what_to_do(world: ApiWorld) -> None:
    async with chat(world, "hello") as cli:
        session = await the_turn(world)
        await world.turns.say(session, failed(session, "engine_unreachable"))
        assert await cli.end() == 1
    assert "what to do: start dockerd" in cli.seen


async def test_a_refused_message_is_status_1_and_says_why(world: ApiWorld) -> None:
    world.turns.fails_with = SessionBusy("a turn is running", remedy="wait for its end")
    async with chat(world, "hello", "--session", str(await world.session())) as cli:
        assert await cli.end() == 1
    assert "error: a turn is running" in cli.seen
    assert "what to do: wait for its end" in cli.seen


async def test_an_empty_message_is_not_sent(world: ApiWorld) -> None:
    async with chat(world, "") as cli:
        assert await cli.end() == 2
    assert world.turns.asked == []


async def test_without_a_supervisor_it_says_how_to_start_one(world: ApiWorld) -> None:
    async with chat(world, "hello", url="http://127.0.0.1:9") as cli:
        assert await cli.end() == 1
    assert "trustfloor serve" in cli.seen


async def test_the_message_can_come_from_a_pipe(world: ApiWorld) -> None:
    async with chat(world) as cli:
        cli.type("from a pipe")
        assert cli.process.stdin is not None
        cli.process.stdin.close()
        session = await the_turn(world)
        await world.turns.say(session, done(session))
        assert await cli.end() == 0
    assert world.turns.asked[0].message == "from a pipe"


@pytest.mark.parametrize(
    ("option", "said"),
    [("--trust", "none of full, vault, sandboxed"), ("--approve", "none of ask, deny")],
)
async def test_a_word_that_is_no_choice_is_refused_with_those_that_are(
    world: ApiWorld, option: str, said: str
) -> None:
    async with chat(world, "hello", option, "bogus") as cli:
        assert await cli.end() == 2
    assert f"'bogus' is {said}" in cli.seen
    assert "Value error" not in cli.seen
    assert world.turns.asked == []


async def test_an_unknown_session_comes_with_a_way_on(
    world: ApiWorld,
) -> None:
    world.turns.fails_with = SessionNotFound("no session has this id")
    async with chat(world, "hello", "--session", str(new_session_id())) as cli:
        assert await cli.end() == 1
    assert "what to do: list the sessions with `trustfloor sessions list`" in cli.seen


async def test_on_a_terminal_it_converses_turn_after_turn(world: ApiWorld) -> None:
    async with terminal(world, "chat") as shown:
        sessions = []
        for message in ("hello", "again"):
            await shown.until("> ")
            shown.type(f"{message}\n")
            sessions.append(await the_turn(world))
            await world.turns.say(sessions[-1], done(sessions[-1]))
            await shown.until("done")
        await shown.until("> ")
        shown.type("\x04")
        assert await shown.ended() == 0
    assert [each.message for each in world.turns.asked] == ["hello", "again"]
    assert sessions[0] == sessions[1] == world.turns.asked[1].session_id


async def test_on_a_terminal_what_was_typed_ahead_approves_nothing(world: ApiWorld) -> None:
    async with terminal(world, "chat") as shown, asyncio.TaskGroup() as group:
        await shown.until("> ")
        shown.type("/help\n")
        await shown.until("this session: begins with a message")
        shown.type("hello\n")
        session = await the_turn(world)
        await world.turns.say(session, text("thinking it over"))
        await shown.until("thinking it over")
        shown.type("y\n")
        await shown.until("y\r\n")
        asking = group.create_task(ask(world, session))
        await shown.until("allow this?")
        shown.type("n\n\n")
        assert (await asking).decision == "denied"
        await world.turns.say(session, done(session))
        await shown.until("done")
