"""A disk that is full ends the turn with what is wrong and what mends it, and nothing more (S08).

Real ones, in memory: that of a second engine, the data folder's, the runtime folder's. Once there
is room the next message works, without a restart.
"""

import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from supervisor.cli.doctor import check_data_dir
from supervisor.errors import ConfigurationError
from supervisor.readiness import readiness
from supervisor.runtimes.container.image import RUNNER_IMAGE
from supervisor.sessions.late_endings import LateEndings
from supervisor.storage.reserve import RESERVE_BYTES
from tests.worlds.house import House, Told, a_house, bash, is_a, prompt, step
from tests.worlds.second_engine import (
    SecondEngine,
    SmallDisk,
    needs_an_engine_of_its_own,
    second_engine,
    short_folder,
    small_disk,
)
from tests.worlds.waiting import SOON, until

PER_REQUEST = 120
"""Tokens that the scripted model tells of a request, unless a script says otherwise."""

pytestmark = [pytest.mark.engine, needs_an_engine_of_its_own]


async def ended(house: House, message: str = "") -> Told:
    """Send a message; how it ended, which is soon."""
    async with asyncio.timeout(SOON):
        turn = await house.send(message or prompt(bash("id"), step("Works.")))
    return turn.end


async def refused_or_ended(house: House) -> Told:
    """The same of a message that may not even be taken."""
    try:
        return await ended(house)
    except ConfigurationError as error:
        return {"type": "refused", "error": error.message, "remedy": error.remedy}


async def works(house: House, disk: SmallDisk) -> None:
    """With room again the next message is answered."""
    disk.free()
    assert (await ended(house))["type"] == "done"


@pytest.fixture(name="engine", scope="module")
def engine_fixture() -> Iterator[tuple[SecondEngine, SmallDisk]]:
    """An engine whose disk holds the runner image, and some room."""
    with (
        short_folder() as folder,
        small_disk(folder / "disk", 2048) as disk,
        second_engine(folder, disk.folder / "root") as engine,
    ):
        engine.take_over(RUNNER_IMAGE)
        yield engine, disk


@pytest.mark.parametrize("left", [0, 32 << 10], ids=["nothing", "32 KB"])
async def test_an_engine_s_full_disk(engine: tuple[SecondEngine, SmallDisk], left: int) -> None:
    second, disk = engine
    async with a_house(engine_socket=second.socket) as house:
        disk.fill(left)
        told = await ended(house)
        assert (told["type"], told["code"]) == ("error", "engine_refused")
        assert "no space left on device" in told["error"]
        assert "docker system prune" in told["remedy"]
        assert second.docker("ps", "--all", "--quiet") == ""
        engine_check = next(
            check
            for check in (await readiness(house.parts.settings)).checks
            if check.name == "engine's disk"
        )
        assert engine_check.ok is False
        assert "docker system prune" in str(engine_check.remedy)
        await works(house, disk)
        assert second.docker("ps", "--all", "--quiet") == ""
        await house.nothing_left()


@asynccontextmanager
async def house_on_a_small_disk(setting: str) -> AsyncIterator[tuple[House, SmallDisk]]:
    with (
        tempfile.TemporaryDirectory(prefix="tf-", dir="/tmp", ignore_cleanup_errors=True) as name,
        small_disk(Path(name) / "disk", 48) as disk,
    ):
        settings: dict[str, Any] = {setting: disk.folder / "own"}
        if setting == "vault":
            settings[setting].mkdir()
        async with a_house(Path(name), **settings) as house:
            assert (await ended(house))["type"] == "done"
            yield house, disk
            disk.free()


async def test_a_runtime_folder_s_full_disk() -> None:
    async with house_on_a_small_disk("runtime_dir") as (house, disk):
        disk.fill()
        told = await ended(house)
        assert (told["type"], told["code"]) == ("error", "vault_unavailable")
        assert "No space left on device" in told["error"]
        assert "TRUSTFLOOR_RUNTIME_DIR" in told["remedy"]
        found = next(
            check
            for check in (await readiness(house.parts.settings)).checks
            if check.name == "runtime folder"
        )
        assert found.ok is False
        assert str(disk.folder) in found.detail
        await works(house, disk)
        await house.nothing_left()


