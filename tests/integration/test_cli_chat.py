"""`trustfloor chat` as a person or a script runs it, against an API whose turns the test plays."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.approvals.pending import Answer, TurnContext
from supervisor.approvals.questions import Replies
from supervisor.cli.asking import DENIES_ALL, NOBODY_HERE
from supervisor.errors import SessionBusy, SessionNotFound
from supervisor.events.schema import (
    PermissionDeniedEvent,
    PermissionResolvedEvent,
    ToolResultEvent,
    ToolUse,
    ToolUseEvent,
)
from supervisor.ids import SessionId, new_session_id
from supervisor.policy.call import ToolCall
from supervisor.trust.levels import TrustLevel
from tests.worlds.api import TOKEN, ApiWorld, api_world
from tests.worlds.forked import PIPE, STDOUT, Forked, trustfloor
from tests.worlds.played_turns import done, failed, text
from tests.worlds.server import environment
from tests.worlds.terminal import terminal
from tests.worlds.waiting import A_WHILE, until


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    """The API on a port."""
    async with api_world(tmp_path) as made:
        yield made


class Cli:
    """A running `trustfloor chat`; what it prints is read as it comes."""

    def __init__(self, process: Forked) -> None:
        self.process = process
        self.seen = ""

    async def until(self, words: str) -> None:
        """Wait until it has printed these words."""
        assert self.process.stdout is not None
        async with asyncio.timeout(A_WHILE):
            while words not in self.seen:
                piece = await self.process.stdout.read(4096)
                assert piece, self.seen
                self.seen += piece.decode()

    async def end(self) -> int:
        """Wait for its end; the exit status."""
        assert self.process.stdout is not None
        async with asyncio.timeout(A_WHILE):
            self.seen += (await self.process.stdout.read()).decode()
            return await self.process.wait()

    def type(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")


@contextlib.asynccontextmanager
async def chat(world: ApiWorld, *arguments: str, url: str | None = None) -> AsyncIterator[Cli]:
    process = await trustfloor(
        *("chat", *arguments),
        env=environment(
            world.parts.settings.vault.parent,
            {"TRUSTFLOOR_URL": url or world.at.url, "TRUSTFLOOR_TOKEN": TOKEN},
        ),
        stdin=PIPE,
        stderr=STDOUT,
    )
    try:
        yield Cli(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def the_turn(world: ApiWorld) -> SessionId:
    """The session of the turn that the CLI has begun."""
    await until(lambda: world.turns.running)
    (session,) = world.turns.running
    return session


async def ask(world: ApiWorld, session: SessionId) -> Answer:
    """What a gate does with a call that needs a person."""
    call = ToolCall(
        tool="Bash",
        input={"command": "rm notes.md"},
        tool_use_id="toolu_1",
        level=TrustLevel.VAULT,
        as_seen_vault="/vault",
        as_seen_cwd="/vault",
    )
    turn = TurnContext(session, world.turns.running[session])
    async with asyncio.timeout(A_WHILE):
        return await world.parts.approvals.ask(turn, call, "bash", "it deletes", "bash")


async def denied(world: ApiWorld, session: SessionId, reason: str, rule: str = "bash") -> None:
    """What a gate says of a call that was refused, and the agent's tool after it."""
    await world.turns.say(
        session,
        PermissionDeniedEvent(tool_use_id="toolu_1", tool_name="Bash", rule=rule, reason=reason),
    )
    await world.turns.say(
        session,
        ToolResultEvent(tool_use_id="toolu_1", content=f"hook error: {reason}", is_error=True),
    )


async def put_questions(
    world: ApiWorld, session: SessionId, *questions: dict[str, object]
) -> Replies:
    """What a gate does with questions of the agent."""
    turn = TurnContext(session, world.turns.running[session])
    async with asyncio.timeout(A_WHILE):
        return await world.parts.questions.ask(turn, "toolu_1", {"questions": list(questions)})


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


