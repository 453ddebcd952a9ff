"""Invariant 1: a write-ahead log beside the database counts only if it is the one that we left."""

import hashlib
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from supervisor.storage.database import Database
from supervisor.storage.session import SessionCreate
from tests.worlds.foreign import (
    FULL,
    LOOSER,
    PWN,
    Place,
    a_place,
    all_strict,
    copied,
    kept_strict,
    refused,
    still_loose,
)
from tests.worlds.storage import SESSION


async def a_killed_supervisors(place: Place) -> None:
    """A vault whose last supervisor was killed with its log unmerged."""
    crash, notes = place.root / "crash", place.root / "notes"
    async with place.opened() as at:
        await at.workspaces.put("w", name="w", folder="", floor=FULL)
        await at.sessions.create_session(SessionCreate(id=SESSION, trust_level=FULL, workspace="w"))
        files = [place.file.with_name(place.file.name + end) for end in ("", "-wal")]
        crash.mkdir()
        contents = {each: each.read_bytes() for each in files}
        for each in files:
            (crash / each.name).hardlink_to(each)
        shutil.copytree(place.data, notes)
    for each, content in contents.items():
        each.unlink(missing_ok=True)
        (crash / each.name).write_bytes(content)
        (crash / each.name).rename(each)
    shutil.rmtree(place.data)
    notes.rename(place.data)


async def test_control_after_a_kill_the_log_that_was_ours_counts(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    await a_killed_supervisors(place)
    assert place.file.with_name("sessions.db-wal").stat().st_size > 0
    await still_loose(place)


async def test_control_to_look_into_it_meanwhile_changes_nothing(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    await a_killed_supervisors(place)
    for _ in range(2):
        for mode in ("ro", "rw", "ro"):
            with closing(sqlite3.connect(f"file:{place.file}?mode={mode}", uri=True)) as cx:
                assert cx.execute("SELECT count(*) FROM sessions").fetchone() == (1,)
        await still_loose(place)


async def test_after_a_kill_another_file_or_another_log_is_foreign(tmp_path: Path) -> None:
    for name in ("sessions.db", "sessions.db-wal"):
        (tmp_path / name).mkdir()
        place = a_place(tmp_path / name)
        await a_killed_supervisors(place)
        copied(place.file.with_name(name), place.file.with_name(name))
        await all_strict(place)


def a_log_with(place: Place, *statements: str) -> None:
    """Leave a write-ahead log beside the unchanged file that makes these changes when replayed."""
    workshop = place.root / "workshop"
    workshop.mkdir()
    theirs = workshop / "sessions.db"
    shutil.copyfile(place.file, theirs)
    with closing(sqlite3.connect(theirs, isolation_level=None)) as cx:
        for statement in statements:
            cx.execute(statement)
        shutil.copyfile(f"{theirs}-wal", f"{place.file}-wal")


async def test_a_log_planted_beside_our_untouched_file_is_foreign(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    await kept_strict(place)
    before = hashlib.sha256(place.file.read_bytes()).hexdigest()
    a_log_with(place, LOOSER)
    assert hashlib.sha256(place.file.read_bytes()).hexdigest() == before
    await all_strict(place)


async def test_control_a_planted_log_is_replayed_by_sqlite(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    await kept_strict(place)
    a_log_with(place, LOOSER)
    async with Database(place.file) as db:
        (row,) = await db.rows("SELECT trust_level FROM sessions")
    assert row["trust_level"] == "full"


async def test_a_trigger_that_only_a_planted_log_brings_is_refused(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    await kept_strict(place)
    a_log_with(place, PWN)
    await refused(place, "pwn")
