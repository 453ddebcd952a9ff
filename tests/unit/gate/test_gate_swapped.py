"""A yes is for where a call's names led when it was shown, and not for where they lead by then."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from supervisor.policy.call import Allow, Deny
from supervisor.policy.session_permissions import NOTHING_UNASKED
from supervisor.trust.levels import TrustLevel
from tests.worlds.gate import World

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("Write", {"file_path": "plans/a.md", "content": "x"}),
    ("Bash", {"command": "echo x > plans/a.md"}),
    ("Bash", {"command": "cat plans/*.md"}),
    ("Read", {"file_path": "plans/a.md"}),
]


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path, TrustLevel.VAULT)
    (made.vault / "plans").mkdir()
    (made.vault / "plans" / "a.md").write_text("a plan")
    made.gate = made.make_gate(permissions=NOTHING_UNASKED)
    return made


async def asked_and_granted(world: World, tool: str, given: dict[str, Any], meanwhile: Any) -> Any:
    checking = asyncio.create_task(world.gate.check(tool, given, "toolu_1", None))
    request = await world.asked()
    meanwhile(world.vault)
    await world.approvals.answer(request.id, "granted", content_hash=request.content_hash)
    return await checking


def lead_the_folder_elsewhere(vault: Path) -> None:
    shutil.rmtree(vault / "plans")
    (vault / "plans").symlink_to("notes")


def lead_to_another(vault: Path) -> None:
    (vault / "plans" / "a.md").unlink()
    (vault / "plans" / "a.md").symlink_to("../notes/a.md")


def work_on(vault: Path) -> None:
    (vault / "plans" / "a.md").write_text("another plan")
    (vault / "plans" / "b.md").write_text("one more")


@pytest.mark.parametrize("meanwhile", [lead_the_folder_elsewhere, lead_to_another])
@pytest.mark.parametrize(("tool", "given"), CALLS)
async def test_a_name_that_leads_elsewhere_by_the_time_of_the_yes_is_not_what_was_granted(
    world: World, tool: str, given: dict[str, Any], meanwhile: Any
) -> None:
    verdict = await asked_and_granted(world, tool, given, meanwhile)
    assert isinstance(verdict, Deny)
    assert verdict.rule == "changed-meanwhile"
    assert "plans" in verdict.reason


@pytest.mark.parametrize(("tool", "given"), CALLS)
async def test_what_only_changed_in_its_place_runs(
    world: World, tool: str, given: dict[str, Any]
) -> None:
    assert isinstance(await asked_and_granted(world, tool, given, work_on), Allow)


async def test_a_file_that_is_made_or_gone_meanwhile_is_where_it_was(world: World) -> None:
    tool, given = "Write", {"file_path": "plans/new.md", "content": "x"}
    made = await asked_and_granted(
        world, tool, given, lambda vault: (vault / "plans" / "new.md").write_text("")
    )
    assert isinstance(made, Allow)


@pytest.mark.parametrize(("meanwhile", "runs"), [(work_on, True), (lead_to_another, False)])
async def test_one_name_in_several_folders_is_looked_for_in_each(
    world: World, meanwhile: Any, runs: bool
) -> None:
    given = {"command": "cd plans && cat a.md > x; cd ../notes && cat a.md > x"}
    verdict = await asked_and_granted(world, "Bash", given, meanwhile)
    assert isinstance(verdict, Allow) is runs, verdict
