"""A conversation goes on after a restart, wherever it works (S10)."""

import asyncio
import json
import re
import shutil
import tempfile
from pathlib import Path, PurePosixPath

import pytest

from supervisor.events.replay import subscribe
from supervisor.sessions.memory import transcript_for
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import Turn, prompt, step
from tests.worlds.noting_model import a_noted_house, a_noting_model

pytestmark = pytest.mark.engine

DEEP = "/".join(f"{number}-{'n' * 60}" for number in range(4))
FOLDERS = ["my_app.v2", "ü x", "emoji-🙂", f"{DEEP}/one", f"{DEEP}/other"]
"""The last two are above 200 characters and differ beyond them."""

AT_ONCE = 3


@pytest.mark.slow
async def test_the_second_turn_knows_the_first_after_a_restart() -> None:
    gate = asyncio.Semaphore(AT_ONCE)
    root = Path(tempfile.mkdtemp(prefix="tf-", dir="/tmp"))
    cases = [(folder, level) for folder in FOLDERS for level in TrustLevel]
    try:
        async with a_noting_model() as noted:
            async with a_noted_house(noted, root, fill=make_folders) as house:

                async def first(number: int, folder: str, level: TrustLevel) -> Turn:
                    message = prompt(step(f"answer-{number}."), words=f"first-{number}.")
                    async with gate:
                        return await house.send(message, level, working_directory=folder)

                begun = await asyncio.gather(
                    *(first(number, *case) for number, case in enumerate(cases))
                )
            for turn, (folder, _) in zip(begun, cases, strict=True):
                assert turn.end["type"] == "done", turn.end
                assert turn.events[0]["workingDirectory"] == folder
            noted.bodies.clear()
            async with a_noted_house(noted, root) as house:

                async def second(number: int, before: Turn) -> Turn:
                    message = prompt(step("ok"), words=f"second-{number}.")
                    async with gate:
                        level = cases[number][1]
                        return await house.send(message, level, session_id=before.session_id)

                resumed = await asyncio.gather(
                    *(second(number, before) for number, before in enumerate(begun))
                )
                conversations = noted.conversations()
                for number, turn in enumerate(resumed):
                    assert turn.end["type"] == "done", turn.end
                    assert turn.events[0]["resumeInfo"]["method"] == "sdk_resume"
                    assert turn.events[0]["workingDirectory"] == cases[number][0]
                    (asked,) = [said for said in conversations if f"second-{number}." in said]
                    ours = [f"first-{number}.", f"answer-{number}.", f"second-{number}."]
                    places = [asked.index(each) for each in ours]
                    assert places == sorted(places)
                    assert set(re.findall(r"first-[0-9]+\.", asked)) == {ours[0]}
                    session = await house.parts.sessions.get_session(turn.session_id)
                    assert session.transcript_path is not None
                    pointer = PurePosixPath(session.transcript_path)
                    kept = (house.vault / transcript_for(pointer, cases[number][1])).read_text()
                    assert kept.index(ours[0]) < kept.index(ours[2])
                    told = await history(turn)
                    assert [e["content"] for e in told if e["type"] == "user_message"] == [
                        prompt(step(f"answer-{number}."), words=ours[0]),
                        prompt(step("ok"), words=ours[2]),
                    ]
    finally:
        shutil.rmtree(root, ignore_errors=True)


def make_folders(vault: Path) -> None:
    for folder in FOLDERS:
        (vault / folder).mkdir(parents=True)


async def history(turn: Turn) -> list[dict[str, object]]:
    """All events of the turn's session, of earlier turns too, as a client that joins reads them."""
    told = []
    async with subscribe(turn.house.parts.log, turn.session_id) as records:
        async for record in records:
            told.append(json.loads(record.data))
            if record.seq == turn.end["seq"]:
                break
    return told
