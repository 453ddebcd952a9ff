"""Approvals: asked once, answered once, and nobody's answer is a denial."""

import asyncio
from typing import Any

import pytest

from supervisor.approvals.pending import Answer, Approvals, TurnContext, content_hash
from supervisor.errors import AlreadyAnswered, InvalidRequest, NotFound, RequestVoid
from supervisor.events.schema import PermissionRequestEvent, PermissionResolvedEvent
from supervisor.ids import RequestId, SessionId, TurnId
from supervisor.policy.call import ToolCall
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import TURN, Recorder, SetClock
from tests.worlds.waiting import until


class World:
    def __init__(self, **limits: Any) -> None:
        self.sink = Recorder()
        self.clock = SetClock(at=5000.0)
        self.approvals = Approvals(lambda _turn: self.sink, self.clock, **limits)

    def ask(self, command: str = "ls", turn: TurnContext = TURN) -> asyncio.Task[Answer]:
        call = ToolCall("Bash", {"command": command}, command, TrustLevel.VAULT, "/v", "/v", "sub")
        return asyncio.create_task(self.approvals.ask(turn, call, "rule", "reason", "shell"))

    async def requests(self, count: int = 1) -> list[PermissionRequestEvent]:
        await until(lambda: len(self.sink.of(PermissionRequestEvent)) >= count)
        return self.sink.of(PermissionRequestEvent)


async def test_a_request_says_all_that_a_person_needs_and_when_it_ends() -> None:
    world = World(timeout_s=120)
    task = world.ask("rm \u202ex")
    (request,) = await world.requests()
    assert (request.tool_name, request.agent_name) == ("Bash", "sub")
    assert (request.asked_at, request.expires_at) == (5000.0, 5120.0)
    assert "⟨U+202E⟩" in request.display
    assert request.has_hidden_characters
    assert request.content_hash == content_hash("Bash", {"command": "rm \u202ex"})
    assert world.approvals.pending() == (request,)
    await world.approvals.answer(request.id, "granted", message="go on")
    assert await task == Answer("granted", RequestId(request.id), "go on")
    (resolved,) = world.sink.of(PermissionResolvedEvent)
    assert (resolved.id, resolved.decision, resolved.message) == (request.id, "granted", "go on")
    assert world.approvals.pending() == ()


async def test_a_hundred_requests_at_once_are_neither_lost_nor_mixed_up() -> None:
    world = World(capacity=100)
    turns = [TurnContext(SessionId(f"s{i}"), TurnId(f"turn_{i}")) for i in range(100)]
    tasks = [world.ask(f"command {i}", turn) for i, turn in enumerate(turns)]
    requests = await world.requests(100)
    assert len({request.id for request in requests}) == 100
    by_command = {request.input["command"]: request for request in requests}

    async def reply(number: int) -> None:
        request = by_command[f"command {number}"]
        decision = "granted" if number % 3 else "denied"
        await world.approvals.answer(request.id, decision, message=str(number))  # type: ignore[arg-type]

    await asyncio.gather(*(reply(number) for number in reversed(range(100))))
    for number, answer in enumerate(await asyncio.gather(*tasks)):
        assert answer.message == str(number)
        assert answer.decision == ("granted" if number % 3 else "denied")
    assert len(world.sink.of(PermissionResolvedEvent)) == 100
    assert world.approvals.pending() == ()


async def test_the_first_of_many_answers_wins_and_all_others_are_told() -> None:
    world = World()
    task = world.ask()
    (request,) = await world.requests()
    results = await asyncio.gather(
        *(
            world.approvals.answer(request.id, "denied" if i else "granted", message=str(i))
            for i in range(10)
        ),
        return_exceptions=True,
    )
    assert results[0] is None
    assert all(isinstance(result, AlreadyAnswered) for result in results[1:])
    assert (await task).message == "0"
    with pytest.raises(AlreadyAnswered):
        await world.approvals.answer(request.id, "granted")


async def test_a_late_answer_is_void() -> None:
    world = World(timeout_s=0.01)
    assert (await world.ask()).decision == "timed_out"
    (request,) = await world.requests()
    with pytest.raises(RequestVoid):
        await world.approvals.answer(request.id, "granted")
    assert [each.decision for each in world.sink.of(PermissionResolvedEvent)] == ["timed_out"]


async def test_a_cancelled_call_voids_its_request_and_no_other() -> None:
    world = World()
    first, second = world.ask("one"), world.ask("two")
    one, two = await world.requests(2)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    with pytest.raises(RequestVoid):
        await world.approvals.answer(one.id, "granted")
    await world.approvals.answer(two.id, "granted")
    assert (await second).decision == "granted"


async def test_the_end_of_a_turn_voids_what_it_asked() -> None:
    world = World()
    task = world.ask()
    (request,) = await world.requests()
    world.approvals.end_turn(TurnId("another"))
    assert world.approvals.pending() == (request,)
    world.approvals.end_turn(TURN.turn_id)
    assert (await task).decision == "void"
    with pytest.raises(RequestVoid):
        await world.approvals.answer(request.id, "granted")


