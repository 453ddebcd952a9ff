"""What is swept when: processes of an earlier supervisor at the start, not again for each turn."""

from collections.abc import Collection

import pytest

from supervisor import sweeper
from supervisor.runtimes.local.leftovers import end_leftovers
from supervisor.trust.levels import TrustLevel
from tests.worlds.house import a_house, prompt, step

pytestmark = pytest.mark.engine


async def test_the_machines_processes_are_looked_through_at_the_start_and_by_turns_themselves(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scans: list[str] = []

    def counted(instance: object, living: Collection[object]) -> int:
        scans.append("scan")
        return end_leftovers(instance, living)  # type: ignore[arg-type]

    monkeypatch.setattr(sweeper, "end_leftovers", counted)
    async with a_house() as house:
        assert scans == ["scan"]
        for level in TrustLevel:
            turn = await house.send(prompt(step("Done.")), level)
            assert turn.end["type"] == "done"
    assert scans == ["scan"]
