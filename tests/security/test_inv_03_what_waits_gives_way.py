"""Invariant 3: a sandbox that waits for a message costs no other message its own.

It goes as soon as its session runs elsewhere, and before another session is refused one; where it
is found broken when it is wanted, the turn gets one of its own.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from supervisor.runtimes.container.runtime import Waiting
from supervisor.runtimes.guest import Held
from supervisor.runtimes.waiting import WaitingRoom
from supervisor.trust.levels import TrustLevel
from tests.worlds.audit import entries_in
from tests.worlds.engine_image import docker
from tests.worlds.house import a_house, prompt, step
from tests.worlds.process_house import a_process_house
from tests.worlds.ready_sandboxes import (
    HELLO,
    a_house_behind_the_filter,
    it_went,
    the_waiting_one,
    waited,
)
from tests.worlds.waiting import patient_rooms

pytestmark = pytest.mark.engine


@pytest.fixture(autouse=True)
def patience() -> Iterator[None]:
    with patient_rooms():
        yield


async def test_where_no_more_may_be_there_what_waits_makes_room_for_a_turn() -> None:
    async with a_house_behind_the_filter(1) as house:
        await house.send(HELLO)
        await the_waiting_one(house)
        another = await house.send(HELLO)
        assert another.end["type"] == "done"


async def test_control_a_turn_that_runs_makes_no_room_for_another() -> None:
    async with a_house_behind_the_filter(1) as house:
        slow = prompt(step("word " * 20, chunks=20, chunk_delay_s=2.0))
        first = await house.send(slow, until=lambda event: event["type"] == "text")
        another = await house.send(HELLO)
        assert another.end["type"] == "error"
        assert "TRUSTFLOOR_SANDBOX_COUNT" in another.end["error"]
        await house.parts.conversations.abort(first.session_id, "enough")
        await first.go_on()


async def test_what_waits_for_a_session_goes_when_that_runs_elsewhere() -> None:
    async with a_house(waiting_sandboxes=1) as house:
        turn = await house.send(HELLO)
        await the_waiting_one(house)
        await house.parts.conversations.set_trust(turn.session_id, TrustLevel.FULL)
        turn = await house.send(HELLO, TrustLevel.FULL, session_id=turn.session_id)
        assert turn.end["type"] == "done"
        await house.nothing_left()


async def test_one_whose_folder_was_cleared_away_is_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[Held[Waiting]] = []
    take = WaitingRoom.take

    async def losing(room: WaitingRoom[Waiting], *what: Any) -> Held[Waiting] | None:
        held: Held[Waiting] | None = await take(room, *what)
        if held is not None:
            taken.append(held)
            shutil.rmtree(held.value.sandbox.folder.run)
        return held

    async with a_house(waiting_sandboxes=1) as house:
        turn = await house.send(HELLO)
        await the_waiting_one(house)
        monkeypatch.setattr(WaitingRoom, "take", losing)
        turn = await house.send(HELLO, session_id=turn.session_id)
        assert not waited(turn)
        assert taken


@pytest.mark.parametrize(
    ("act", "why"), [(("kill",), "killed from outside"), (("rm", "--force"), "from outside")]
)
async def test_one_that_is_ended_from_outside_keeps_no_place_until_a_message_comes(
    act: tuple[str, ...], why: str
) -> None:
    async with a_house(waiting_sandboxes=1) as house:
        turn = await house.send(HELLO)
        docker(*act, await the_waiting_one(house))
        await it_went(house, why, turn.session_id)


async def test_what_waits_is_told_apart_from_what_is_in_use() -> None:
    async with a_house(waiting_sandboxes=1) as house:
        slow = prompt(step("word " * 20, chunks=20, chunk_delay_s=2.0))
        await house.send(HELLO)
        await the_waiting_one(house)
        running = await house.send(slow, until=lambda event: event["type"] == "text")
        counts = (await house.parts.readiness()).counts
        told = (counts.containers_live, counts.containers_waiting, counts.containers_left)
        assert told == (1, 1, 0)
        await house.parts.conversations.abort(running.session_id, "enough")
        await running.go_on()


PUTTING_AWAY = {
    "by its own route": ("POST", "/archive", {}),
    "by a change": ("PATCH", "", {"archived": True}),
}


@pytest.mark.parametrize(("method", "path", "body"), PUTTING_AWAY.values(), ids=PUTTING_AWAY)
async def test_what_waits_for_a_session_goes_when_that_is_put_away(
    method: str, path: str, body: dict[str, bool]
) -> None:
    async with a_process_house() as house:
        await house.start(waiting_sandboxes="1")
        session = (await house.turn(HELLO))[0]["sessionId"]
        await house.a_container()
        async with house.client() as client:
            answer = await client.request(method, f"/api/chat/session/{session}{path}", json=body)
        assert answer.json()["archived"]
        await house.nothing_left()
        assert await house.turn(HELLO, sessionId=session)  # nor is one made for what stays away
        await house.nothing_left()


async def test_the_audit_log_tells_what_waited_which_turn_took_it_and_why_others_went() -> None:
    with tempfile.TemporaryDirectory(prefix="tf-", dir="/tmp") as folder:
        async with a_house(Path(folder), waiting_sandboxes=1) as house:
            first = await house.send(HELLO)
            one = await the_waiting_one(house)
            turn = await house.send(HELLO, session_id=first.session_id)
            other = await the_waiting_one(house)
            assert one != other
            docker("update", "--pids-limit", "2000", other)
            await house.send(HELLO, session_id=turn.session_id)
        told = entries_in(Path(folder) / "data", "waiting", turn.session_id)
        taken = [each["turn"] for each in told if each["what"] == "taken"]
        reasons = [each["why"] for each in told if each["what"] == "gone"]
        assert taken[0] == turn.started.turn_id
        assert reasons[0] == "its turn is over"
        assert "isn't what it was" in reasons[1]
        assert reasons[2] == "the supervisor stops"
        assert [each["what"] for each in told].count("begun") == len(reasons) == 3
