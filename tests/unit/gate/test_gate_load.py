"""The gate under large and many calls: others go on, and what is kept of a turn is bounded."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from supervisor.approvals import pending
from supervisor.approvals.pending import Approvals
from supervisor.approvals.questions import Questions
from supervisor.events.schema import PermissionDeniedEvent, PermissionRequestEvent
from supervisor.gate import gate as gate_module
from supervisor.gate import inputs
from supervisor.gate.books import LONGEST_REASON, MOST_DENIALS
from supervisor.gate.gate import CHECKED_AT_ONCE, LARGEST_SHOWN, Gate
from supervisor.gate.inputs import LONGEST_NAME
from supervisor.gate.policy_files import PolicySource
from supervisor.policy.call import Allow, Deny
from supervisor.trust.levels import TrustLevel
from tests.worlds.policy_world import SHIPPED, TURN, Recorder, SetClock, make_vault
from tests.worlds.waiting import A_WHILE, until

HUGE = "é" * 7_000_000
WITHOUT_END = 1 << 40


class World:
    def __init__(self, base: Path, level: TrustLevel) -> None:
        self.vault = make_vault(base)
        self.sink = Recorder()
        self.approvals = Approvals(lambda _turn: self.sink, SetClock())
        self.gate = Gate(
            TURN,
            level,
            as_seen_vault=str(self.vault),
            as_seen_cwd=str(self.vault),
            vault=str(self.vault),
            policy=PolicySource(SHIPPED),
            approvals=self.approvals,
            questions=Questions(lambda _turn: self.sink, SetClock()),
            sink=self.sink,
        )


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, TrustLevel.VAULT)


class Heart:
    """Counts the turns that the loop gives to another task."""

    beats = 0

    async def beat(self) -> None:
        while True:
            self.beats += 1
            await asyncio.sleep(0)


@asynccontextmanager
async def beating() -> AsyncIterator[Heart]:
    heart = Heart()
    task = asyncio.create_task(heart.beat())
    try:
        yield heart
    finally:
        task.cancel()


async def test_an_input_that_no_person_could_read_is_refused_and_never_asked_about(
    world: World,
) -> None:
    for text in ("é" * (LARGEST_SHOWN // 2), "x" * LARGEST_SHOWN, HUGE):
        verdict = await world.gate.check("Bash", {"command": f"git push {text}"}, "toolu_1", None)
        assert isinstance(verdict, Deny)
        assert verdict.rule == "too-large-to-show"
        assert "too large to be shown" in verdict.reason
    assert world.sink.of(PermissionRequestEvent) == []


async def test_questions_that_no_person_could_read_are_not_asked(world: World) -> None:
    question = {"question": "x" * LARGEST_SHOWN, "options": [{"label": "A"}]}
    verdict = await world.gate.check("AskUserQuestion", {"questions": [question]}, "t", None)
    assert isinstance(verdict, Deny)
    assert verdict.rule == "too-large-to-show"


async def test_control_an_input_just_below_is_asked_about(world: World) -> None:
    given = {"command": "x" * (LARGEST_SHOWN - len('{"command": ""}'))}
    task = asyncio.create_task(world.gate.check("Bash", given, "toolu_1", None))
    await until(lambda: world.sink.of(PermissionRequestEvent))
    (request,) = world.approvals.pending()
    await world.approvals.answer(request.id, "granted", content_hash=request.content_hash)
    verdict = await task
    assert isinstance(verdict, Allow)
    assert verdict.input == given


async def test_a_large_call_that_needs_nobody_goes_through(world: World) -> None:
    given = {"file_path": str(world.vault / "notes/big.md"), "content": HUGE}
    assert isinstance(await world.gate.check("Write", given, "toolu_1", None), Allow)


async def _beats_during(world: World, *, calls: int, given: dict[str, Any]) -> int:
    async with beating() as heart:
        await asyncio.sleep(0)
        before = heart.beats
        tasks = [
            asyncio.create_task(world.gate.check("Bash", given, f"toolu_{n}", None))
            for n in range(calls)
        ]
        for _ in range(calls):
            async with asyncio.timeout(A_WHILE):
                while not (world.approvals.pending() or all(task.done() for task in tasks)):
                    await asyncio.sleep(0)
            for request in world.approvals.pending():
                await world.approvals.answer(request.id, "denied")
        await asyncio.wait(tasks)
        return heart.beats - before


SHOWN_STILL = {"command": "\u200bé" * (LARGEST_SHOWN // 5 - 100)}
CASES = [({"command": HUGE}, 4), (SHOWN_STILL, 4)]


@pytest.mark.parametrize(("given", "calls"), CASES, ids=["too large", "just shown"])
async def test_others_go_on_while_large_inputs_are_judged_and_shown(
    world: World, given: dict[str, Any], calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    threaded = await _beats_during(world, calls=calls, given=given)
    # The control: the same work in the loop itself, whose turns are then the few awaits of it.
    monkeypatch.setattr(inputs, "INLINE_CHARS", WITHOUT_END)
    monkeypatch.setattr(pending, "INLINE_CHARS", WITHOUT_END)
    inline = await _beats_during(world, calls=calls, given=given)
    assert threaded > inline, (threaded, inline)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many copies were under way at each copy's start."""
    copy_of, lock = inputs.copy_of, threading.Lock()
    under_way, seen = 0, list[int]()

    def counting(given: Any) -> Any:
        nonlocal under_way
        with lock:
            under_way += 1
            seen.append(under_way)
        try:
            return copy_of(given)
        finally:
            with lock:
                under_way -= 1

    monkeypatch.setattr(gate_module, "copy_of", counting)
    return seen


