"""However turns end, no process of ours stays, and nobody else's is touched (S13).

Each turn has an MCP server that ignores signals and hides a process.

The random moments come from a seed that is printed; TRUSTFLOOR_TEST_SEED plays them again.
"""

import asyncio
import os
import random
import secrets
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, Turn, a_house, bash, calls, is_a, prompt, step
from tests.worlds.leftovers import nothing_left_of
from tests.worlds.mcp_servers import STUBBORN, plain
from tests.worlds.process_house import a_process_house
from tests.worlds.process_house import is_a as is_of

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

ABORTS = 20
CHILDREN = "setsid sleep 600 & (sleep 600 & exec sleep 600) & wait"
MOMENTS = ("start", "user_message", "text", "tool_use", "permission_request", "user_question")
QUESTION = {
    "question": "Which?",
    "header": "Which",
    "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}],
    "multiSelect": False,
}


@pytest_asyncio.fixture(name="house", scope="module", loop_scope="module")
async def house_fixture() -> AsyncIterator[House]:
    async with a_house() as house:
        house.parts.mcp.save("stubborn", plain(STUBBORN))
        house.parts.mcp.allow("stubborn", sandboxed=True)
        yield house


@contextmanager
def foreign_claude(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process named as ours are, of somebody else."""
    program = folder / "claude"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    started = subprocess.Popen([program, "600"])
    try:
        yield started
    finally:
        started.kill()
        started.wait()


def scene(wanted: str, level: TrustLevel) -> tuple[str, str]:
    """A message, and the moment in its turn to wait for: the wanted one, where the level has it."""
    match wanted:
        case "text":
            only = step("word " * 20, chunks=20, chunk_delay_s=5.0)
        case "tool_use" if level is not TrustLevel.VAULT:
            only = bash(CHILDREN)
        case "permission_request" if level is TrustLevel.VAULT:
            only = bash("env; sleep 600")  # what shows the environment asks
        case "permission_request" if level is TrustLevel.SANDBOXED:
            only = calls(("Write", {"file_path": "/tmp/x", "content": "x"}))
        case "user_question":
            only = calls(("AskUserQuestion", {"questions": [QUESTION]}))
        case _:
            only = step("slow", delay_s=600.0)
            wanted = "start" if wanted == "start" else "user_message"
    return prompt(only, step("never said")), wanted


@pytest.mark.slow
async def test_twenty_turns_aborted_at_random_moments_leave_nothing(
    house: House, tmp_path: Path
) -> None:
    seed = int(os.environ.get("TRUSTFLOOR_TEST_SEED") or secrets.randbelow(2**32))
    print(f"TRUSTFLOOR_TEST_SEED={seed}")  # noqa: T201  (to play it again)
    chance = random.Random(seed)  # noqa: S311  (repeatable on purpose)
    levels = list(TrustLevel)
    gate = asyncio.Semaphore(3)

    async def one(number: int) -> Turn:
        level = levels[number % len(levels)]
        asked, moment = scene(chance.choice(MOMENTS), level)
        delay = chance.uniform(0, 1.0 if moment == "start" else 0.1)
        async with gate:
            turn = Turn(house, await house.begin(asked, trust_level=level), [])
            if moment != "start":
                await turn.go_on(is_a(moment))
            await asyncio.sleep(delay)
            assert await house.parts.conversations.abort(turn.session_id, "enough")
            return await turn.go_on()

    with foreign_claude(tmp_path) as stranger:
        turns = await asyncio.gather(*(one(number) for number in range(ABORTS)))
        await nothing_left_of(house.root / "data", house.root / "run")
        assert stranger.poll() is None
    for turn in turns:
        ends = [event["type"] for event in turn.events]
        assert [end for end in ends if end in {"done", "error", "aborted"}] == ["aborted"], ends
        assert await house.parts.log.last_seq(turn.session_id) == turn.end["seq"]
    assert house.parts.approvals.pending() == ()
    assert house.parts.questions.pending() == ()


async def test_two_aborts_at_once_are_one(house: House) -> None:
    turn = await house.send(prompt(bash(CHILDREN), step("x")), until=is_a("tool_use"))
    abort = house.parts.conversations.abort
    assert await asyncio.gather(*(abort(turn.session_id, str(n)) for n in range(3))) == [True] * 3
    await turn.go_on()
    assert turn.end["type"] == "aborted"
    assert turn.end["message"] == "0"
    assert await house.parts.log.last_seq(turn.session_id) == turn.end["seq"]


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
async def test_the_supervisors_end_in_mid_turn_leaves_no_process(
    by: signal.Signals, tmp_path: Path
) -> None:
    async with a_process_house() as house:
        await house.start()
        assert (await house.post("/api/mcp/stubborn", plain(STUBBORN))).status_code == 201
        allowed = await house.post("/api/mcp/stubborn/allow", {"sandboxed": True})
        assert allowed.json()["sandboxed"]
        with foreign_claude(tmp_path) as stranger:
            async with (
                house.sent(prompt(bash(CHILDREN), step("x")), trustLevel="full") as full,
                house.sent(prompt(bash(CHILDREN), step("x"))) as sandboxed,
            ):
                await asyncio.gather(*(s.until(is_of("tool_use")) for s in (full, sandboxed)))
                sessions = [full.session_id, sandboxed.session_id]
                assert len((await house.left()).processes) > 1
                status = await house.end(by)
            if by is signal.SIGTERM:
                assert status == 0
                await house.nothing_left()
            await house.start()
            await house.nothing_left()
            assert stranger.poll() is None
        told = {signal.SIGTERM: "aborted", signal.SIGKILL: "error"}[by]
        for session_id in sessions:
            async with house.joined(session_id) as stream:
                assert (await stream.rest())[-1]["type"] == told
            (row,) = house.rows(session_id)
            assert row["state"] == ("aborted" if by is signal.SIGTERM else "interrupted")
