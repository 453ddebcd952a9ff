"""Invariant 1, where the vault came from elsewhere: its database has no say in trust."""

import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from supervisor.errors import ConfigurationError
from supervisor.policy.session_permissions import SessionPermissions
from supervisor.storage.adoption import Adoption
from supervisor.storage.database import Database
from supervisor.storage.pairing import NewPairingRequest, PairingStore
from supervisor.storage.session import SessionUpdate
from tests.worlds.earlier_database import REFUSED, earlier_database
from tests.worlds.foreign import (
    FULL,
    LOOSER,
    PWN,
    SANDBOXED,
    Place,
    a_place,
    all_strict,
    copied,
    kept_strict,
    refused,
    still_loose,
    used,
)
from tests.worlds.house import a_house
from tests.worlds.storage import OTHER, SESSION, session

DB = "database"
POINTER = f".claude/projects/-v/{SESSION}.jsonl"


async def test_control_what_we_left_ourselves_is_as_it_was(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    await used(place)
    for _ in range(2):
        await still_loose(place)


async def test_control_without_a_home_a_foreign_database_is_taken_at_its_word(
    tmp_path: Path,
) -> None:
    place = a_place(tmp_path)
    await used(place.other())
    async with Database(place.file) as db:
        (row,) = await db.rows("SELECT trust_level FROM sessions")
    assert row["trust_level"] == "full"


async def test_a_database_from_elsewhere_is_taken_in_at_the_strictest_once_and_said_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = a_place(tmp_path)
    await used(place.other(), pointer=POINTER)
    done = await all_strict(place)
    assert done == Adoption(sessions=1, workspaces=2, turns=1, transcripts=0)
    (warning,) = [record.getMessage() for record in caplog.records]
    assert "1 session set to sandboxed" in warning
    assert "PUT /api/workspaces/default" in warning
    async with place.opened() as at:
        assert at.db.adoption is None
        assert (await at.sessions.get_session(SESSION)).transcript_path == POINTER
        await at.workspaces.put("default", name="d", folder="", floor=FULL)
    async with place.opened() as at:
        assert (await at.workspaces.get("default")).floor is FULL


async def test_a_database_without_any_seal_is_foreign_and_an_empty_one_is_nobodys(
    tmp_path: Path,
) -> None:
    place = a_place(tmp_path)
    async with Database(place.file):
        pass
    async with place.opened() as at:
        assert at.db.adoption is None
        assert (await at.workspaces.get("default")).floor is FULL
    shutil.rmtree(place.data)
    place.data.mkdir()
    place.write("UPDATE workspaces SET name = 'x'", "DELETE FROM metadata")
    async with place.opened() as at:
        await at.sessions.create_session(session())
    place.write("DELETE FROM metadata")
    await all_strict(place)


@pytest.mark.parametrize(
    "seal",
    [
        "UPDATE metadata SET value = '' WHERE key = 'trustfloor.binding'",
        "UPDATE metadata SET value = x'00' WHERE key = 'trustfloor.binding'",
        "UPDATE metadata SET value = 'ü' WHERE key = 'trustfloor.binding'",
        "UPDATE metadata SET value = value || '0' WHERE key = 'trustfloor.database'",
        "UPDATE metadata SET value = '../../x' WHERE key = 'trustfloor.database'",
        "DELETE FROM metadata WHERE key = 'trustfloor.database'",
    ],
)
async def test_a_forged_seal_is_none(tmp_path: Path, seal: str) -> None:
    place = a_place(tmp_path)
    await used(place)
    place.write(seal)
    await all_strict(place)


async def test_a_copy_that_comes_back_altered_with_our_seal_is_foreign(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    await kept_strict(place)
    place.write(LOOSER)
    await all_strict(place)


async def test_control_the_altered_copy_would_be_believed_without_the_witness(
    tmp_path: Path,
) -> None:
    place = a_place(tmp_path)
    await kept_strict(place)
    place.write(LOOSER)
    place.trust_as_it_is()
    async with place.opened() as at:
        assert (await at.sessions.get_session(SESSION)).trust_level is FULL


async def test_a_file_put_in_our_files_place_while_we_run_is_foreign_at_the_next_start(
    tmp_path: Path,
) -> None:
    place = a_place(tmp_path)
    await kept_strict(place)
    altered = tmp_path / "altered.db"
    shutil.copyfile(place.file, altered)
    with closing(sqlite3.connect(altered, isolation_level=None)) as cx:
        cx.execute(LOOSER)
    async with place.opened():
        copied(altered, place.file)
    await all_strict(place)


ALTERED: list[tuple[str, str]] = [
    (PWN, "trigger 'pwn'"),
    ("CREATE TEMP TABLE unseen (a)", ""),
    ("CREATE VIEW seen AS SELECT * FROM sessions", "view 'seen'"),
    ("CREATE TABLE more (a TEXT)", "table 'more'"),
    ("CREATE VIRTUAL TABLE found USING fts5(a)", "table 'found'"),
    ("CREATE INDEX i ON sessions (lower(title))", "index 'i'"),
    ("ALTER TABLE sessions ADD COLUMN x AS (abs(-1))", "table 'sessions'"),
    ("DROP INDEX idx_turns_one_running", "lacks the index 'idx_turns_one_running'"),
    ("DROP TRIGGER workspaces_default_stays", "lacks the trigger"),
    ("ANALYZE", "table 'sqlite_stat1'"),
]


@pytest.mark.parametrize(("statement", "named"), ALTERED)
async def test_a_schema_that_is_not_ours_is_refused_and_named_even_with_our_seal(
    tmp_path: Path, statement: str, named: str
) -> None:
    place = a_place(tmp_path)
    await used(place)
    place.write(statement)
    if not named:
        await still_loose(place)  # control: what stays outside the file changes nothing
        return
    place.trust_as_it_is()
    before = place.file.read_bytes()
    assert "move it away" in str((await refused(place, named)).remedy)
    assert place.file.read_bytes() == before


async def test_control_the_trigger_makes_new_sessions_full_where_nobody_looks(
    tmp_path: Path,
) -> None:
    place = a_place(tmp_path)
    await kept_strict(place)
    place.write(
        PWN,
        "INSERT INTO sessions (id, created_at, last_accessed, trust_level, workspace)"
        " VALUES ('new', '', '', 'sandboxed', 'default')",
    )
    with closing(sqlite3.connect(place.file)) as cx:
        (level,) = cx.execute("SELECT trust_level FROM sessions WHERE id = 'new'").fetchone()
    assert level == "full"


@pytest.mark.parametrize(
    ("version_table", "rows"),
    [
        ("CREATE VIRTUAL TABLE schema_version USING fts5(version)", "(13)"),
        ("CREATE TABLE schema_version (version, applied_at)", "('zzz', ''), (x'00', '')"),
        ("CREATE TABLE schema_version (version, applied_at)", "(13, '')"),
        ("CREATE TABLE schema_version (version, applied_at)", "(9e999, '')"),
    ],
)
async def test_a_version_that_is_none_is_refused(
    tmp_path: Path, version_table: str, rows: str
) -> None:
    place = a_place(tmp_path)
    place.file.parent.mkdir()
    place.write(version_table, f"INSERT INTO schema_version VALUES {rows}")  # noqa: S608
    await refused(place)


async def test_a_foreign_file_whose_index_tells_another_tale_is_refused(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    await used(place.other())
    with closing(sqlite3.connect(place.file, isolation_level=None)) as cx:
        cx.execute("PRAGMA writable_schema = ON")
        # The index that finds workspaces by slug now leads into that of session ids.
        cx.execute(
            "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema"
            " WHERE name = 'sqlite_autoindex_sessions_1')"
            " WHERE name = 'sqlite_autoindex_workspaces_1'"
        )
    await refused(place)


async def test_a_foreign_file_with_sessions_of_no_workspace_is_refused(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    await used(place.other())
    place.write("PRAGMA foreign_keys = OFF", "DELETE FROM workspaces WHERE slug = 'w'")
    await refused(place, "without its parent")


@pytest.mark.parametrize(
    "pointer",
    [
        "/etc/passwd",
        "../x.jsonl",
        ".claude/projects/../../x.jsonl",
        ".claude/projects",
        ".claude/projects-of-others/x.jsonl",
        ".env",
        ".claude/projects/-link/x.jsonl",
        ".claude/projects/-v/link.jsonl",
        "\x00",
    ],
)
async def test_a_foreign_pointer_that_leads_elsewhere_is_emptied(
    tmp_path: Path, pointer: str
) -> None:
    place = a_place(tmp_path)
    kept = place.vault / ".claude" / "projects" / "-v"
    kept.mkdir(parents=True)
    (kept / "link.jsonl").symlink_to("/etc/passwd")
    (kept.parent / "-link").symlink_to(tmp_path)
    await used(place.other(), pointer=pointer)
    assert (await all_strict(place)).transcripts == 1
    async with place.opened() as at:
        assert (await at.sessions.get_session(SESSION)).transcript_path is None


LOOSE = SessionPermissions(read=("**",), write=("**",), bash=True)


async def permissive(place: Place) -> None:
    """A vault whose session may do everything unasked, and whose bot answers a person."""
    await used(place)
    async with place.opened() as at:
        session = await at.sessions.get_session(SESSION)
        metadata = session.with_permissions(LOOSE).metadata
        await at.sessions.update_session(SESSION, SessionUpdate(metadata={**metadata, "n": 1}))
        pairing = PairingStore(at.db)
        asked = NewPairingRequest(
            id="p", platform="telegram", platform_user_id="7", platform_chat_id="70"
        )
        await pairing.upsert_pairing_request(asked)
        await pairing.resolve_pairing_request("p", "approved", FULL)
        await pairing.upsert_pairing_request(replace(asked, id="q"))


async def test_a_foreign_file_has_no_say_in_what_runs_unasked_or_who_may_talk_to_a_bot(
    tmp_path: Path,
) -> None:
    place = a_place(tmp_path)
    await permissive(place.other())
    adoption = await all_strict(place)
    assert (adoption.permissions, adoption.pairings) == (1, 1)
    async with place.opened() as at:
        session = await at.sessions.get_session(SESSION)
        assert session.permissions == SessionPermissions(write=())
        assert session.metadata["n"] == 1
        pairing = PairingStore(at.db)
        assert await pairing.get_pairing_by_platform_user("telegram", "7") is None
        assert [each.id for each in await pairing.get_pending_pairing_requests()] == ["p"]


async def test_control_our_own_file_keeps_permissions_and_approvals(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    await permissive(place)
    async with place.opened() as at:
        assert (await at.sessions.get_session(SESSION)).permissions == LOOSE
        approved = await PairingStore(at.db).get_pairing_by_platform_user("telegram", "7")
        assert approved is not None
        assert approved.approved_trust_level is FULL


async def test_a_foreign_file_that_asks_about_all_goes_on_asking(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    await used(place.other())
    place.write("""UPDATE sessions SET metadata = '{"permissions": {"trust_mode": false}}'""")
    await all_strict(place)
    async with place.opened() as at:
        session = await at.sessions.get_session(SESSION)
        assert session.permissions == SessionPermissions(write=(), trust_mode=False)


@pytest.mark.parametrize("version", [8, 12])
async def test_the_earlier_programs_file_is_taken_over_at_the_strictest(
    tmp_path: Path, version: int
) -> None:
    place = a_place(tmp_path)
    earlier_database(place.file, version)
    adoption = await all_strict(place)
    assert adoption.sessions == 30
    assert adoption.permissions == 29  # all but the damaged one, which permits nothing
    assert adoption.pairings == (2 if version == 12 else 0)
    async with place.opened() as at:
        assert at.db.adoption is None
        listed = await at.sessions.list_sessions()
        assert len(listed) == 30
        assert not any(each.permissions.bash for each in listed)
        pairing = PairingStore(at.db)
        assert await pairing.get_pairing_by_platform_user("telegram", "7") is None


@pytest.mark.parametrize(("change", "named"), REFUSED)
async def test_an_earlier_programs_file_with_more_than_tables_is_refused(
    tmp_path: Path, change: str, named: str
) -> None:
    place = a_place(tmp_path)
    earlier_database(place.file, 8, change)
    await refused(place, named)


async def test_two_sessions_of_a_foreign_file_are_both_made_strict(tmp_path: Path) -> None:
    place = a_place(tmp_path)
    await used(place.other())
    async with place.other().opened() as at:
        await at.sessions.create_session(session(OTHER, FULL))
    assert (await all_strict(place)).sessions == 2


async def test_a_whole_supervisor_gives_a_foreign_vault_no_loose_session_and_tells_so() -> None:
    with tempfile.TemporaryDirectory(prefix="tf-", dir="/tmp") as folder:
        root = Path(folder)
        theirs = Place(root, "theirs")
        theirs.data.mkdir()
        theirs.vault.mkdir()
        await used(theirs)
        async with a_house(root) as house:
            trust = await house.parts.conversations.trust(SESSION)
            assert trust.effective is SANDBOXED
            (told,) = [each for each in (await house.parts.readiness()).checks if each.name == DB]
            assert "1 session set to sandboxed" in told.detail
            await house.parts.workspaces.put("default", floor=FULL)
            await house.parts.workspaces.put("w", floor=FULL)
            trust = await house.parts.conversations.set_trust(SESSION, FULL)
            assert trust.effective is FULL  # control: a person may loosen it
        async with a_house(root) as house:
            assert (await house.parts.conversations.trust(SESSION)).effective is FULL
            (told,) = [each for each in (await house.parts.readiness()).checks if each.name == DB]
            assert told.ok


async def test_a_whole_supervisor_does_not_start_on_a_trigger() -> None:
    with tempfile.TemporaryDirectory(prefix="tf-", dir="/tmp") as folder:
        root = Path(folder)
        theirs = Place(root, "theirs")
        theirs.data.mkdir()
        theirs.vault.mkdir()
        await used(theirs)
        theirs.write(PWN)
        with pytest.raises(ConfigurationError, match="pwn"):
            async with a_house(root):
                pass
