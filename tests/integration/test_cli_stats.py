"""`trustfloor stats` and `trustfloor ready` against a running supervisor."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.observability.health import Check, Leftovers, Readiness
from supervisor.storage.turns import TurnStore, Used
from supervisor.trust.levels import TrustLevel
from tests.worlds.api import ApiWorld, api_world
from tests.worlds.storage import TURN


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[ApiWorld]:
    async with api_world(tmp_path) as world:
        turns = TurnStore(world.sessions._db)
        await turns.begin(TURN, await world.session(), TrustLevel.SANDBOXED)
        await turns.end(TURN, "done", None, Used(12_345, 1.5))
        yield world


async def test_the_last_days_are_a_table_with_their_sums(world: ApiWorld) -> None:
    ran = await world.command("stats", "--days", "3")
    assert ran.status == 0, ran.err
    head, *days, together = ran.out.decode().splitlines()[-5:]
    assert head.split() == [
        "day",
        "(UTC)",
        "done",
        "aborted",
        "error",
        "interrupted",
        "tokens",
        "cost",
    ]
    assert [day.split()[1:] for day in days[:2]] == [["0", "0", "0", "0", "0", "$0.00"]] * 2
    assert days[2].split()[1:] == ["1", "0", "0", "0", "12,345", "$1.50"]
    assert together.split() == ["together", "1", "0", "0", "0", "12,345", "$1.50"]
    told = json.loads((await world.command("stats", "--json")).out)
    assert len(told["days"]) == 7
    assert told["days"][-1]["turns"] == {"done": 1}


async def test_more_days_than_there_are_kept_ready_are_refused(world: ApiWorld) -> None:
    async with world.client() as http:
        for many in ("0", "367", "x"):
            assert (await http.get("/api/stats", params={"days": many})).status_code == 422


async def test_what_is_wrong_in_the_running_supervisor_is_told_and_gives_a_status(
    world: ApiWorld,
) -> None:
    well = await world.command("ready")
    assert (well.status, well.out.decode().splitlines()[0]) == (0, "ok      engine: answers")

    async def lacking() -> Readiness:
        hook = Check("webhook", ok=False, detail="\x1b[2Jh: HTTP 500", remedy="look at it")
        return Readiness(
            (hook,), Leftovers(containers_live=2, containers_waiting=3, containers_left=1)
        )

    world.inner.state.parts = replace(world.parts, readiness=lacking)
    ran = await world.command("ready")
    assert ran.status == 1
    assert "\x1b" not in ran.out.decode()
    assert "problem " in ran.out.decode()
    assert "what to do: look at it" in ran.out.decode()
    assert "2 sandboxes in use, 3 waiting for a message, 1 left over" in ran.out.decode()

    async def no_disk() -> Readiness:
        return Readiness((Check("disk", ok=False, detail="full", remedy="free it", needed=True),))

    world.inner.state.parts = replace(world.parts, readiness=no_disk)
    ran = await world.command("ready")
    assert ran.status == 1
    assert "no turn can run: disk: full" in ran.out.decode()
    assert "what to do: free it" in ran.out.decode()
