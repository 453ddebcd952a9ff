"""Invariant 7, end to end: whatever a container says, its turn alone suffers for it.

The runner image's CLI is replaced by `tests/worlds/hostile_cli.py`. After each misbehaviour: one
ending, nothing of another session changed, nothing left, and the same session goes on.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from supervisor.events.log import is_terminal
from supervisor.ids import SessionId
from supervisor.runtimes import agent
from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.container.image import RUNNER_IMAGE
from supervisor.storage.identity import instance_of
from supervisor.trust.levels import TrustLevel
from tests.worlds import hostile_image as images
from tests.worlds.hostile_image import hostile
from tests.worlds.house import House, a_house, is_a, prompt, step
from tests.worlds.waiting import A_WHILE

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

TAG = f"trustfloor-test/cage:{os.getpid()}"
MIB = 1024 * 1024
ROOM = 300 * MIB
"""What the supervisor may grow by while a container sends 100 MiB; generous, and far less than
what keeping all of it as Python objects would take."""


@dataclass(frozen=True)
class World:
    """A house whose sandboxes are hostile, and another person's session in it."""

    house: House
    victim: SessionId

    async def of_victim(self) -> tuple[bytes, bytes]:
        """All that is kept of the other session: its events and its transcript."""
        records = await self.house.parts.log.read(self.victim)
        (transcript,) = (self.house.vault / ".claude").rglob(f"{self.victim}.jsonl")
        return b"\n".join(record.data for record in records), transcript.read_bytes()

    def files(self) -> set[str]:
        """Every file in the vault but the transcripts of sessions that are not the victim's."""
        return {
            str(path.relative_to(self.house.vault))
            for path in self.house.vault.rglob("*")
            if path.is_file() and "sessions.db" not in path.name
        }


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="world")
async def world_fixture() -> AsyncIterator[World]:
    images.tag(RUNNER_IMAGE, TAG)
    try:
        async with a_house(runner_image=TAG) as house:
            victim = await house.send(prompt(step("I am another session.")))
            assert victim.end["type"] == "done"
            images.tag(images.hostile_image(), TAG)
            yield World(house, victim.session_id)
    finally:
        images.untag(TAG)


async def watched(house: House, mode: str, **given: str) -> "Watched":
    """One hostile turn: how it ended, what was warned of, and how far memory grew meanwhile."""
    before = highest = _resident()
    started = await house.begin(
        "go", trust_level=TrustLevel.SANDBOXED, system_prompt=hostile(mode, **given)
    )
    seen = started.after
    types: list[str] = []
    heard: list[dict[str, Any]] = []
    async with asyncio.timeout(A_WHILE):
        while not types or types[-1] not in ("done", "aborted", "error"):
            records = await house.parts.log.read(started.session_id, seen, limit=20)
            highest = max(highest, _resident())
            for record in records:
                seen = record.seq
                types.append(record.type)
                if len(record.data) < MIB // 2:
                    heard.append(json.loads(record.data))
            if not records:
                await asyncio.sleep(0.01)
    return Watched(started.session_id, tuple(types), heard, highest - before)


@dataclass(frozen=True)
class Watched:
    """What was seen of a turn; `events` leaves out the very long ones."""

    session_id: SessionId
    types: tuple[str, ...]
    events: list[dict[str, Any]]
    grown: int

    @property
    def warnings(self) -> set[str]:
        return {event["code"] for event in self.events if event["type"] == "warning"}

    @property
    def end(self) -> str:
        return self.types[-1]


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def endings(house: House, session_id: SessionId) -> int:
    """How many terminal events are stored of a session."""
    seen = count = 0
    while records := await house.parts.log.read(session_id, seen):
        seen = records[-1].seq
        count += sum(is_terminal(record) for record in records)
    return count


async def _nothing_is_left(house: House) -> None:
    async with Engine() as engine, asyncio.timeout(A_WHILE):
        instance = instance_of(house.parts.settings.data_dir)
        while await engine.list_ours(instance) or list(house.turns.iterdir()):
            await asyncio.sleep(0.02)


MISBEHAVIOUR = [
    # mode, how the turn ends, what the person is warned of
    ("forged_events", "done", {"unknown_frame"}),
    ("foreign_session", "done", {"foreign_session", "foreign_transcript"}),
    ("unasked_answers", "done", {"unasked_answer"}),
    ("forbidden_requests", "done", {"request_not_allowed"}),
    ("hook_flood", "done", {"too_many_requests"}),
    ("strange_hooks", "done", {"bad_request"}),
    ("one_line", "done", {"line_too_long"}),
    ("many_lines", "done", {"unknown_frame"}),
    ("much_text", "done", set()),
    ("many_values", "done", {"too_many_values"}),
    ("bad_bytes", "done", {"not_json"}),
    ("deep_json", "done", {"not_json", "too_deep"}),
    ("stderr_flood", "done", {"much_stderr"}),
    ("stderr_alone", "done", {"much_stderr"}),
    ("blank_lines", "done", {"blank_lines"}),
    ("short_lines", "done", {"not_json"}),
    ("empty_frames", "error", {"unknown_frame"}),
    ("huge_totals", "done", set()),
    ("wrong_types", "done", {"bad_transcript", "unasked_answer"}),
    ("results_for_ever", "done", set()),
    ("output_kept_by_a_child", "done", set()),
    ("closed_output", "error", set()),
    ("closed_streams", "error", set()),
    ("exit_ok", "error", set()),
    ("exit_7", "error", set()),
    ("exit_in_the_middle", "error", {"not_json"}),
]


