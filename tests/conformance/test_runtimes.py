"""What every runtime must do, with the same assertions at every trust level."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path, PurePosixPath

import pytest

from supervisor.errors import SessionBusy
from supervisor.sessions.memory import transcript_for
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import KEY, House, a_house, bash, calls, is_a, prompt, step
from tests.worlds.waiting import until

LEVELS = list(TrustLevel)

pytestmark = [pytest.mark.engine, pytest.mark.parametrize("level", LEVELS)]


@pytest.fixture(name="house")
async def house_fixture() -> AsyncIterator[House]:
    async with a_house() as house:
        yield house


def as_seen(house: House, level: TrustLevel, name: str) -> str:
    """A file of the vault, as an agent at this level names it."""
    return f"/vault/{name}" if level is TrustLevel.SANDBOXED else str(house.vault / name)


async def granting(house: House) -> None:
    """A person who grants every request; cancelled by the test."""
    while True:
        for request in house.parts.approvals.pending():
            await house.parts.approvals.answer(request.id, "granted")
        await asyncio.sleep(0.01)


async def test_a_turn_opens_with_session_and_receipt_and_ends_once(
    house: House, level: TrustLevel
) -> None:
    turn = await house.send(prompt(step("Hello there.")), level)
    assert turn.types[:4] == ["session", "isolation", "user_message", "prompt_metadata"]
    assert turn.events[0]["trustLevel"] == level
    assert turn.events[1]["accepted"] is True
    assert turn.end["type"] == "done"
    assert turn.end["response"] == "Hello there."
    assert "".join(event["delta"] for event in turn.of("text")) == "Hello there."


async def test_events_are_numbered_without_gaps(house: House, level: TrustLevel) -> None:
    turn = await house.send(prompt(step("one")), level)
    second = await house.send(prompt(step("two")), level, session_id=turn.session_id)
    numbers = [event["seq"] for event in turn.events + second.events]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_the_agent_reads_a_note_of_the_vault(house: House, level: TrustLevel) -> None:
    path = as_seen(house, level, "notes/today.md")
    turn = await house.send(prompt(calls(("Read", {"file_path": path})), step("ok")), level)
    assert "oat milk" in turn.results()[0]
    assert turn.end["type"] == "done"


async def test_a_denied_file_is_refused_and_its_content_appears_nowhere(
    house: House, level: TrustLevel
) -> None:
    path = as_seen(house, level, ".env")
    turn = await house.send(prompt(calls(("Read", {"file_path": path})), step("ok")), level)
    assert turn.of("permission_denied")
    assert "CANARY-of-the-vault" not in repr(turn.events)


async def test_the_second_message_takes_up_the_first(house: House, level: TrustLevel) -> None:
    first = await house.send(prompt(step("My name is Ada.")), level)
    second = await house.send(prompt(step("Again.")), level, session_id=first.session_id)
    assert second.events[0]["resumeInfo"]["method"] == "sdk_resume"
    session = await house.parts.sessions.get_session(first.session_id)
    assert session.transcript_path is not None
    pointer = PurePosixPath(session.transcript_path)
    transcript = (house.vault / transcript_for(pointer, level)).read_text()
    assert transcript.index("My name is Ada.") < transcript.index("Again.")
    assert second.end["type"] == "done"


async def test_a_call_that_needs_a_person_waits_and_runs_as_it_was_shown(
    house: House, level: TrustLevel
) -> None:
    if level is TrustLevel.FULL:
        pytest.skip("at full nothing asks")
    target = "/tmp/granted" if level is TrustLevel.SANDBOXED else str(house.vault / "granted")
    ask = (
        calls(("Write", {"file_path": target, "content": "as shown"}))
        if level is TrustLevel.SANDBOXED
        else bash(f"$UNSET printf 'as shown' > {target}")  # what can't be told asks
    )
    turn = await house.send(prompt(ask, step("ok")), level, until=is_a("permission_request"))
    request = turn.end
    assert turn.of("tool_use")[0]["tool"]["input"] == request["input"]
    await house.parts.approvals.answer(
        request["id"], "granted", content_hash=request["contentHash"]
    )
    await turn.go_on()
    assert turn.end["type"] == "done"
    assert not turn.of("tool_result")[0]["isError"]
    if level is TrustLevel.VAULT:
        assert (house.vault / "granted").read_text() == "as shown"


async def test_a_refused_call_does_not_run_and_the_agent_is_told_why(
    house: House, level: TrustLevel, tmp_path: Path
) -> None:
    if level is TrustLevel.FULL:
        pytest.skip("at full nothing asks")
    target = tmp_path / "refused"
    ask = (
        calls(("Write", {"file_path": "/tmp/refused", "content": "x"}))
        if level is TrustLevel.SANDBOXED
        else bash(f"touch {target}")
    )
    turn = await house.send(prompt(ask, step("ok")), level, until=is_a("permission_request"))
    await house.parts.approvals.answer(turn.end["id"], "denied", message="not on my machine")
    await turn.go_on()
    assert "not on my machine" in turn.results()[0]
    assert not target.exists()


async def test_a_question_is_answered_by_the_person_and_nobody_else(
    house: House, level: TrustLevel
) -> None:
    question = {
        "question": "Which colour?",
        "header": "Colour",
        "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}],
        "multiSelect": False,
    }
    ask = calls(("AskUserQuestion", {"questions": [question]}))
    turn = await house.send(prompt(ask, step("ok")), level, until=is_a("user_question"))
    await house.parts.questions.answer(turn.end["requestId"], {"Which colour?": "Blue"})
    await turn.go_on()
    assert '"Which colour?"="Blue"' in turn.results()[0]


async def test_an_abort_mid_text_ends_with_the_partial_text_and_leaves_nothing(
    house: House, level: TrustLevel
) -> None:
    slow = step("word " * 20, chunks=20, chunk_delay_s=2.0)
    turn = await house.send(prompt(slow), level, until=is_a("text"))
    await house.parts.conversations.abort(turn.session_id, "enough")
    await turn.go_on()
    assert turn.end["type"] == "aborted"
    assert turn.end["message"] == "enough"
    assert turn.end["partialResponse"].startswith("word")
    assert list(house.turns.iterdir()) == []


async def test_an_abort_ends_the_children_of_a_tool(house: House, level: TrustLevel) -> None:
    person = asyncio.create_task(granting(house))
    marker = f"tf_child_{os.getpid()}_{level.value}"
    command = f"python3 -c 'import time; time.sleep(600)' {marker}"
    turn = await house.send(prompt(bash(command), step("ok")), level, until=is_a("tool_use"))
    await until(lambda: _processes(marker))
    await house.parts.conversations.abort(turn.session_id, "enough")
    await turn.go_on()
    person.cancel()
    assert turn.end["type"] == "aborted"
    assert _processes(marker) == []


async def test_an_abort_while_a_person_is_asked_voids_the_request(
    house: House, level: TrustLevel
) -> None:
    ask = calls(
        (
            "AskUserQuestion",
            {
                "questions": [
                    {
                        "question": "Q?",
                        "header": "Q",
                        "options": [
                            {"label": "A", "description": "a"},
                            {"label": "B", "description": "b"},
                        ],
                        "multiSelect": False,
                    }
                ]
            },
        )
    )
    turn = await house.send(prompt(ask), level, until=is_a("user_question"))
    await house.parts.conversations.abort(turn.session_id, "enough")
    await turn.go_on()
    assert turn.end["type"] == "aborted"
    assert house.parts.questions.pending() == ()


async def test_the_next_message_is_taken_after_an_error_and_after_an_abort(
    house: House, level: TrustLevel
) -> None:
    failing = step(error={"status": 400, "type": "invalid_request_error", "message": "no"})
    first = await house.send(prompt(failing), level)
    assert first.end["type"] == "error"
    assert first.end["code"] == "model_failed"
    second = await house.send(prompt(step("fine")), level, session_id=first.session_id)
    assert second.end["type"] == "done"


async def test_a_second_message_at_once_is_refused_and_the_first_goes_on(
    house: House, level: TrustLevel
) -> None:
    slow = prompt(step("slow", delay_s=1.0))
    turn = await house.send(slow, level, until=is_a("user_message"))
    with pytest.raises(SessionBusy):
        await house.begin(slow, session_id=turn.session_id)
    await turn.go_on()
    assert turn.end["type"] == "done"


async def test_a_message_sent_on_reading_the_ending_is_taken(
    house: House, level: TrustLevel
) -> None:
    turn = await house.send(prompt(step("one")), level)
    again = await house.send(prompt(step("two")), level, session_id=turn.session_id)
    assert again.end["response"] == "two"


async def test_a_sub_agents_calls_pass_the_gate(house: House, level: TrustLevel) -> None:
    path = as_seen(house, level, ".env")
    inner = prompt(calls(("Read", {"file_path": path})), step("inner done"))
    outer = calls(
        ("Agent", {"description": "d", "prompt": inner, "subagent_type": "general-purpose"})
    )
    turn = await house.send(prompt(outer, step("outer done")), level)
    assert [denied["toolName"] for denied in turn.of("permission_denied")] == ["Read"]
    assert "CANARY-of-the-vault" not in repr(turn.events)
    assert turn.end["type"] == "done"


@pytest.mark.parametrize("size", [140 * 1024, 1024 * 1024])
async def test_a_long_prompt_and_a_long_message_run(
    house: House, level: TrustLevel, size: int
) -> None:
    words = "ä" * (size // 2)
    turn = await house.send(
        prompt(step("fine"), words=words), level, system_prompt="You are brief. " + "é" * size
    )
    assert turn.end["type"] == "done", turn.end


async def test_the_key_is_in_no_environment_event_or_file_of_a_turn(
    house: House, level: TrustLevel
) -> None:
    person = asyncio.create_task(granting(house))
    # A name that is only known as the command runs: the rules can't see it, the cage must hold.
    look = bash("env; f=$(ls /proc/self | awk /envi/); cat /proc/self/$f | tr '\\0' '\\n'")
    turn = await house.send(prompt(look, step("ok")), level)
    person.cancel()
    assert turn.end["type"] == "done"
    assert "ANTHROPIC_API_KEY" in turn.results()[0]
    assert KEY not in repr(turn.events)


async def test_concurrent_turns_do_not_see_each_others_environment(
    house: House, level: TrustLevel
) -> None:
    person = asyncio.create_task(granting(house))
    look = prompt(
        bash("echo session=$CLAUDE_CODE_SESSION_ID socket=$ANTHROPIC_UNIX_SOCKET"), step("ok")
    )
    turns = await asyncio.gather(*(house.send(look, level) for _ in range(3)))
    person.cancel()
    for turn in turns:
        assert f"session={turn.session_id}" in turn.results()[0]


def _processes(marker: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if marker.encode() in command:
                found.append(int(entry.name))
    return found
