import sqlite3
from pathlib import Path, PurePosixPath

import pytest

from supervisor.errors import InvalidRequest, NotFound
from supervisor.sessions.floors import Floors
from supervisor.storage.session import SessionCreate
from supervisor.trust.levels import TrustLevel
from tests.worlds.storage import SESSION, stores


async def test_the_default_workspace_is_the_whole_vault_and_stays(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        (default,) = await at.workspaces.list()
        assert (default.slug, default.folder, default.floor) == ("default", "", TrustLevel.FULL)
        with pytest.raises(InvalidRequest):
            await at.workspaces.delete("default")
        with pytest.raises(InvalidRequest):
            await at.workspaces.put("default", name="D", folder="notes", floor=TrustLevel.FULL)
        with pytest.raises(sqlite3.IntegrityError, match="always exists"):
            async with at.db.write() as cx:
                await cx.execute("DELETE FROM workspaces")
        raised = await at.workspaces.put("default", name="D", folder="", floor=TrustLevel.SANDBOXED)
        assert await at.workspaces.get("default") == raised
        assert raised.created_at == default.created_at


async def test_a_workspace_is_made_replaced_and_removed(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        await at.workspaces.put("w", name="W", folder="a//b/./c/", floor=TrustLevel.VAULT)
        made = await at.workspaces.get("w")
        assert (made.folder, made.floor) == ("a/b/c", TrustLevel.VAULT)
        await at.workspaces.delete("w")
        for gone in (at.workspaces.get("w"), at.workspaces.delete("w")):
            with pytest.raises(NotFound):
                await gone


@pytest.mark.parametrize("folder", ["/etc", "..", "a/../b", "a/..", "~/x", "a\x00b", "a\nb"])
async def test_a_folder_stays_within_the_vault(tmp_path: Path, folder: str) -> None:
    async with stores(tmp_path) as at:
        with pytest.raises(InvalidRequest):
            await at.workspaces.put("w", name="W", folder=folder, floor=TrustLevel.VAULT)


@pytest.mark.parametrize("slug", ["", "A", "-a", "a b", "a/b", "x" * 64, "a\n"])
async def test_a_slug_is_plain(tmp_path: Path, slug: str) -> None:
    async with stores(tmp_path) as at:
        with pytest.raises(InvalidRequest):
            await at.workspaces.put(slug, name="W", folder="w", floor=TrustLevel.VAULT)


async def test_a_workspace_can_not_take_its_floor_away_from_its_sessions(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        await at.workspaces.put("w", name="W", folder="w", floor=TrustLevel.SANDBOXED)
        await at.sessions.create_session(
            SessionCreate(id=SESSION, trust_level=TrustLevel.SANDBOXED, workspace="w")
        )
        with pytest.raises(InvalidRequest, match="sessions"):
            await at.workspaces.delete("w")


async def test_an_unknown_floor_is_the_strictest(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        async with at.db.write() as cx:
            await cx.execute("PRAGMA ignore_check_constraints = ON")
            await cx.execute("UPDATE workspaces SET floor = 'none', created_at = 'x'")
        default = await at.workspaces.get("default")
    assert default.floor is TrustLevel.SANDBOXED
    assert default.damaged == ("floor", "created_at")


@pytest.mark.parametrize(
    ("column", "value"),
    [("name", b"\xff"), ("folder", b"w"), ("created_at", "yesterday"), ("created_at", 3.5)],
    ids=["name", "folder", "word", "number"],
)
async def test_a_corrupt_column_costs_its_row_only_and_is_named(
    tmp_path: Path, column: str, value: object
) -> None:
    async with stores(tmp_path) as at:
        await at.workspaces.put("w", folder="w", floor=TrustLevel.VAULT)
        async with at.db.write() as cx:
            await cx.execute(f"UPDATE workspaces SET {column} = ? WHERE slug = 'w'", (value,))  # noqa: S608
        listed = {row.slug: row for row in await at.workspaces.list()}
    assert listed["default"].damaged == ()
    assert listed["w"].damaged == (column,)
    assert listed["w"].floor is TrustLevel.VAULT


async def test_a_workspace_without_a_readable_slug_is_listed_as_broken(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        await at.workspaces.put("w", floor=TrustLevel.VAULT)
        async with at.db.write() as cx:
            await cx.execute("UPDATE workspaces SET slug = x'77' WHERE slug = 'w'")
        listed = await at.workspaces.list()
    assert [(row.slug, row.damaged) for row in listed] == [("default", ()), ("", ("slug",))]


async def test_a_floor_whose_folder_can_not_be_read_holds_everywhere(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        await at.workspaces.put("w", folder="w", floor=TrustLevel.SANDBOXED)
        floors = Floors(TrustLevel.FULL, at.workspaces)
        before = await floors.of("default", PurePosixPath("elsewhere"))
        async with at.db.write() as cx:
            await cx.execute("UPDATE workspaces SET folder = x'77' WHERE slug = 'w'")
        after = await floors.of("default", PurePosixPath("elsewhere"))
    assert "w" not in [floor.name for floor in before]
    assert "w" in [floor.name for floor in after]


async def test_what_is_left_out_of_a_change_stays(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        made = await at.workspaces.put("w", folder="a", floor=TrustLevel.SANDBOXED)
        assert made.name == "w"
        await at.workspaces.put("w", name="W")
        changed = await at.workspaces.put("w", folder="b")
        assert (changed.name, changed.folder, changed.floor) == ("W", "b", TrustLevel.SANDBOXED)
        assert changed.created_at == made.created_at


async def test_a_new_one_without_a_floor_is_refused(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        with pytest.raises(InvalidRequest) as refused:
            await at.workspaces.put("w", name="W")
        assert refused.value.where == "floor"
        assert len(await at.workspaces.list()) == 1