@pytest.mark.parametrize(
    ("mode", "end", "warned"), MISBEHAVIOUR, ids=[each[0] for each in MISBEHAVIOUR]
)
async def test_a_hostile_turn_ends_once_and_touches_nothing_but_itself(
    world: World, mode: str, end: str, warned: set[str]
) -> None:
    house = world.house
    victim, files = await world.of_victim(), world.files()
    turn = await watched(house, mode, victim=world.victim, request="perm_1")
    assert turn.end == end, json.dumps(turn.events[-1])
    assert warned <= turn.warnings, turn.warnings
    assert turn.types[0] == "session"
    for kind in ("session", "isolation", "user_message"):
        assert turn.types.count(kind) <= 1
    assert turn.grown < ROOM, f"grew by {turn.grown // MIB} MiB"
    again = await house.send("hello", session_id=turn.session_id)
    assert again.end["type"] == "done"
    assert again.end["response"] == "polite"
    assert await endings(house, turn.session_id) == 2
    assert await world.of_victim() == victim
    assert world.files() == files
    assert "FORGED" not in str(victim)
    await _nothing_is_left(house)


async def test_forged_events_change_neither_the_level_nor_what_was_spent(world: World) -> None:
    turn = await watched(world.house, "forged_events")
    assert turn.events[0]["trustLevel"] == "sandboxed"
    assert not {"permission_resolved", "permission_request", "aborted"} & set(turn.types)
    assert "forged" not in json.dumps(turn.events[-1])
    session = await world.house.parts.sessions.get_session(turn.session_id)
    assert session.trust_level is TrustLevel.SANDBOXED
    assert (await world.house.parts.conversations.trust(turn.session_id)).effective == "sandboxed"


async def test_huge_totals_are_the_gateways_business_and_not_the_containers(world: World) -> None:
    turn = await watched(world.house, "huge_totals")
    session = await world.house.parts.sessions.get_session(turn.session_id)
    assert (session.tokens_used, session.cost_usd) == (0, 0.0)


async def test_a_container_cannot_answer_the_question_that_it_makes_a_person_asked(
    world: World,
) -> None:
    turn = await watched(world.house, "hook_flood")
    assert turn.types.count("permission_request") <= 100
    granted = [e for e in turn.events if e["type"] == "permission_resolved" and e["decision"]]
    assert not [event for event in granted if event["decision"] == "granted"]
    assert world.house.parts.approvals.pending() == ()  # its turn is over: nobody is asked any more


async def test_one_that_never_answers_is_given_up(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "_CONNECT_SECONDS", 1.0)
    for mode in ("silent", "flood_first"):
        turn = await watched(world.house, mode)
        assert turn.end == "error"
        assert turn.events[-1]["code"] == "agent_process_failed"
        assert turn.events[-1]["remedy"]
        assert turn.grown < ROOM
    await _nothing_is_left(world.house)


@pytest.mark.parametrize("mode", ["stubborn", "flood", "wait", "close_output"])
async def test_an_abort_ends_one_that_would_not_stop(world: World, mode: str) -> None:
    house = world.house
    turn = await house.send("go", system_prompt=hostile(mode), until=is_a("text"))
    await house.parts.conversations.abort(turn.session_id, "enough")
    await turn.go_on()
    assert turn.end["type"] == "aborted"
    assert turn.end["message"] == "enough"
    await _nothing_is_left(house)


async def test_while_one_floods_another_session_is_served(world: World) -> None:
    house = world.house
    flood = await house.send("go", system_prompt=hostile("flood"), until=is_a("text"))
    other = await house.send("hello", session_id=world.victim)
    assert other.end["type"] == "done"
    assert flood.session_id in house.parts.conversations.active()  # it did flood all the while
    await house.parts.conversations.abort(flood.session_id, "enough")
    await flood.go_on()
    assert flood.end["type"] == "aborted"


@pytest.mark.parametrize("mode", ["closed_output", "closed_streams"])
async def test_one_that_closes_its_output_and_lives_on_is_ended_long_before_the_turns_limit(
    world: World, mode: str
) -> None:
    turn = await watched(world.house, mode)
    assert turn.events[-1]["code"] == "agent_process_failed", turn.events[-1]
    assert turn.events[-1]["error"] == "the agent closed its output and ran on"
    assert turn.events[-1]["partialResponse"] == "my last words"


async def test_an_exit_is_told_with_its_last_complaint_made_printable(world: World) -> None:
    turn = await watched(world.house, "exit_7")
    assert "status 7: a complaint" in turn.events[-1]["error"]
    assert "\x1b" not in turn.events[-1]["error"]


async def test_control_the_same_channel_does_carry_what_a_polite_agent_says(world: World) -> None:
    turn = await watched(world.house, "polite")
    assert turn.warnings == set()
    assert [event["content"] for event in turn.events if event["type"] == "text"] == ["polite"]


async def test_after_all_that_the_real_agent_works_in_the_same_session(world: World) -> None:
    turn = await watched(world.house, "exit_in_the_middle")
    images.tag(RUNNER_IMAGE, TAG)
    try:
        real = await world.house.send(prompt(step("Real.")), session_id=turn.session_id)
    finally:
        images.tag(images.hostile_image(), TAG)
    assert real.end["response"] == "Real."