async def test_an_id_of_an_earlier_run_is_void_and_an_invented_one_not_found() -> None:
    async def was_asked(request_id: str) -> bool:
        return request_id == "req_before_the_restart"

    world = World(was_asked=was_asked)
    with pytest.raises(RequestVoid):
        await world.approvals.answer("req_before_the_restart", "granted")
    with pytest.raises(NotFound):
        await world.approvals.answer("req_invented", "granted")


async def test_an_answer_to_another_call_than_the_one_shown_is_refused_and_leaves_it_open() -> None:
    world = World()
    task = world.ask("ls")
    (request,) = await world.requests()
    with pytest.raises(InvalidRequest):
        await world.approvals.answer(
            request.id, "granted", content_hash=content_hash("Bash", {"command": "rm x"})
        )
    with pytest.raises(InvalidRequest):
        await world.approvals.answer(request.id, "denied", message="x" * 3000)
    await world.approvals.answer(request.id, "granted", content_hash=request.content_hash)
    assert (await task).decision == "granted"


async def test_one_over_capacity_is_turned_away_without_an_event() -> None:
    world = World(capacity=2)
    tasks = [world.ask("one"), world.ask("two")]
    await world.requests(2)
    assert await world.ask("three") == Answer("server_overloaded")
    assert len(world.sink.events) == 2
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    again = world.ask("four")
    await world.requests(3)
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)


async def test_a_request_that_cannot_be_told_is_not_left_open() -> None:
    class Broken:
        async def emit(self, _event: object) -> None:
            raise OSError("no space")

    approvals = Approvals(lambda _turn: Broken(), SetClock())
    call = ToolCall("Bash", {"command": "ls"}, "t", TrustLevel.VAULT, "/v", "/v")
    with pytest.raises(OSError, match="no space"):
        await approvals.ask(TURN, call, "rule", "reason", "shell")
    assert approvals.pending() == ()


async def test_pending_requests_are_listed_by_session() -> None:
    world = World()
    other = TurnContext(SessionId("other"), TurnId("turn_2"))
    tasks = [world.ask("one"), world.ask("two", other)]
    one, two = await world.requests(2)
    assert world.approvals.pending(TURN.session_id) == (one,)
    assert world.approvals.pending(SessionId("other")) == (two,)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_the_hash_tells_any_two_inputs_apart_and_ignores_the_order_of_keys() -> None:
    base = content_hash("Bash", {"command": "ls", "timeout": 1})
    assert base == content_hash("Bash", {"timeout": 1, "command": "ls"})
    others: list[tuple[str, dict[str, Any]]] = [
        ("Bash", {"command": "ls ", "timeout": 1}),
        ("Bash", {"command": "ls", "timeout": "1"}),
        ("Bash", {"command": "ls", "timeout": True}),
        ("Bash", {"command": "ls"}),
        ("bash", {"command": "ls", "timeout": 1}),
    ]
    assert len({content_hash(*other) for other in others} | {base}) == len(others) + 1


async def test_who_answered_is_told_and_recorded_before_the_call_may_run() -> None:
    written: list[tuple[str, dict[str, Any]]] = []
    world = World()

    async def record(kind: str, _session: object, _turn: object, body: dict[str, Any]) -> None:
        assert not task.done()
        written.append((kind, body))

    world.approvals = Approvals(lambda _turn: world.sink, world.clock, record=record)  # type: ignore[arg-type]
    task = world.ask()
    (request,) = await world.requests()
    await world.approvals.answer(request.id, "denied", by="ada")
    await task
    (resolved,) = world.sink.of(PermissionResolvedEvent)
    assert resolved.by == "ada"
    told = {"request": request.id, "asked": "permission_request"}
    assert written == [("answer", {**told, "decision": "denied", "by": "ada", "scope": None})]


async def test_an_answer_that_can_not_be_recorded_has_no_effect() -> None:
    world = World()

    async def record(*_: object) -> None:
        raise OSError("no space")

    world.approvals = Approvals(lambda _turn: world.sink, world.clock, record=record)
    task = world.ask()
    (request,) = await world.requests()
    await world.approvals.answer(request.id, "granted")
    with pytest.raises(OSError, match="no space"):
        await task


async def test_one_session_can_not_take_the_room_of_all() -> None:
    world = World()
    tasks = [world.ask(f"{number}") for number in range(101)]
    await world.requests(100)
    assert await tasks[100] == Answer("server_overloaded")
    other = world.ask("mine", TurnContext(SessionId("other"), TurnId("turn_2")))
    assert (await world.requests(101))[-1].input == {"command": "mine"}
    for task in (*tasks, other):
        task.cancel()
    await asyncio.gather(*tasks, other, return_exceptions=True)
