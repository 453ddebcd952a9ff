"""The earlier program's database: what is taken over, and what is refused."""

import logging
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from supervisor.errors import ConfigurationError, DatabaseTooNew
from supervisor.policy.session_permissions import NOTHING_UNASKED
from supervisor.storage import earlier
from supervisor.storage.chunks import ChunkStore
from supervisor.storage.contexts import ContextStore
from supervisor.storage.index_manifest import ManifestStore
from supervisor.storage.metadata import MetadataStore
from supervisor.storage.migrate import load_steps
from supervisor.storage.opening import prepare
from supervisor.storage.pairing import PairingStore
from supervisor.storage.session import Session
from supervisor.storage.tags import TagStore
from supervisor.trust.levels import TrustLevel
from tests.worlds.earlier_database import REFUSED, earlier_database, rows_of
from tests.worlds.storage import stores

NEWEST = load_steps("sessions")[-1].version


async def by_title(folder: Path) -> dict[str | None, Session]:
    async with stores(folder) as at:
        return {each.title: each for each in await at.sessions.list_sessions(1000)}


@pytest.mark.parametrize("version", [8, 9, 10, 11, 12])
async def test_every_row_of_every_version_is_taken_over(tmp_path: Path, version: int) -> None:
    earlier_database(tmp_path / "sessions.db", version)
    sessions = await by_title(tmp_path)
    assert len(sessions) == 30
    session = sessions["title 2"]
    assert session.trust_level is TrustLevel.SANDBOXED
    assert session.workspace == "default"
    assert session.vault_root == (None if version == 8 else "/vault")
    assert session.created_at == datetime(2025, 3, 1, 10, 0, 2, 123456, UTC)
    assert session.last_accessed == datetime(2025, 3, 2, 10, 0, 2, tzinfo=UTC)
    assert sessions["title 3"].last_accessed == datetime(2025, 3, 2, 10, 0, 3, 500000, UTC)
    assert session.metadata["n"] == 2
    assert session.permissions.bash is True
    assert session.damaged == ()
    async with stores(tmp_path) as at:
        assert len(await TagStore(at.db).get_sessions_by_tag("tag 1")) > 5
        assert await TagStore(at.db).get_session_tags(session.id) == ["tag 3"]
        assert await ContextStore(at.db).get_session_contexts(session.id) == ["notes/chat"]
        (chunk,) = await ChunkStore(at.db).get_chunks_for_content(session.id)
        assert (chunk.chunk_text, chunk.embedding) == ("words of title 2", bytes(16))
        manifest = await ManifestStore(at.db).get_manifest(session.id)
        assert manifest is not None
        assert manifest.content_hash == "hash"
        assert await MetadataStore(at.db).get_metadata("theme") == '"dark"'
        approved = await PairingStore(at.db).get_pairing_by_platform_user("discord", "8")
        assert (approved is not None) == (version == 12)
    backup = tmp_path / f"sessions.db.v{version}.bak"
    with closing(sqlite3.connect(backup)) as cx:
        assert cx.execute("SELECT count(*) FROM sessions").fetchone() == (30,)


async def test_damaged_rows_are_taken_over_and_shown_as_damaged(tmp_path: Path) -> None:
    earlier_database(tmp_path / "sessions.db")
    sessions = await by_title(tmp_path)
    assert sessions["title 4"].damaged == ("metadata",)
    assert sessions["title 4"].permissions == NOTHING_UNASKED
    assert set(sessions["title 5"].damaged) == {"created_at", "last_accessed"}
    assert sessions["\ufffdok"].damaged == ("source",)
    assert sessions["title 7"].damaged == ("last_accessed",)
    assert set(sessions["title 8"].damaged) == {"archived", "message_count"}
    assert sessions["title 8"].archived
    assert sessions["title 9"].damaged == ()


