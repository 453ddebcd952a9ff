"""Killed at random moments of sandboxed turns, a supervisor loses nothing that it told.

Once in each state of a turn; TRUSTFLOOR_TEST_KILLS says how often instead (the long form). The
moments come from a seed that is printed; TRUSTFLOOR_TEST_SEED plays them again.
"""

import asyncio
import os
import random
import secrets
import signal
from collections import Counter
from contextlib import suppress

import httpx
import pytest

from tests.worlds.house import bash, calls, prompt, step
from tests.worlds.process_house import ProcessHouse, Stream, a_process_house, ended, is_a
from tests.worlds.strict_sse import Message
from tests.worlds.waiting import A_WHILE

pytestmark = [pytest.mark.engine, pytest.mark.slow]

AFTER = (
    "posted",
    "session",
    "isolation",
    "user_message",
    "text",
    "tool_use",
    "tool_result",
    "permission_request",
    "permission_resolved",
    "done",
)
"""What the client has seen last, at the least, when the kill comes."""

KILLS = int(os.environ.get("TRUSTFLOOR_TEST_KILLS") or len(AFTER))
"""As many of each kind as there is room for, at the least."""

LONGEST_DELAY = 0.12
"""Seconds from there to the kill, at the most."""

LONGEST_START = 1.2
"""The same, from the request: so the steps before the agent is there are met too."""

WORK = prompt(
    bash("echo one; sleep 0.2; echo two", text="Some words first. " * 8, chunks=8),
    calls(("Write", {"file_path": "/tmp/x", "content": "x"})),
    step("And some more at the end. " * 8, chunks=8, chunk_delay_s=0.02),
)


async def test_kills_leave_nothing_behind_and_lose_nothing_that_was_told() -> None:
    seed = int(os.environ.get("TRUSTFLOOR_TEST_SEED") or secrets.randbelow(2**32))
    print(f"TRUSTFLOOR_TEST_SEED={seed}")  # noqa: T201  (to play it again)
    chance = random.Random(seed)  # noqa: S311  (repeatable on purpose)
    moments = [*AFTER] * -(-KILLS // len(AFTER))
    chance.shuffle(moments)
    seen_sessions: set[str] = set()
    states: Counter[str] = Counter()
    async with a_process_house() as house:
        await house.start()
        for moment in moments:
            told = await killed(house, moment, chance)
            await house.start()
            await house.nothing_left()
            sessions = await listed(house) - seen_sessions
            seen_sessions |= sessions
            assert len(sessions) <= 1
            assert sessions or not told
            session_id = next(iter(sessions), None)
            if session_id is not None and house.rows(session_id):
                states[await checked(house, session_id, told)] += 1
            turn = await house.turn(prompt(step("Still here.")), sessionId=session_id)
            assert turn[-1]["type"] == "done", turn[-1]
            seen_sessions |= await listed(house)
        assert set(states) <= {"interrupted", "done"}
        assert states["interrupted"] >= len(moments) // 2, states


async def killed(house: ProcessHouse, moment: str, chance: random.Random) -> list[Message]:
    """Send a message and kill the supervisor in its turn; what the client had been told of it."""
    met = asyncio.Event()
    if moment == "posted":
        met.set()
    told: list[Message] = []
    listening = asyncio.create_task(listen(house, moment, met, told))
    async with asyncio.timeout(A_WHILE):
        await met.wait()
    await asyncio.sleep(chance.uniform(0, LONGEST_START if moment == "posted" else LONGEST_DELAY))
    assert await house.end(signal.SIGKILL) == -signal.SIGKILL
    await listening
    return told


async def listen(house: ProcessHouse, moment: str, met: asyncio.Event, told: list[Message]) -> None:
    """A client that grants what is asked, unless that is the moment that is waited for."""
    with suppress(httpx.TransportError):  # the kill
        async with house.sent(WORK) as stream:
            told_by(stream, told)
            while (event := await stream.next()) is not None:
                if event["type"] == moment:
                    met.set()
                if event["type"] == "permission_request" and moment != "permission_request":
                    await house.grant(event)


def told_by(stream: Stream, told: list[Message]) -> None:
    """Let the stream note what it reads where it outlives the client."""
    stream.messages = told


async def listed(house: ProcessHouse) -> set[str]:
    page = await house.get("/api/chat/sessions?limit=200")
    return {each["id"] for each in page["sessions"]}


async def checked(house: ProcessHouse, session_id: str, told: list[Message]) -> str:
    """The session's only turn is over, rightly so, and its log holds all that was told of it."""
    async with house.joined(session_id) as stream:
        await stream.until(ended)
        kept = {message.id: message for message in stream.messages}
        events = stream.events
    assert [int(number) for number in kept] == list(range(1, len(kept) + 1))
    for message in told:
        assert kept[message.id] == message
    (row,) = house.rows(session_id)
    last = events[-1]
    if row["state"] == "interrupted":
        assert (last["type"], last["code"]) == ("error", "turn_interrupted")
        assert row["error_code"] == "turn_interrupted"
        assert row["ended_at"] >= row["started_at"]
    else:
        assert last["type"] == row["state"]
    assert not is_a("done")(events[-1]) or row["state"] == "done"
    return str(row["state"])