class TestApprovals:
    @pytest.mark.parametrize(
        ("arguments", "why", "status"),
        [((), NOBODY_HERE, 3), (("--approve", "deny"), DENIES_ALL, 0)],
    )
    async def test_without_a_terminal_they_are_denied_and_it_says_so_once(
        self, world: ApiWorld, arguments: tuple[str, ...], why: str, status: int
    ) -> None:
        async with chat(world, "hello", *arguments) as cli:
            session = await the_turn(world)
            answer = await ask(world, session)
            assert (answer.decision, answer.message) == ("denied", why)
            await denied(world, session, f"permission was refused: {why}")
            await world.turns.say(session, done(session))
            assert await cli.end() == status
        turn, _, after = cli.seen.partition("done ·")
        assert "rm notes.md" in turn
        assert turn.count(why) == 1
        assert turn.count("denied") == 1
        assert "a person" not in turn
        assert "elsewhere" not in turn
        assert ("1 request was refused" in after) == (status == 3)
        again = f"trustfloor chat --session {session}"
        assert (f"{again} --approve wait" in after) == (status == 3)
        assert ("they are over, so send the message again" in after) == (status == 3)
        assert "req_" not in after  # no command for what is over

    async def test_a_turn_that_failed_after_a_denial_for_want_of_a_person_is_status_1(
        self, world: ApiWorld
    ) -> None:
        async with chat(world, "hello") as cli:
            session = await the_turn(world)
            await ask(world, session)
            await world.turns.say(session, failed(session, "engine_unreachable"))
            assert await cli.end() == 1

    async def test_what_nobody_answers_in_time_is_status_3_wherever_it_was_asked(
        self, world: ApiWorld
    ) -> None:
        async with chat(world, "hello", "--approve", "wait") as cli:
            session = await the_turn(world)
            late = PermissionResolvedEvent(id="req_1", decision="timed_out")
            await world.turns.say(session, late)
            await world.turns.say(session, done(session))
            assert await cli.end() == 3
        assert "1 request was refused, as nobody answered" in cli.seen

    async def test_left_to_others_they_are_answered_from_elsewhere_and_it_is_told_by_whom(
        self, world: ApiWorld
    ) -> None:
        async with chat(world, "hello", "--approve", "wait") as cli, asyncio.TaskGroup() as group:
            session = await the_turn(world)
            asking = group.create_task(ask(world, session))
            await cli.until("trustfloor approvals")
            assert not asking.done()
            (request,) = world.parts.approvals.pending()
            await world.parts.approvals.answer(request.id, "granted", by="phone")
            assert (await asking).decision == "granted"
            await cli.until("permission: granted elsewhere, by phone")
            colour: dict[str, object] = {"question": "Colour?", "options": COLOURS}
            putting = group.create_task(put_questions(world, session, colour))
            await cli.until("? Colour? (red / blue)")
            (question,) = world.parts.questions.pending()
            await world.parts.questions.answer(question.request_id, {"Colour?": "red"}, by="phone")
            assert (await putting).answers == {"Colour?": "red"}
            await cli.until("question: answered elsewhere, by phone")
            await world.turns.say(session, done(session))
            assert await cli.end() == 0

    async def test_asked_for_by_option_they_are_granted_by_a_line(self, world: ApiWorld) -> None:
        async with chat(world, "hello", "--approve", "ask") as cli, asyncio.TaskGroup() as group:
            session = await the_turn(world)
            asking = group.create_task(ask(world, session))
            await cli.until("allow this? [y/N/s/?]")
            assert not asking.done()
            cli.type("y")
            assert (await asking).decision == "granted"
            await world.turns.say(session, done(session))
            assert await cli.end() == 0
        assert "permission: granted" in cli.seen
        assert "elsewhere" not in cli.seen

    async def test_a_question_mark_is_no_answer(self, world: ApiWorld) -> None:
        async with chat(world, "hello", "--approve", "ask") as cli, asyncio.TaskGroup() as group:
            session = await the_turn(world)
            asking = group.create_task(ask(world, session))
            await cli.until("allow this?")
            cli.type("?")
            await cli.until("exactly as it is shown")
            await cli.until("allow this?")
            assert not asking.done()
            cli.type("y")
            assert (await asking).decision == "granted"
            await world.turns.say(session, done(session))
            assert await cli.end() == 0

    @pytest.mark.parametrize("said", ["n", "", "yep", "YES please", "1 please"])
    async def test_whatever_is_not_yes_denies_with_a_message(
        self, world: ApiWorld, said: str
    ) -> None:
        async with chat(world, "hello", "--approve", "ask") as cli, asyncio.TaskGroup() as group:
            session = await the_turn(world)
            asking = group.create_task(ask(world, session))
            await cli.until("allow this?")
            cli.type(said)
            await cli.until("what shall the agent be told?")
            cli.type("keep the notes")
            answer = await asking
            assert (answer.decision, answer.message) == ("denied", "keep the notes")
            await world.turns.say(session, done(session))
            assert await cli.end() == 0

    async def test_the_end_of_input_denies(self, world: ApiWorld) -> None:
        async with chat(world, "hello", "--approve", "ask") as cli:
            session = await the_turn(world)
            assert cli.process.stdin is not None
            cli.process.stdin.close()
            answer = await ask(world, session)
            assert (answer.decision, answer.message) == (
                "denied",
                "the input ended before somebody answered",
            )
            await world.turns.say(session, done(session))
            assert await cli.end() == 3

    async def test_one_that_somebody_else_answers_is_asked_no_more(self, world: ApiWorld) -> None:
        async with chat(world, "hello", "--approve", "ask") as cli, asyncio.TaskGroup() as group:
            session = await the_turn(world)
            asking = group.create_task(ask(world, session))
            await cli.until("allow this?")
            (request,) = world.parts.approvals.pending()
            await world.parts.approvals.answer(request.id, "denied")
            assert (await asking).decision == "denied"
            await cli.until("\npermission: denied elsewhere, by someone")
            await denied(world, session, "permission was refused")
            await cli.until("\n✗ Bash was denied: permission was refused")
            await world.turns.say(session, done(session))
            assert await cli.end() == 0


