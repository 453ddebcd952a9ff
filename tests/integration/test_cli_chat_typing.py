"""What is typed and pasted at the prompt of `trustfloor chat`, and what comes to it by a pipe."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from supervisor.events.schema import WarningEvent
from tests.worlds.api import ApiWorld, api_world
from tests.worlds.chatting import chat, the_turn
from tests.worlds.played_turns import done
from tests.worlds.terminal import Terminal, terminal
from tests.worlds.waiting import A_WHILE

PASTE = "\x1b[200~{}\x1b[201~"
"""As terminals send it that were asked to tell what is pasted from what is typed."""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    """The API on a port."""
    async with api_world(tmp_path) as made:
        yield made


async def _answered(world: ApiWorld, shown: Terminal) -> None:
    session = await the_turn(world)
    await world.turns.say(session, done(session))
    await shown.until("done")
    await shown.until("> ")


async def _press(shown: Terminal, key: str, words: str) -> None:
    """Press Ctrl-C or Ctrl-D, and see these words.

    Readline hears no signal in the moment before it waits for keys; then a person presses again.
    """
    for patience in (5.0, 5.0, A_WHILE):
        shown.type(key)
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await shown.until(words)
            return


async def test_a_pasted_text_is_one_message_with_all_its_lines_and_waits_for_enter(
    world: ApiWorld,
) -> None:
    text = "one\n\ntwo\n  three"
    async with terminal(world, "chat", kind="xterm") as shown:
        await shown.until("\x1b[?2004h")
        shown.type(PASTE.format(text))
        await shown.until("three")
        assert world.turns.asked == []
        shown.type("\n")
        await _answered(world, shown)
        shown.type("\x04")
        assert await shown.ended() == 0
    assert [each.message for each in world.turns.asked] == [text]


async def test_an_empty_line_ends_nothing(world: ApiWorld) -> None:
    """Of a text pasted into a terminal that doesn't tell so, the rest would go to the shell."""
    async with terminal(world, "chat") as shown:
        await shown.until("> ")
        shown.type("one\n\n\n")
        await _answered(world, shown)
        shown.type("two\n")
        await _answered(world, shown)
        shown.type("/quit\n")
        assert await shown.ended() == 0
    assert [each.message for each in world.turns.asked] == ["one", "two"]


async def test_ctrl_c_drops_the_line_that_is_typed_and_ends_only_where_there_is_none(
    world: ApiWorld,
) -> None:
    async with terminal(world, "chat") as shown:
        await shown.until("> ")
        shown.type("half a mess")
        await shown.until("half a mess")
        await _press(shown, "\x03", "> ")
        shown.type("whole\n")
        await _answered(world, shown)
        await _press(shown, "\x03", "\r\n")
        assert await shown.ended() == 0
    assert [each.message for each in world.turns.asked] == ["whole"]


async def test_what_is_typed_while_a_turn_runs_stands_in_no_line_of_its_events(
    world: ApiWorld,
) -> None:
    async with terminal(world, "chat", kind="xterm") as shown:
        await shown.until("> ")
        shown.type("one\n")
        session = await the_turn(world)
        await world.turns.say(session, WarningEvent(code="odd", message="before"))
        await shown.until("warning: before")
        shown.type("next")
        await shown.until("next")
        await world.turns.say(session, WarningEvent(code="odd", message="after"))
        await shown.until("\r\x1b[2K")
        await shown.until("warning: after")
        await world.turns.say(session, done(session))
        await shown.until("done")
        await shown.until("> ")
        await shown.until("next")
        shown.type("\n")
        await _answered(world, shown)
        await _press(shown, "\x04", "\r\n")
        assert await shown.ended() == 0
    assert [each.message for each in world.turns.asked] == ["one", "next"]


@pytest.mark.parametrize("key", ["\x03", "\x04"])
async def test_where_it_ends_the_shell_has_a_line_of_its_own(world: ApiWorld, key: str) -> None:
    async with terminal(world, "chat") as shown:
        await shown.until("> ")
        await _press(shown, key, "\r\n")
        assert await shown.ended() == 0


async def test_what_is_typed_and_no_utf_8_is_told_and_the_conversation_goes_on(
    world: ApiWorld,
) -> None:
    async with terminal(world, "chat") as shown:
        await shown.until("> ")
        shown.type(b"caf\xffs\n")
        await shown.until("error: this text is no UTF-8")
        await shown.until("> ")
        shown.type("café\n")
        await _answered(world, shown)
        shown.type("\x04")
        assert await shown.ended() == 0
        assert "Traceback" not in shown.whole
    assert [each.message for each in world.turns.asked] == ["café"]


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
async def test_what_comes_by_a_pipe_and_is_no_utf_8_is_told_and_not_sent(
    world: ApiWorld, locale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    async with chat(world) as cli:
        assert cli.process.stdin is not None
        cli.process.stdin.write(b"caf\xe9\n")
        cli.process.stdin.close()
        assert await cli.end() == 2
    assert "error: this text is no UTF-8" in cli.seen
    assert "Traceback" not in cli.seen
    assert world.turns.asked == []
