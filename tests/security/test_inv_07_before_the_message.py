"""Invariant 7 of sandboxes that wait: what one says or does before its message counts for nothing.

The runner image's CLI is replaced by `tests/worlds/hostile_cli.py`, which misbehaves only where it
is started ahead of its message; it goes at once, and the turn gets a sandbox of its own.
"""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from supervisor.ids import SessionId
from supervisor.observability.health import Sandbox
from tests.worlds import hostile_image as images
from tests.worlds.hostile_image import hostile
from tests.worlds.house import House, Turn, a_house, noted_requests
from tests.worlds.waiting import A_WHILE, patient_rooms

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

TAG = f"trustfloor-test/waits:{os.getpid()}"
MISBEHAVES = {
    "early_frames": "spoke before",
    "early_half": "spoke before",
    "early_end": "closed its output",
}
"""How its CLI misbehaves, and what the audit log says of it."""


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="house")
async def house_fixture() -> AsyncIterator[House]:
    images.tag(images.hostile_image(), TAG)
    try:
        with patient_rooms():
            async with a_house(runner_image=TAG, waiting_sandboxes=2) as house:
                yield house
    finally:
        images.untag(TAG)


def waited(turn: Turn) -> bool:
    """Whether the turn ran in a sandbox that was made before its message came."""
    (isolation,) = turn.of("isolation")
    return "waitedSeconds" in isolation["receipt"]


def transcript(house: House, session: SessionId) -> str:
    """What is kept of that conversation."""
    return "".join(
        each.read_text() for each in (house.vault / ".claude").rglob(f"*{session}*.jsonl")
    )


async def one_that_waits(house: House, mode: str, **given: str) -> SessionId:
    """A session for whose next message a sandbox was made, with such a CLI in it."""
    turn = await house.send("go", system_prompt=hostile(mode, **given))
    assert turn.end["type"] == "done"
    async with asyncio.timeout(A_WHILE):
        while not await is_settled(house, turn.session_id, misbehaves=mode in MISBEHAVES):
            await asyncio.sleep(0.01)
    return turn.session_id


async def is_settled(house: House, session: SessionId, *, misbehaves: bool) -> bool:
    """Whether it is ready, or, where its CLI misbehaves, gone."""
    if misbehaves:
        return "gone" in {each["what"] for each in house.audited("waiting", session)}
    return any(each.waiting and each.session_id == session for each in await containers(house))


async def containers(house: House) -> tuple[Sandbox, ...]:
    return tuple(await house.parts.containers())


async def answered(house: House, session: SessionId, mode: str, **given: str) -> Turn:
    """The session's next turn, on the same terms."""
    return await house.send("go on", session_id=session, system_prompt=hostile(mode, **given))


async def test_control_a_polite_one_is_used(house: House) -> None:
    session = await one_that_waits(house, "early_nothing")
    turn = await answered(house, session, "early_nothing")
    assert waited(turn)
    assert turn.end["response"] == "polite"


@pytest.mark.parametrize(("mode", "why"), MISBEHAVES.items())
async def test_one_that_speaks_or_hangs_up_before_its_message_goes_at_once_and_is_not_used(
    house: House, mode: str, why: str
) -> None:
    session = await one_that_waits(house, mode)
    begun, gone = house.audited("waiting", session)
    assert (begun["what"], gone["what"]) == ("begun", "gone")
    assert why in gone["why"]
    assert not [each for each in await containers(house) if each.session_id == session]
    turn = await answered(house, session, mode)
    assert turn.end["type"] == "done"
    assert turn.end["response"] == "polite"
    assert not waited(turn)
    assert "FORGED" not in repr(turn.events)
    assert "oat milk" not in repr(turn.events)
    assert "FORGED" not in transcript(house, session)


async def test_one_that_is_not_used_had_no_way_to_the_model(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = noted_requests(monkeypatch)
    mode = {"mode": "early_request", "model": "claude-opus-5-5"}
    session = await one_that_waits(house, **mode)
    for each in (house.vault / ".claude").rglob(f"*{session}*.jsonl"):
        each.write_text(each.read_text() + "\n")
    turn = await answered(house, session, **mode)
    assert not waited(turn)
    assert requests == []


async def test_control_one_that_is_used_may_speak_to_the_model(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = noted_requests(monkeypatch)
    mode = {"mode": "early_request", "model": "claude-opus-5-5"}
    session = await one_that_waits(house, **mode)
    turn = await answered(house, session, **mode)
    assert waited(turn)
    assert "EARLY" in repr(requests)
