"""After a SIGKILL no session runs for ever; what is left of ours goes, nobody else's (S05, S29)."""

import asyncio
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from supervisor.runtimes.container.engine import Engine
from supervisor.storage.identity import instance_of, token_of
from tests.worlds.engine import box, real_engine
from tests.worlds.house import bash, calls, prompt, step
from tests.worlds.process_house import (
    ProcessHouse,
    Stream,
    Told,
    a_process_house,
    ended,
    is_a,
)

pytestmark = pytest.mark.engine

QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}],
    "multiSelect": False,
}
RUNS = prompt(bash("echo begun; sleep 600"), step("never said"))
ASKS_LEAVE = prompt(calls(("Write", {"file_path": "/tmp/x", "content": "x"})), step("never said"))
ASKS_A_QUESTION = prompt(calls(("AskUserQuestion", {"questions": [QUESTION]})), step("never said"))


@pytest.fixture(name="house")
async def house_fixture() -> AsyncIterator[ProcessHouse]:
    async with a_process_house() as house:
        yield house


@pytest.fixture(name="engine")
async def engine_fixture() -> AsyncIterator[Engine]:
    async with real_engine() as engine:
        yield engine


async def history(house: ProcessHouse, session_id: str) -> list[Told]:
    """All events of a session, up to the first end of a turn."""
    async with house.joined(session_id) as stream:
        return await stream.rest()


@pytest.mark.slow
async def test_a_kill_in_any_state_leaves_no_session_running_and_no_request_open(
    house: ProcessHouse,
) -> None:
    await house.start()
    async with AsyncExitStack() as stack:

        async def reached(message: str, kind: str, **body: Any) -> tuple[Stream, Told]:
            stream = await stack.enter_async_context(house.sent(message, **body))
            return stream, await stream.until(is_a(kind))

        (
            (over, _),
            (running, _),
            (local, _),
            (waits, request),
            (asks, question),
        ) = await asyncio.gather(
            reached(prompt(step("All is said.")), "done"),
            reached(RUNS, "tool_use"),
            reached(RUNS, "tool_use", trustLevel="full"),
            reached(ASKS_LEAVE, "permission_request"),
            reached(ASKS_A_QUESTION, "user_question"),
        )
        await house.end(signal.SIGKILL)
        cut = [stream.session_id for stream in (running, local, waits, asks)]
    # Killed between its last word and its row: what was said counts.
    with closing(sqlite3.connect(house.database)) as db:
        db.execute(
            "UPDATE turns SET state = 'running', ended_at = NULL WHERE session_id = ?",
            (over.session_id,),
        )
        db.commit()
    assert {row["state"] for row in house.rows()} == {"running"}

    await house.start()
    await house.nothing_left()
    assert (await house.get("/api/chat/active-streams"))["sessions"] == []
    listed = (await house.get("/api/chat/sessions"))["sessions"]
    assert {each["id"]: each["active"] for each in listed} == dict.fromkeys(
        [over.session_id, *cut], False
    )
    (done,) = house.rows(over.session_id)
    assert (done["state"], done["error_code"]) == ("done", None)
    for session_id in cut:
        (row,) = house.rows(session_id)
        assert (row["state"], row["error_code"]) == ("interrupted", "turn_interrupted")
        assert row["started_at"] <= row["ended_at"]
        said = await history(house, session_id)
        assert said[-1]["code"] == "turn_interrupted"
        assert said[-1]["ts"] >= said[-2]["ts"]
        assert [event["seq"] for event in said] == list(range(1, len(said) + 1))
    assert [event["type"] for event in await history(house, over.session_id)].count("done") == 1

    for answer in (
        await house.post(f"/api/permissions/{request['id']}/grant"),
        await house.post(f"/api/permissions/{request['id']}/deny"),
        await house.post(
            f"/api/questions/{question['requestId']}/answer",
            {"answers": {"Which colour?": "Red"}},
        ),
    ):
        assert answer.status_code == 410
        assert answer.json()["code"] == "request_void"
        assert answer.json()["remedy"]

    before = house.rows()
    await house.end(signal.SIGKILL)
    await house.start()
    assert house.rows() == before

    for session_id in (over.session_id, *cut):
        turn = await house.turn(prompt(step("Once more.")), sessionId=session_id, trustLevel=None)
        assert turn[-1]["type"] == "done", turn[-1]
    assert await house.end(signal.SIGTERM) == 0


async def test_the_next_start_removes_what_is_ours_and_nothing_that_looks_like_it(
    house: ProcessHouse, engine: Engine
) -> None:
    def look_alike(api: dict[str, Any]) -> None:
        api["Labels"] = {"trustfloor": "yes", "trustfloor.instance.": house.instance}

    def ours(api: dict[str, Any]) -> None:
        api["Labels"]["trustfloor.instance"] = house.instance

    await house.start()
    async with a_process_house() as other:
        await other.start()
        async with (
            house.sent(RUNS) as orphan,
            other.sent(prompt(bash("sleep 600"), step("x"))) as busy,
            box(engine, weaken=look_alike) as stranger,
            box(engine, weaken=ours) as created,
        ):
            await asyncio.gather(
                orphan.until(is_a("tool_use")),
                busy.until(is_a("tool_use")),
            )
            session_id = orphan.session_id
            assert len((await house.left()).containers) == 2
            await house.end(signal.SIGKILL)
            await house.start()
            await house.nothing_left()
            assert await engine.inspect(created.id) is None
            assert await engine.inspect(stranger.id) is not None
            (mid_turn,) = (await other.left()).containers
            report = await engine.inspect(mid_turn)
            assert report is not None
            assert report["State"]["Running"] is True
            assert (await history(house, session_id))[-1]["code"] == "turn_interrupted"
            await other.post(f"/api/chat/session/{busy.session_id}/abort")
            assert ended((await busy.rest())[-1])


def test_a_first_start_that_was_cut_off_in_making_its_token_is_made_good_by_the_next(
    tmp_path: Path,
) -> None:
    cut_off = (
        "import resource, sys; from pathlib import Path\n"
        "from supervisor.storage.identity import instance_of, token_of\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "for make in (instance_of, token_of):\n"
        "    try: make(Path(sys.argv[1]))\n"
        "    except OSError: continue\n"
        "    raise SystemExit('it was not cut off')\n"
    )
    subprocess.run([sys.executable, "-c", cut_off, tmp_path], check=True)
    assert list(tmp_path.iterdir()) == []
    assert token_of(tmp_path) == token_of(tmp_path)
    assert instance_of(tmp_path) == instance_of(tmp_path)
    for each in tmp_path.iterdir():
        assert stat.S_IMODE(each.stat().st_mode) == 0o600