async def test_a_vault_that_finds_no_room_for_its_view() -> None:
    async with house_on_a_small_disk("data_dir") as (house, disk):
        (house.vault / "film.bin").write_bytes(bytes(24 << 20))
        disk.fill(leave=8 << 20)
        told = await ended(house)
        assert (told["type"], told["code"]) == ("error", "vault_unavailable")
        assert "No room for the view of the vault" in told["error"]
        assert "free some space" in told["remedy"]
        assert check_data_dir(house.parts.settings.data_dir).ok is False
        await works(house, disk)
        await house.nothing_left()


async def test_a_data_folder_that_is_full_takes_no_message_and_says_why() -> None:
    async with house_on_a_small_disk("data_dir") as (house, disk):
        told: Told = {"type": "done"}
        while told["type"] == "done":  # the first ones may find room within the files there are
            disk.fill()
            told = await refused_or_ended(house)
        assert re.search("No space left|disk is full", told["error"])
        assert "space" in told["remedy"]
        await works(house, disk)


@pytest.mark.parametrize("then", ["its time comes", "a message", "deletion"])
async def test_a_vault_that_fills_up_under_a_turn_leaves_none_that_seems_to_run(
    then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session's rows lie in the vault: how the turn ended is stored once there is room."""
    seconds = 0.2 if then == "its time comes" else 3600.0
    monkeypatch.setattr(LateEndings.__init__, "__defaults__", (seconds,))
    async with house_on_a_small_disk("vault") as (house, disk):
        conversations, figures = house.parts.conversations, house.parts.figures
        many = prompt(*(bash(f"head -c 60000 /dev/zero | tr '\\0' {n}") for n in "abc"), step("x"))
        turn = await house.send(many, until=is_a("isolation"))
        disk.fill()
        async with asyncio.timeout(SOON):
            await turn.go_on()
            while conversations.active():
                await asyncio.sleep(0.02)
        assert "disk is full" in turn.end["error"]
        with pytest.raises(ConfigurationError, match="disk is full"):
            await house.send("hello", session_id=turn.session_id)
        disk.free()
        if then == "a message":
            again = await house.send("hello", session_id=turn.session_id)
            assert again.end["type"] == "done"
        elif then == "deletion":
            await conversations.delete(turn.session_id, with_transcript=True)
        async with asyncio.timeout(SOON):
            while "running" in (await figures(1)).turns_by_state:
                await asyncio.sleep(0.05)
        last = (await figures(1)).days[-1].turns
        assert last == {"done": 2 if then == "a message" else 1, "error": 1}
        if then != "deletion":
            session = await house.parts.sessions.get_session(turn.session_id)
            assert session.tokens_used >= PER_REQUEST * (4 if then == "its time comes" else 5)


async def test_a_data_folder_that_fills_up_under_a_turn_has_room_left_for_its_ending() -> None:
    async with house_on_a_small_disk("data_dir") as (house, disk):
        reserve = house.parts.settings.data_dir / "reserve"
        assert reserve.stat().st_size == RESERVE_BYTES
        many = prompt(
            *(bash(f"head -c 60000 /dev/zero | tr '\\0' {n}") for n in "abcdef"), step("x")
        )
        turn = await house.send(many, until=is_a("isolation"))
        disk.fill()
        async with asyncio.timeout(SOON):
            await turn.go_on()
        assert (turn.end["type"], turn.end["code"]) == ("error", "configuration_error")
        assert "full" in turn.end["error"] or "No space left" in turn.end["error"]
        assert not reserve.exists()
        await works(house, disk)
        await until(reserve.exists)  # held again by what is done after a turn