async def test_the_list_is_in_the_order_of_time_whatever_the_form_it_was_written_in(
    tmp_path: Path,
) -> None:
    earlier_database(tmp_path / "sessions.db")
    async with stores(tmp_path) as at:
        listed = [each for each in await at.sessions.list_sessions(100) if not each.damaged]
    assert listed == sorted(listed, key=lambda each: each.last_accessed, reverse=True)


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE schema_version",
        "UPDATE schema_version SET version = 10",  # as the earlier program notes before it is
        "INSERT INTO schema_version VALUES (10, '')",
        "DROP TABLE session_contexts",
        "DROP TABLE index_manifest",
        "ALTER TABLE sessions ADD COLUMN agent_type TEXT",
        "ALTER TABLE sessions ADD COLUMN trust_level TEXT DEFAULT 'full'",
        "INSERT INTO session_tags VALUES ('nobody', 'orphan', '')",
        "ANALYZE",
        "PRAGMA journal_mode = WAL",
    ],
)
async def test_files_in_states_that_the_earlier_program_leaves_are_taken_over(
    tmp_path: Path, change: str
) -> None:
    earlier_database(tmp_path / "sessions.db", 8, change)
    sessions = await by_title(tmp_path)
    assert len(sessions) == 30
    assert all(each.trust_level is TrustLevel.SANDBOXED for each in sessions.values())
    assert (NEWEST,) in rows_of(tmp_path / "sessions.db")["schema_version"]
    await by_title(tmp_path)  # and it opens again


async def test_rows_that_are_of_no_session_are_left_out_and_the_log_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    earlier_database(
        tmp_path / "sessions.db", 8, "INSERT INTO session_tags VALUES ('nobody', 'orphan', '')"
    )
    with caplog.at_level(logging.WARNING):
        prepare(tmp_path / "sessions.db", "sessions")
    assert "1 rows of session_tags" in caplog.text


@pytest.mark.parametrize(("change", "named"), REFUSED)
def test_a_file_with_more_than_plain_tables_or_with_less_is_refused_and_untouched(
    tmp_path: Path, change: str, named: str
) -> None:
    path = tmp_path / "sessions.db"
    earlier_database(path, 8, change)
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match=named) as refusal:
        prepare(path, "sessions")
    assert "move it away" in str(refusal.value.remedy)
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["sessions.db"]


def test_a_column_that_is_worked_out_counts_as_missing(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    earlier_database(
        path,
        8,
        "ALTER TABLE sessions DROP COLUMN title",
        "ALTER TABLE sessions ADD COLUMN title TEXT AS (id) VIRTUAL",
    )
    with pytest.raises(ConfigurationError, match="title"):
        prepare(path, "sessions")


@pytest.mark.parametrize("version", [7, 1])
def test_older_files_are_refused_and_newer_ones_with_both_versions(
    tmp_path: Path, version: int
) -> None:
    path = tmp_path / "sessions.db"
    earlier_database(path, 8, f"UPDATE schema_version SET version = {version}")  # noqa: S608
    with pytest.raises(ConfigurationError, match=f"version {version}"):
        prepare(path, "sessions")
    with closing(sqlite3.connect(path, isolation_level=None)) as cx:
        cx.execute("UPDATE schema_version SET version = 4711")
    with pytest.raises(DatabaseTooNew, match=f"4711.*{NEWEST}"):
        prepare(path, "sessions")


def test_a_disk_that_fills_up_while_it_is_taken_over_costs_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "sessions.db"
    earlier_database(path)
    carry_over = earlier._carry_over

    def on_a_full_disk(cx: sqlite3.Connection, *statements: tuple[str, ...]) -> None:
        (pages,) = cx.execute("PRAGMA page_count").fetchone()
        cx.execute(f"PRAGMA max_page_count = {pages + 3}")
        carry_over(cx, *statements)

    with monkeypatch.context() as full:
        full.setattr(earlier, "_carry_over", on_a_full_disk)
        with pytest.raises(ConfigurationError, match="full") as refusal:
            prepare(path, "sessions")
    assert "free some space" in str(refusal.value.remedy)
    prepare(path, "sessions")
    assert len(rows_of(path)["sessions"]) == 30
