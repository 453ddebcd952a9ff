"""Aborted in whichever state, a turn ends once, with what it had said, and leaves nothing (S13).

Each turn has an MCP server that ignores signals and hides a process. Nobody else's is touched.

The random delays come from a seed that is printed; TRUSTFLOOR_TEST_SEED plays them again.
"""

import asyncio
import os
import random
import secrets
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import pytest_asyncio

from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, Told, Turn, a_house, bash, calls, is_a, prompt, step
from tests.worlds.leftovers import processes_with
from tests.worlds.mcp_servers import STUBBORN, plain
from tests.worlds.process_house import a_process_house
from tests.worlds.process_house import is_a as is_of

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

CHILDREN = "setsid sleep 600 & (sleep 600 & exec sleep 600) & wait"
STATES = ("starting", "waiting", "thinking", "speaking", "in a tool", "asked", "in doubt", "ending")
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


def scene(state: str, level: TrustLevel) -> tuple[str, Callable[[Told], bool]]:
    """A message, and the event with which its turn comes into that state."""
    drawn_out = {"chunks": 20, "chunk_delay_s": 5.0}
    question = ("AskUserQuestion", {"questions": [QUESTION]})
    asking = {
        TrustLevel.SANDBOXED: calls(
            ("Write", {"file_path": "/tmp/x", "content": "x"}), text="May I? "
        ),
        TrustLevel.VAULT: bash("env; sleep 600", text="May I? "),  # what shows the environment
    }
    command = "sleep 600" if level is TrustLevel.VAULT else CHILDREN
    scenes = {
        "starting": (step("slow", delay_s=600.0), is_a("session")),
        "waiting": (step("slow", delay_s=600.0), is_a("user_message")),  # for the first word
        "thinking": (step("word " * 20, thinking="hm " * 20, **drawn_out), is_a("thinking")),
        "speaking": (step("word " * 20, **drawn_out), is_a("text")),
        "in a tool": (bash(command, text="I run it. "), is_a("tool_use")),
        "asked": (asking.get(level), is_a("permission_request")),
        "in doubt": (calls(question, text="Tell me. "), is_a("user_question")),
        "ending": (step("Hello."), lambda event: event.get("content") == "Hello."),
    }
    answer, reached = scenes[state]
    if answer is None:  # at `full` nobody is asked for a permission
        return scene("in doubt", level)
    return prompt(answer, *([] if state == "ending" else [step("never said")])), reached


def said_in(turn: Turn) -> str:
    """The text that a turn's readers heard."""
    return "".join(event["delta"] for event in turn.of("text"))


def require_one_end(turn: Turn, *allowed: str) -> None:
    """One terminal event, the last one, with the text that was said before it."""
    ends = [kind for kind in turn.types if kind in {"done", "error", "aborted"}]
    assert len(ends) == 1, turn.types
    assert turn.end["type"] in allowed, turn.end
    if turn.end["type"] == "aborted":
        assert turn.end["message"] == "enough"
        assert turn.end["partialResponse"] == said_in(turn)
        assert "never said" not in said_in(turn)


@pytest.mark.slow
async def test_a_turn_aborted_in_any_state_at_any_level_ends_once_and_leaves_nothing(
    house: House, tmp_path: Path
) -> None:
    seed = int(os.environ.get("TRUSTFLOOR_TEST_SEED") or secrets.randbelow(2**32))
    print(f"TRUSTFLOOR_TEST_SEED={seed}")  # noqa: T201  (to play it again)
    chance = random.Random(seed)  # noqa: S311  (repeatable on purpose)
    moments = [(state, level) for state in STATES for level in TrustLevel]
    chance.shuffle(moments)
    gate = asyncio.Semaphore(3)

    async def one(state: str, level: TrustLevel) -> Turn:
        asked, reached = scene(state, level)
        delay = chance.uniform(0, {"starting": 1.0, "ending": 0.3}.get(state, 0.1))
        async with gate:
            turn = Turn(house, await house.begin(asked, trust_level=level), [])
            assert turn.session_id in house.parts.conversations.active()
            await turn.go_on(reached)
            await asyncio.sleep(delay)
            told = await house.parts.conversations.abort(turn.session_id, "enough")
            if turn.types[-1] not in {"done", "aborted"}:
                await turn.go_on()
        assert told or state == "ending"
        require_one_end(turn, "aborted", *(("done",) if state == "ending" else ()))
        return turn

    with foreign_claude(tmp_path) as stranger:
        turns = await asyncio.gather(*(one(*moment) for moment in moments))
        await house.nothing_left()
        assert stranger.poll() is None
    for turn in turns:
        assert await house.parts.log.last_seq(turn.session_id) == turn.end["seq"]
        assert not await house.parts.conversations.abort(turn.session_id, "again")
    assert house.parts.approvals.pending() == ()
    assert house.parts.questions.pending() == ()
    assert house.parts.conversations.active() == []


async def test_an_agent_that_does_not_even_listen_is_ended_all_the_same(house: House) -> None:
    long = step("word " * 20, chunks=20, chunk_delay_s=5.0)
    turn = await house.send(prompt(long), TrustLevel.FULL, until=is_a("text"))
    frozen = list(processes_with(f"TRUSTFLOOR_TURN={turn.started.turn_id}"))
    assert frozen
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    assert await house.parts.conversations.abort(turn.session_id, "enough")
    await turn.go_on()
    require_one_end(turn, "aborted")
    await house.nothing_left()


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