async def test_a_turn_has_a_few_checks_under_way_and_the_rest_wait(
    world: World, counted: list[int]
) -> None:
    given = {"file_path": "notes/big.md", "content": "é" * 300_000}
    verdicts = await asyncio.gather(
        *(world.gate.check("Write", given, f"toolu_{n}", None) for n in range(40))
    )
    assert all(isinstance(each, Allow) for each in verdicts)
    assert len(counted) == 40
    assert max(counted) <= CHECKED_AT_ONCE


async def test_calls_that_wait_for_a_person_hold_up_no_others(world: World) -> None:
    waiting = [
        asyncio.create_task(world.gate.check("Bash", {"command": "git push"}, f"t{n}", None))
        for n in range(2 * CHECKED_AT_ONCE)
    ]
    await until(lambda: len(world.approvals.pending()) >= len(waiting))
    assert isinstance(await world.gate.check("Read", {"file_path": "notes/a.md"}, "t", None), Allow)
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)


async def test_what_is_kept_of_refusals_is_bounded_in_number_and_in_size(world: World) -> None:
    for number in range(MOST_DENIALS + 50):
        await world.gate.check("Read", {"file_path": ".env"}, f"toolu_{number}", None)
    assert len(world.gate.denials) == MOST_DENIALS
    assert len(world.sink.of(PermissionDeniedEvent)) == MOST_DENIALS + 50
    assert world.gate.denials[0].tool_use_id == "toolu_0"


@pytest.mark.parametrize(
    ("tool", "tool_use_id", "agent"),
    [("x" * 50_000_000, "t", None), ("Read", "t" * 50_000_000, None), ("Read", "t", "a" * 300)],
    ids=["tool", "id", "agent"],
)
async def test_a_call_with_an_endless_name_is_refused_and_told_in_short(
    world: World, tool: str, tool_use_id: str, agent: str | None
) -> None:
    verdict = await world.gate.check(tool, {"file_path": "notes/a.md"}, tool_use_id, agent)
    assert isinstance(verdict, Deny)
    (event,) = world.sink.of(PermissionDeniedEvent)
    assert len(event.tool_name) <= LONGEST_NAME
    assert len(event.tool_use_id) <= LONGEST_NAME
    assert len(event.reason) <= LONGEST_REASON


async def test_large_calls_take_no_thread_from_whatever_else_needs_one() -> None:
    go_on = threading.Event()
    many = [asyncio.create_task(inputs.run(HUGE, go_on.wait)) for _ in range(64)]
    try:
        await until(lambda: threading.active_count() >= inputs.THREADS)
        async with asyncio.timeout(A_WHILE / 4):
            assert await asyncio.to_thread(threading.get_ident)
    finally:
        go_on.set()
        await asyncio.gather(*many)