COLOURS = [{"label": "red", "description": "like fire"}, {"label": "blue"}]


class TestQuestions:
    async def test_are_answered_by_number_by_label_and_in_own_words(self, world: ApiWorld) -> None:
        async with chat(world, "hello", "--approve", "ask") as cli, asyncio.TaskGroup() as group:
            session = await the_turn(world)
            asking = group.create_task(
                put_questions(
                    world,
                    session,
                    {"question": "Colour?", "options": COLOURS},
                    {"question": "More?", "options": COLOURS, "multiSelect": True},
                    {"question": "Why?", "options": COLOURS},
                    {"question": "Else?", "options": []},
                )
            )
            await cli.until("1. red: like fire")
            await cli.until("3. other")
            cli.type("2")
            await cli.until("numbers with commas")
            cli.type("red, 2")
            await cli.until("? Why?")
            cli.type("other")
            await cli.until("your own words")
            cli.type("because")
            await cli.until("? Else?")
            cli.type("nothing")
            assert (await asking).answers == {
                "Colour?": "blue",
                "More?": "red, blue",
                "Why?": "because",
                "Else?": "nothing",
            }
            await world.turns.say(session, done(session))
            assert await cli.end() == 0
        assert "question: answered" in cli.seen
        assert "permission:" not in cli.seen

    @pytest.mark.parametrize("said", ["9", "0", "-1", "", "green", "1,", "1 2"])
    async def test_what_was_not_offered_is_asked_again_and_never_taken_as_words(
        self, world: ApiWorld, said: str
    ) -> None:
        async with chat(world, "hello", "--approve", "ask") as cli, asyncio.TaskGroup() as group:
            session = await the_turn(world)
            asking = group.create_task(
                put_questions(world, session, {"question": "Colour?", "options": COLOURS})
            )
            await cli.until("a number:")
            cli.type(said)
            await cli.until("that is none of the choices")
            assert not asking.done()
            cli.type("1")
            assert (await asking).answers == {"Colour?": "red"}
            await world.turns.say(session, done(session))
            assert await cli.end() == 0

    @pytest.mark.parametrize(
        ("arguments", "why", "status"),
        [((), NOBODY_HERE, 3), (("--approve", "deny"), DENIES_ALL, 0)],
    )
    async def test_without_a_terminal_are_declined_at_once_and_it_says_how_to_answer(
        self, world: ApiWorld, arguments: tuple[str, ...], why: str, status: int
    ) -> None:
        async with chat(world, "hello", *arguments) as cli:
            session = await the_turn(world)
            replies = await put_questions(
                world, session, {"question": "Colour?", "options": COLOURS}
            )
            assert replies.answers is None
            assert replies.reason == f"not answered: {why}"
            await denied(world, session, replies.reason, "not-answered")
            await world.turns.say(session, done(session))
            assert await cli.end() == status
        assert "? Colour? (red / blue)" in cli.seen
        assert "to answer such a one, use a terminal or --approve ask" in cli.seen
        assert "/api/" not in cli.seen
        assert cli.seen.partition("done ·")[0].count(why) == 1

    async def test_the_end_of_input_declines(self, world: ApiWorld) -> None:
        async with chat(world, "hello", "--approve", "ask") as cli:
            session = await the_turn(world)
            assert cli.process.stdin is not None
            cli.process.stdin.close()
            replies = await put_questions(
                world, session, {"question": "Colour?", "options": COLOURS}
            )
            assert "the input ended" in replies.reason
            await world.turns.say(session, done(session))
            assert await cli.end() == 3

    async def test_one_whose_turn_ends_is_no_longer_open(self, world: ApiWorld) -> None:
        async with chat(world, "hello", "--approve", "ask") as cli, asyncio.TaskGroup() as group:
            session = await the_turn(world)
            asking = group.create_task(
                put_questions(world, session, {"question": "Colour?", "options": COLOURS})
            )
            await cli.until("a number:")
            world.parts.questions.end_turn(world.turns.running[session])
            await asking
            await cli.until("\nquestion: no longer open")
            await world.turns.say(session, done(session))
            assert await cli.end() == 0


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


