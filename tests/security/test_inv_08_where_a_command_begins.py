"""Invariants 8 and 10, by a `cd` of an earlier call: a command is judged where it begins.

The agent program would begin each command where the last one's `cd` led. A path rule names folders,
so a command that stands in one would name nothing that is denied. The controls let it.
"""

from pathlib import Path

import pytest

from supervisor.gate.gate import Gate
from supervisor.runtimes import command_line
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import House, a_house, bash, calls, prompt, step

CANARY = "CANARY-inv-08-cd"
INTO = bash("cd .docker && pwd")
PRINT = bash("cat config.json; pwd")
OVERWRITE = bash("cp ../notes/today.md policies.txt; cp ../notes/today.md default.yaml; pwd")


def fill(vault: Path) -> None:
    (vault / ".docker").mkdir()
    (vault / ".docker" / "config.json").write_text(f"{CANARY}\n")
    (vault / "policies").mkdir()
    (vault / "policies" / "default.yaml").write_text("version: 1\n")


def persistent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent program as it is by itself."""
    made = command_line.environment
    monkeypatch.setattr(
        "supervisor.runtimes.local.runtime.environment",
        lambda places: {
            name: value for name, value in made(places).items() if "MAINTAIN" not in name
        },
    )


async def printed(house: House) -> str:
    turn = await house.send(prompt(INTO, PRINT, step("ok")), TrustLevel.FULL)
    assert turn.end["type"] == "done", turn.end
    assert len(turn.results()) == 2
    return repr(turn.events)


async def test_each_command_begins_in_the_sessions_folder() -> None:
    async with a_house(fill=fill) as house:
        assert CANARY not in await printed(house)
        turn = await house.send(prompt(bash("cd policies"), OVERWRITE, step("ok")), TrustLevel.FULL)
        assert turn.results()[-1].splitlines()[-1] == str(house.vault)
        assert (house.vault / "policies" / "default.yaml").read_text() == "version: 1\n"


async def test_commands_side_by_side_begin_there_too() -> None:
    both = calls(
        *(("Bash", {"command": text}) for text in ("cd .docker; sleep 0.2", "cat config.json"))
    )
    async with a_house(fill=fill) as house:
        for _ in range(3):
            turn = await house.send(prompt(both, step("ok")), TrustLevel.FULL)
            assert CANARY not in repr(turn.events)


async def test_where_a_command_begins_elsewhere_it_is_judged_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    persistent(monkeypatch)
    async with a_house(fill=fill) as house:
        assert CANARY not in await printed(house)


async def test_control_judged_by_the_sessions_folder_it_prints_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    persistent(monkeypatch)
    check = Gate.check
    monkeypatch.setattr(Gate, "check", lambda self, *call: check(self, *call[:4]))
    async with a_house(fill=fill) as house:
        assert CANARY in await printed(house)
