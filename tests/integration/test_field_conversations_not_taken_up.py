"""A transcript that no CLI can go on from costs its session nothing but the transcript (S10, S16).

What stands in it came from a sandbox, so it can be anything. The message that meets it is answered,
the agent knows what was said, the person is told, and the next message goes on as ever.
"""

import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from supervisor.sessions import records, turn
from supervisor.sessions.afresh import NOT_TAKEN_UP
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, Turn, prompt, step, transcript_of
from tests.worlds.noting_model import Noted, a_noted_house, a_noting_model

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

LEVELS = [TrustLevel.FULL, TrustLevel.SANDBOXED]


@pytest_asyncio.fixture(name="world", scope="module", loop_scope="module")
async def world_fixture() -> AsyncIterator[tuple[House, Noted]]:
    async with a_noting_model() as noted, a_noted_house(noted) as house:
        yield house, noted


def lines(*entries: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in entries)


def nothing_to_find(_kept: bytes) -> bytes:
    """The CLI says that there is no such conversation, and ends."""
    return lines({"type": "user", "uuid": "x", "message": 5})


def another_sessions(kept: bytes) -> bytes:
    """The CLI speaks in another session's name from then on, its result included."""
    return re.sub(rb'"sessionId":"[^"]*",?', b"", kept)


DAMAGES: list[Callable[[bytes], bytes]] = [nothing_to_find, another_sessions]


async def poisoned(house: House, level: TrustLevel, damage: Callable[[bytes], bytes]) -> Turn:
    first = await house.send(prompt(step("answer-one."), words="first-words."), level)
    assert first.end["type"] == "done", first.end
    path = await transcript_of(house, first.session_id, level)
    path.write_bytes(damage(path.read_bytes()))
    return first


async def goes_on(world: tuple[House, Noted], level: TrustLevel, first: Turn) -> None:
    """The message is answered with what was said before, and the one after it as usual."""
    house, noted = world
    path: Path = await transcript_of(house, first.session_id, level)
    before = path.read_bytes()
    noted.bodies.clear()
    told = await house.send(
        prompt(step("answer-two."), words="second-words."), level, session_id=first.session_id
    )
    assert told.end["type"] == "done", told.end
    assert told.end["response"] == "answer-two."
    assert told.end["sessionResume"]["method"] == "context_injection"
    assert [each["code"] for each in told.of("warning") if each["code"] == NOT_TAKEN_UP]
    assert len(told.of("user_message")) == 1
    asked = noted.conversations()[-1]
    assert asked.index("first-words.") < asked.index("answer-one.") < asked.index("second-words.")
    assert path.read_bytes().startswith(before)

    noted.bodies.clear()
    after = await house.send(
        prompt(step("answer-three."), words="third-words."), level, session_id=first.session_id
    )
    assert after.end["type"] == "done", after.end
    assert after.of("session")[0]["resumeInfo"]["method"] == "sdk_resume"
    assert not after.of("warning")
    asked = noted.conversations()[-1]
    for each in ("first-words.", "answer-one.", "second-words.", "answer-two.", "third-words."):
        assert each in asked


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("damage", DAMAGES)
async def test_what_no_cli_can_go_on_from_is_told_instead_and_the_session_goes_on(
    world: tuple[House, Noted], level: TrustLevel, damage: Callable[[bytes], bytes]
) -> None:
    first = await poisoned(world[0], level, damage)
    await goes_on(world, level, first)


async def test_a_cli_that_reads_without_end_is_given_up_and_the_same_message_is_answered(
    world: tuple[House, Noted], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here it has no time at all: which transcripts do that changes with each CLI."""
    first = await poisoned(world[0], TrustLevel.FULL, lambda kept: kept)
    monkeypatch.setattr(turn, "PATIENCE_SECONDS", 0.0)
    house, _ = world
    told = await house.send(
        prompt(step("answer-two.")), TrustLevel.FULL, session_id=first.session_id
    )
    assert told.end["type"] == "done", told.end
    assert told.end["sessionResume"]["method"] == "context_injection"
    assert "did not get to the model" in told.of("warning")[0]["message"]


@pytest.mark.parametrize("level", LEVELS)
async def test_a_transcript_beyond_all_bounds_is_not_handed_over_and_its_words_are_told(
    world: tuple[House, Noted], level: TrustLevel, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await poisoned(world[0], level, lambda kept: kept)
    monkeypatch.setattr(records, "MOST_TAKEN_UP", 20_000)
    path = await transcript_of(world[0], first.session_id, level)
    path.write_bytes(path.read_bytes() + lines({"type": "tag", "tag": "x" * 30_000}))
    told = await world[0].send(prompt(step("answer-two.")), level, session_id=first.session_id)
    assert told.end["type"] == "done", told.end
    assert told.of("session")[0]["resumeInfo"]["method"] == "context_injection"
    assert told.of("warning")[0]["code"] == NOT_TAKEN_UP
    monkeypatch.undo()
    after = await world[0].send(prompt(step("x")), level, session_id=first.session_id)
    assert after.end["type"] == "done", after.end
    assert after.of("session")[0]["resumeInfo"]["method"] == "sdk_resume"
    assert not after.of("warning")


async def test_a_model_that_fails_is_no_reason_to_leave_the_transcript_behind(
    world: tuple[House, Noted],
) -> None:
    first = await poisoned(world[0], TrustLevel.FULL, lambda kept: kept)
    refused = {"status": 400, "type": "invalid_request_error", "message": "no"}
    failed = await world[0].send(
        prompt(step(error=refused)), TrustLevel.FULL, session_id=first.session_id
    )
    assert failed.end["code"] == "model_failed", failed.end
    assert not [each for each in failed.of("warning") if each["code"] == NOT_TAKEN_UP]
