"""An engine that sees our folders under other paths: refused with the setting, or right (S30).

The supervisor runs in a mount namespace of its own in which its folders lie under `seen`; for the
engine they lie elsewhere and `seen` is empty, as with a supervisor in a container.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.worlds.house import bash, calls, prompt, step
from tests.worlds.process_house import ProcessHouse, Told, a_process_house

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount"),
]

LOOK = prompt(
    # The denied name is only known as the command runs, so that the mask is what holds.
    bash(
        "ls -A /vault; cat /vault/notes/today.md;"
        " f=$(ls -A /vault | awk /^.en/); grep -c CANARY /vault/$f"
    ),
    calls(("Read", {"file_path": "/vault/.env"})),
    step("ok"),
)


@pytest.fixture(name="house")
async def house_fixture() -> AsyncIterator[ProcessHouse]:
    async with a_process_house() as house:
        yield house


async def start_elsewhere(house: ProcessHouse, **settings: str) -> Path:
    """Start the supervisor where all its folders lie under `seen`, which the engine finds empty."""
    seen = house.root / "seen"
    seen.mkdir(exist_ok=True)
    mounted = 'mount --bind "$0" "$1" && shift && exec "$@"'
    await house.start(
        before=(
            *("unshare", "--mount", "--propagation", "private"),
            *("sh", "-c", mounted, str(house.root), str(seen)),
        ),
        vault=str(seen / "vault"),
        data_dir=str(seen / "data"),
        runtime_dir=str(seen / "run"),
        **settings,
    )
    return seen


async def refused(house: ProcessHouse) -> Told:
    """Send a message; the agent got nothing to work on."""
    turn = await house.turn(LOOK)
    allowed = {"session", "isolation", "user_message", "error"}
    assert {event["type"] for event in turn} <= allowed, turn
    return turn[-1]


async def test_without_the_setting_the_turn_is_refused_and_names_it(house: ProcessHouse) -> None:
    seen = await start_elsewhere(house)
    told = await refused(house)
    assert told["code"] == "engine_refused"
    assert "TRUSTFLOOR_ENGINE_PATH_MAP" in told["remedy"]
    assert list(seen.iterdir()) == []
    await house.nothing_left()


async def test_with_it_the_vault_is_there_and_masked(house: ProcessHouse) -> None:
    seen = house.root / "seen"
    await start_elsewhere(house, engine_path_map=f"{seen}={house.root}")
    turn = await house.turn(LOOK)
    results = [event["content"] for event in turn if event["type"] == "tool_result"]
    assert turn[-1]["type"] == "done", turn[-1]
    assert "Buy oat milk." in results[0]
    assert "CANARY-of-the-vault" not in repr(turn)
    assert [event["rule"] for event in turn if event["type"] == "permission_denied"] == [
        "env-files"
    ]
    assert list(seen.iterdir()) == []
    await house.nothing_left()


async def test_with_a_wrong_one_the_start_is_refused_and_nothing_is_made(
    house: ProcessHouse, capfd: pytest.CaptureFixture[str]
) -> None:
    elsewhere = house.root / "elsewhere"
    seen = house.root / "seen"
    with pytest.raises(AssertionError, match=r"ended \(1\) before it was up"):
        await start_elsewhere(house, engine_path_map=f"{seen}={elsewhere}")
    told = capfd.readouterr().err
    assert "where: TRUSTFLOOR_ENGINE_PATH_MAP" in told
    assert not elsewhere.exists()
    assert list(seen.iterdir()) == []
    await house.nothing_left()
