"""Requests and questions of a turn in `trustfloor chat`, and who answers them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from supervisor.cli.asking import DENIES_ALL, NOBODY_HERE
from supervisor.events.schema import PermissionResolvedEvent
from tests.worlds.api import ApiWorld, api_world
from tests.worlds.chatting import ask, chat, denied, put_questions, the_turn
from tests.worlds.played_turns import done, failed


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    """The API on a port."""
    async with api_world(tmp_path) as made:
        yield made


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
