"""The gate of one turn: each call gets a verdict, people are asked, refusals are told."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from supervisor.approvals.questions import Questions
from supervisor.events.schema import (
    PermissionDeniedEvent,
    PermissionRequestEvent,
    PermissionResolvedEvent,
    UserQuestionEvent,
)
from supervisor.gate.decided import Decided
from supervisor.policy.call import Allow, Deny
from supervisor.trust.levels import TrustLevel
from tests.worlds.gate import World
from tests.worlds.policy_world import SetClock
from tests.worlds.waiting import until


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


async def test_an_allowed_call_runs_as_it_came(world: World) -> None:
    verdict = await world.gate.check("Read", {"file_path": "notes/a.md"}, "toolu_1", None)
    assert isinstance(verdict, Allow)
    assert verdict.input is None
    assert world.sink.events == []
    assert world.gate.calls == 1


async def test_a_refused_call_is_told_as_an_event_counted_and_audited(world: World) -> None:
    verdict = await world.gate.check("Read", {"file_path": ".env"}, "toolu_1", "helper")
    assert isinstance(verdict, Deny)
    (event,) = world.sink.of(PermissionDeniedEvent)
    assert (event.tool_use_id, event.tool_name, event.rule) == ("toolu_1", "Read", "env-files")
    assert world.gate.denials == (event,)
    (decided,) = world.audited
    assert decided.call.agent == "helper"
    assert decided.verdict == verdict
    assert len(decided.policy_hash) == 64


@pytest.mark.parametrize("tool", ["mcp__files__get", "Unheard"])
@pytest.mark.parametrize("text", [".env\0", ".env\0.txt", "notes/a.md\0.env", " .env", ".env\n"])
async def test_a_denied_name_is_seen_as_a_program_that_cuts_texts_would_read_it(
    tmp_path: Path, tool: str, text: str
) -> None:
    gate = World(tmp_path, TrustLevel.FULL).gate
    for field in ("path", "what"):
        verdict = await gate.check(tool, {field: text}, "toolu_1", None)
        assert (type(verdict), verdict.rule) == (Deny, "env-files"), field
        plain = await gate.check(tool, {field: text.replace(".env", "notes/b.md")}, "toolu_2", None)
        assert isinstance(plain, Allow)  # the control


async def test_a_granted_call_runs_with_exactly_the_input_that_was_shown(world: World) -> None:
    given: dict[str, Any] = {"command": "git push x", "nested": {"a": [1]}}
    task = asyncio.create_task(world.gate.check("Bash", given, "toolu_1", None))
    request = await world.asked()
    given["nested"]["a"].append("changed while the person looked")
    given["command"] = "rm x"
    await world.approvals.answer(request.id, "granted", content_hash=request.content_hash)
    verdict = await task
    assert isinstance(verdict, Allow)
    assert verdict.input == request.input == {"command": "git push x", "nested": {"a": [1]}}


async def test_a_person_who_says_no_is_quoted_to_the_agent(world: World) -> None:
    task = world.bash()
    request = await world.asked()
    await world.approvals.answer(request.id, "denied", message="use notes/ instead")
    verdict = await task
    assert isinstance(verdict, Deny)
    assert verdict.reason == "permission was refused: use notes/ instead"
    assert world.sink.of(PermissionDeniedEvent)[0].request_id == request.id


async def test_nobody_there_is_a_denial(tmp_path: Path) -> None:
    world = World(tmp_path, timeout_s=0.02)
    verdict = await world.bash()
    assert isinstance(verdict, Deny)
    assert "nobody answered" in verdict.reason
    assert world.sink.of(PermissionResolvedEvent)[0].decision == "timed_out"


async def test_over_capacity_is_a_denial_named_as_such(tmp_path: Path) -> None:
    world = World(tmp_path, capacity=1)
    first = world.bash()
    request = await world.asked()
    second = await world.gate.check("Bash", {"command": "git push y"}, "toolu_2", None)
    assert isinstance(second, Deny)
    assert second.rule == "server_overloaded"
    await world.approvals.answer(request.id, "granted")
    assert isinstance(await first, Allow)


async def test_a_name_that_became_denied_while_a_person_looked_stays_denied(world: World) -> None:
    task = world.bash("cat notes/a.md; git push")
    request = await world.asked()
    (world.vault / "notes/a.md").unlink()
    (world.vault / "notes/a.md").symlink_to("../.env")
    await world.approvals.answer(request.id, "granted")
    verdict = await task
    assert isinstance(verdict, Deny)
    assert verdict.rule == "env-files"


async def test_a_grant_covers_one_call_and_no_other(world: World) -> None:
    task = world.bash()
    request = await world.asked()
    await world.approvals.answer(request.id, "granted")
    await task
    again = world.bash()
    await until(lambda: len(world.sink.of(PermissionRequestEvent)) >= 2)
    again.cancel()
    with pytest.raises(asyncio.CancelledError):
        await again


async def test_cancelling_passes_through_and_voids_the_request(world: World) -> None:
    task = world.bash()
    await world.asked()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert world.approvals.pending() == ()
    assert world.sink.of(PermissionResolvedEvent)[0].decision == "void"


async def test_answers_to_questions_become_part_of_the_input(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.questions = Questions(lambda _turn: world.sink, SetClock())
    gate = world.make_gate()
    question = {
        "question": "Which colour?",
        "header": "Colour",
        "options": [{"label": "Red"}, {"label": "Blue"}],
        "multiSelect": False,
    }
    given = {"questions": [question]}
    task = asyncio.create_task(gate.check("AskUserQuestion", given, "toolu_1", None))
    asked = await world.asked(UserQuestionEvent)
    await world.questions.answer(asked.request_id, {"Which colour?": "Blue"})
    verdict = await task
    assert isinstance(verdict, Allow)
    assert verdict.input == {"questions": [question], "answers": {"Which colour?": "Blue"}}


async def test_an_unanswered_question_is_told_as_unanswered(world: World) -> None:
    given = {"questions": [{"question": "Which?", "options": [{"label": "A"}]}]}
    verdict = await world.gate.check("AskUserQuestion", given, "toolu_1", None)
    assert isinstance(verdict, Deny)
    assert "did not answer within 0.05 s" in verdict.reason


@pytest.mark.parametrize(
    "input",
    [
        {"file_path": "\ud800"},
        {"file_path": float("nan")},
        {"file_path": object()},
        {"file_path": b"x"},
        None,
        [],
        "x",
    ],
    ids=["surrogate", "nan", "object", "bytes", "none", "list", "text"],
)
async def test_an_input_that_is_not_a_tools_input_is_denied(world: World, input: Any) -> None:
    assert isinstance(await world.gate.check("Read", input, "toolu_1", None), Deny)


async def test_an_input_nested_without_end_is_denied(world: World) -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    assert isinstance(await world.gate.check("Read", deep, "toolu_1", None), Deny)


async def test_a_failure_of_ours_is_a_denial_with_an_incident_id(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_decided: Decided) -> None:
        raise OSError("the disk with the audit log is full")

    gate = world.make_gate(audit=broken)
    verdict = await gate.check("Read", {"file_path": "notes/a.md"}, "toolu_1", None)
    assert isinstance(verdict, Deny)
    assert "incident" in verdict.reason
    assert "disk" not in verdict.reason
    assert "disk" in caplog.text


async def test_a_refusal_stands_though_its_event_cannot_be_stored(world: World) -> None:
    class Broken:
        async def emit(self, _event: object) -> None:
            raise OSError("no space")

    gate = world.make_gate(sink=Broken())
    assert isinstance(await gate.check("Read", {"file_path": ".env"}, "toolu_1", None), Deny)


async def test_many_calls_at_once_each_get_their_own_answer(world: World) -> None:
    tasks = {
        f"toolu_{i}": asyncio.create_task(
            world.gate.check("Bash", {"command": f"git push {i}"}, f"toolu_{i}", None)
        )
        for i in range(20)
    }
    await until(lambda: len(world.approvals.pending()) >= 20)
    for request in reversed(world.approvals.pending()):
        number = int(request.tool_use_id.removeprefix("toolu_"))
        await world.approvals.answer(request.id, "granted" if number % 2 else "denied")
    for tool_use_id, task in tasks.items():
        number = int(tool_use_id.removeprefix("toolu_"))
        verdict = await task
        assert isinstance(verdict, Allow if number % 2 else Deny)
        if isinstance(verdict, Allow):
            assert verdict.input == {"command": f"git push {number}"}


async def test_denials_and_answers_are_in_the_log_without_what_was_in_the_call(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    task = world.bash("git push canary-of-the-input")
    request = await world.asked()
    await world.approvals.answer(request.id, "denied")
    await task
    told = {record.message: record.fields for record in caplog.records}  # type: ignore[attr-defined]
    assert told["permission asked for"]["outcome"] == "denied"
    assert told["call denied"]["tool"] == "Bash"
    assert "canary-of-the-input" not in str(told)
