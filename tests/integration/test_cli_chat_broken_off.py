"""`trustfloor chat` that is broken off: by Ctrl-C, by its connection, by who reads it."""

import asyncio
import contextlib
import io
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.cli.chat import _Asking, _Conversation
from supervisor.cli.ctrl_c import CtrlC
from supervisor.cli.render import Screen
from supervisor.ids import SessionId, new_session_id
from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.chatting import chat, the_turn
from tests.worlds.line import a_line
from tests.worlds.played_turns import done, text
from tests.worlds.server import environment
from tests.worlds.waiting import A_WHILE
from trustfloor.errors import Unreachable


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    """The API on a port."""
    async with api_world(tmp_path) as made:
        yield made


class TestCtrlC:
    async def test_once_aborts_the_turn(self, world: ApiWorld) -> None:
        async with chat(world, "hello") as cli:
            session = await the_turn(world)
            await world.turns.say(session, text("working"))
            await cli.until("working")
            cli.process.send_signal(signal.SIGINT)
            assert await cli.end() == 130
        assert world.turns.aborted == [(session, "aborted by Ctrl-C")]
        assert "aborted: aborted by Ctrl-C" in cli.seen

    async def test_again_and_again_after_the_turn_was_aborted_changes_nothing(
        self, world: ApiWorld
    ) -> None:
        async with chat(world, "hello") as cli:
            session = await the_turn(world)
            await world.turns.say(session, text("working"))
            await cli.until("working")
            cli.process.send_signal(signal.SIGINT)
            await cli.until("aborted: ")
            ending = asyncio.ensure_future(cli.end())
            while not ending.done():
                # Not `send_signal`: it reaps a process that has ended, and its status with it.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(cli.process.pid, signal.SIGINT)
                await asyncio.wait({ending}, timeout=0.001)
            assert ending.result() == 130
        assert "Traceback" not in cli.seen
        assert "KeyboardInterrupt" not in cli.seen

    async def test_twice_leaves_and_names_the_session(self, world: ApiWorld) -> None:
        async def deaf(session_id: SessionId, reason: str) -> bool:
            heard.set()
            return True

        heard = asyncio.Event()
        world.turns.abort = deaf  # type: ignore[method-assign]
        async with chat(world, "hello") as cli:
            session = await the_turn(world)
            await world.turns.say(session, text("working"))
            await cli.until("working")
            cli.process.send_signal(signal.SIGINT)
            await cli.until("Ctrl-C again")
            await heard.wait()
            cli.process.send_signal(signal.SIGINT)
            assert await cli.end() == 130
        assert session in cli.seen.split("left")[-1]


async def test_a_broken_connection_is_taken_up_again_without_loss_or_repetition(
    tmp_path: Path,
) -> None:
    async with a_line() as line, api_world(tmp_path, allowed_hosts=line.host) as world:
        line.to = lambda: world.at.url
        async with chat(world, "hello", url=line.url) as cli:
            session = await the_turn(world)
            for number in range(3):
                await world.turns.say(session, text(f"<{number}>"))
                await cli.until(f"<{number}>")
                line.cut()
                line.mend()
            await world.turns.say(session, text("<3>"))
            await world.turns.say(session, done(session))
            assert await cli.end() == 0
    assert [cli.seen.count(f"<{number}>") for number in range(4)] == [1, 1, 1, 1]
    assert len(world.turns.asked) == 1


async def test_a_connection_that_stays_lost_is_told_once_and_may_come_back(tmp_path: Path) -> None:
    async with a_line() as line, api_world(tmp_path, allowed_hosts=line.host) as world:
        line.to = lambda: world.at.url
        async with chat(world, "hello", url=line.url) as cli:
            session = await the_turn(world)
            await world.turns.say(session, text("working"))
            await cli.until("working")
            line.cut()
            await cli.until("the connection is lost; tried again for half a minute")
            line.mend()
            await world.turns.say(session, text("back"))
            await cli.until("back")
            await world.turns.say(session, done(session))
            assert await cli.end() == 0
    assert cli.seen.count("the connection is lost") == 1


def test_who_gives_up_says_how_to_go_on_later(monkeypatch: pytest.MonkeyPatch) -> None:
    async def gone(*_: object) -> int:
        raise Unreachable("no supervisor answers", where="here")

    monkeypatch.setattr(_Conversation, "_say", gone)
    shown = io.StringIO()
    asking = _Asking(Screen(shown), None, None)
    with CtrlC() as ctrl_c:
        assert _Conversation(asking, {}, None, ctrl_c, None).say("hello") == 1
        assert "go on later" not in shown.getvalue(), "no session has begun"
        assert _Conversation(asking, {}, "0d8f", ctrl_c, None).say("hello") == 1
    assert shown.getvalue().endswith("go on later: trustfloor chat --session 0d8f\n")


async def test_where_nobody_reads_on_it_ends_quietly(world: ApiWorld) -> None:
    world.turns.script = [
        # More than a pipe holds: it can't have said all before nobody reads.
        *(text(f"line {number} {'x' * 200}\n") for number in range(500)),
        done(new_session_id()),
    ]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "supervisor", "chat", "hello"),
        env=environment(
            world.parts.settings.vault.parent,
            {"TRUSTFLOOR_URL": world.at.url, "TRUSTFLOOR_TOKEN": TOKEN},
        ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=(pipe := os.pipe())[1],
        stderr=asyncio.subprocess.PIPE,
    )
    os.close(pipe[1])
    assert await asyncio.to_thread(os.read, pipe[0], 1)
    os.close(pipe[0])  # as `head` does
    async with asyncio.timeout(A_WHILE):
        _, complaint = await process.communicate()
    assert (process.returncode, complaint) == (141, b"")