async def test_a_broken_connection_is_taken_up_again_without_loss_or_repetition(
    tmp_path: Path,
) -> None:
    async with (
        cutting_proxy() as proxy,
        api_world(tmp_path, allowed_hosts=proxy.authority) as world,
        chat(world, "hello", url=f"http://{proxy.authority}") as cli,
    ):
        proxy.upstream = world.at.port
        session = await the_turn(world)
        for number in range(3):
            await world.turns.say(session, text(f"<{number}>"))
            await cli.until(f"<{number}>")
            proxy.cut()
        await world.turns.say(session, text("<3>"))
        await world.turns.say(session, done(session))
        assert await cli.end() == 0
    assert [cli.seen.count(f"<{number}>") for number in range(4)] == [1, 1, 1, 1]
    assert len(world.turns.asked) == 1


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


class CuttingProxy:
    """Passes bytes on, and cuts every connection when told."""

    def __init__(self) -> None:
        self._open: set[asyncio.StreamWriter] = set()
        self.upstream = 0
        self.authority = ""

    def cut(self) -> None:
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self.upstream)
        self._open |= {writer, back}
        with contextlib.suppress(ConnectionError):
            async with asyncio.TaskGroup() as group:
                group.create_task(_pass_on(reader, back))
                group.create_task(_pass_on(there, writer))


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def cutting_proxy() -> AsyncIterator[CuttingProxy]:
    proxy = CuttingProxy()
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    proxy.authority = f"127.0.0.1:{port}"
    try:
        yield proxy
    finally:
        proxy.cut()
        server.close()


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
