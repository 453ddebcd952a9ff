"""The way for approvals stays open as long as a turn runs, whatever else is set (S09).

No hook and no MCP server of the person's is there that would hold it open.
"""

import asyncio
from pathlib import Path

import pytest

from supervisor.errors import SessionBusy
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, Turn, a_house, bash, calls, is_a, prompt, step

pytestmark = pytest.mark.engine

LONG = 62.0
"""Seconds; the SDK's own limit on an input that nothing holds open is 60."""

ASKING = [TrustLevel.VAULT, TrustLevel.SANDBOXED]


def script(level: TrustLevel, folder: Path, *, third_after: float) -> str:
    """Three calls that need approval, the third so many seconds after the second."""
    names = [str(folder / name) for name in ("one", "two", "three")]
    if level is TrustLevel.SANDBOXED:
        names = [f"/tmp/{name}" for name in ("one", "two", "three")]
        made = [(("Write", {"file_path": name, "content": "granted"}),) for name in names]
        first, second, third = (calls(*each) for each in made)
    else:
        # Unset, so that nobody can tell what runs: that asks, within the vault too.
        first, second, third = (bash(f"$UNSET printf granted >{name}") for name in names)
    look = bash(f"cat {' '.join(names)}") if level is TrustLevel.SANDBOXED else step("ok")
    return prompt(first, second, {**third, "delay_s": third_after}, look, step("ok"))


async def granted_three_times(
    house: House, level: TrustLevel, folder: Path, *, waits: float, third_after: float
) -> Turn:
    """Play the script; each request waits for its answer, the first the longest."""
    message = script(level, folder, third_after=third_after)
    turn = await house.send(message, level, until=is_a("permission_request"))
    for wait, next_comes_after in ((waits, 0.0), (0.3, third_after), (0.3, 0.0)):
        request = turn.end
        assert request["type"] == "permission_request", request
        if wait == waits:
            with pytest.raises(SessionBusy):
                await house.begin(prompt(step("too early")), session_id=turn.session_id)
        await asyncio.sleep(wait)
        await house.parts.approvals.answer(request["id"], "granted")
        await asyncio.sleep(next_comes_after)
        await turn.go_on(is_a("permission_request"))
    return turn


def all_three_ran(turn: Turn, level: TrustLevel, folder: Path) -> None:
    assert turn.end["type"] == "done", turn.end
    assert len(turn.of("permission_request")) == 3
    assert [event["decision"] for event in turn.of("permission_resolved")] == ["granted"] * 3
    assert not [result for result in turn.of("tool_result") if result["isError"]]
    assert "stream closed" not in repr(turn.events).lower()
    if level is TrustLevel.SANDBOXED:
        assert turn.results()[-1] == "granted" * 3
    else:
        assert {path.name: path.read_text() for path in folder.iterdir()} == dict.fromkeys(
            ("one", "two", "three"), "granted"
        )


@pytest.mark.parametrize("level", ASKING)
async def test_three_requests_are_asked_and_all_three_answers_count(level: TrustLevel) -> None:
    async with a_house() as house:
        folder = house.vault / "made"
        folder.mkdir()
        turn = await granted_three_times(house, level, folder, waits=0.6, third_after=1.0)
        all_three_ran(turn, level, folder)
        second = await house.send(prompt(step("And on.")), session_id=turn.session_id)
        assert second.end["type"] == "done"


@pytest.mark.slow
async def test_more_than_a_minute_between_and_before_the_answers_changes_nothing() -> None:
    slow_person = {"waits": LONG, "third_after": 0.5}
    slow_agent = {"waits": 0.5, "third_after": LONG}
    async with a_house(approval_seconds=300.0) as house:
        folders = {level: house.vault / level.value for level in ASKING}
        for folder in folders.values():
            folder.mkdir()
        turns = await asyncio.gather(
            granted_three_times(house, ASKING[0], folders[ASKING[0]], **slow_person),
            granted_three_times(house, ASKING[1], folders[ASKING[1]], **slow_agent),
        )
        for turn, level in zip(turns, ASKING, strict=True):
            all_three_ran(turn, level, folders[level])
