import asyncio
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from pydantic import ValidationError

from supervisor.errors import InvalidRequest, SessionBusy, SessionNotFound
from supervisor.ids import new_session_id
from supervisor.policy.session_permissions import NOTHING_UNASKED, SessionPermissions
from supervisor.storage.session import SessionCreate, SessionUpdate
from supervisor.storage.session_source import SessionSource
from supervisor.storage.turns import Used
from supervisor.trust.levels import TrustLevel
from tests.worlds.storage import OTHER, SESSION, TURN, Stores, session, stores


async def spoil(at: Stores, column: str, value: object) -> None:
    async with at.db.write() as cx:
        await cx.execute("PRAGMA ignore_check_constraints = ON")
        await cx.execute(f"UPDATE sessions SET {column} = ? WHERE id = ?", (value, SESSION))  # noqa: S608
        await cx.execute("PRAGMA ignore_check_constraints = OFF")


async def test_what_is_created_is_there_after_a_restart(tmp_path: Path) -> None:
    new = SessionCreate(
        id=SESSION,
        trust_level=TrustLevel.SANDBOXED,
        workspace="default",
        title="Gärten 🌱",
        working_directory="notes",
        agent_path="agents/a.md",
        metadata={"trust_mode": True, "odd": "\ud800"},
    )
    async with stores(tmp_path) as at:
        created = await at.sessions.create_session(new)
    async with stores(tmp_path) as at:
        found = await at.sessions.get_session(SESSION)
    assert found == created
    assert found.trust_level is TrustLevel.SANDBOXED
    assert found.title == "Gärten 🌱"
    assert found.metadata == {"trust_mode": True, "odd": "\ufffd"}
    assert found.created_at.utcoffset() == timedelta(0)
    assert found.damaged == ()


async def test_an_id_is_taken_once_and_the_workspace_must_exist(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        with pytest.raises(InvalidRequest, match="exists"):
            await at.sessions.create_session(session())
        with pytest.raises(InvalidRequest, match="nowhere"):
            await at.sessions.create_session(
                SessionCreate(id=OTHER, trust_level=TrustLevel.FULL, workspace="nowhere")
            )
        with pytest.raises(InvalidRequest, match="nowhere"):
            await at.sessions.update_session(SESSION, SessionUpdate(workspace="nowhere"))


async def test_a_row_without_a_trust_level_can_not_be_stored(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        with pytest.raises(Exception, match=r"NOT NULL constraint failed: sessions\.trust_level"):
            async with at.db.write() as cx:
                await cx.execute(
                    "INSERT INTO sessions (id, created_at, last_accessed, workspace)"
                    " VALUES ('x', '', '', 'default')"
                )


@pytest.mark.parametrize("stored", ["root", "FULL", "", b"full", 0])
async def test_an_unknown_trust_level_is_the_strictest_and_the_row_is_flagged(
    tmp_path: Path, stored: object
) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session(level=TrustLevel.FULL))
        await spoil(at, "trust_level", stored)
        found = await at.sessions.get_session(SESSION)
    assert found.trust_level is TrustLevel.SANDBOXED
    assert "trust_level" in found.damaged


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("metadata", "{not json"),
        ("metadata", "[1]"),
        ("metadata", '{"a": NaN}'),
        ("metadata", '{"a": -Infinity}'),
        ("metadata", b"{}"),
        ("metadata", '{"a": ' + "1" * 5000 + "}"),
        ("metadata", "[" * 100_000),
        ("last_accessed", "yesterday"),
        ("created_at", 5),
        ("message_count", "many"),
        ("message_count", float("inf")),
        ("tokens_used", float("-inf")),
        ("cost_usd", float("inf")),
        ("created_at", "0001-01-01T00:00:00+14:00"),
        ("title", b"\xff"),
    ],
)
async def test_a_corrupt_column_costs_only_itself(
    tmp_path: Path, column: str, value: object
) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        await at.sessions.create_session(session(OTHER))
        await spoil(at, column, value)
        listed = {found.id: found for found in await at.sessions.list_sessions()}
    assert listed[OTHER].damaged == ()
    assert listed[SESSION].damaged == (column,)
    assert listed[SESSION].trust_level is TrustLevel.VAULT


async def test_a_text_that_is_no_utf8_costs_its_own_characters_and_nothing_else(
    tmp_path: Path,
) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        async with at.db.write() as cx:
            await cx.execute("UPDATE sessions SET title = CAST(x'ff6f6b' AS TEXT)")
        (listed,) = await at.sessions.list_sessions()
    assert listed.title == "\ufffdok"


async def test_pages_of_the_list_hold_every_session_once_the_newest_first(
    tmp_path: Path,
) -> None:
    async with stores(tmp_path) as at:
        ids = [new_session_id() for _ in range(7)]
        for each in ids:
            await at.sessions.create_session(session(each))
        await at.sessions.touch_session(ids[0])
        await at.sessions.archive_session(ids[3])
        same_moment = (await at.sessions.get_session(ids[5])).last_accessed.isoformat(
            "T", "microseconds"
        )
        async with at.db.write() as cx:
            await cx.execute(
                "UPDATE sessions SET last_accessed = ? WHERE id IN (?, ?)",
                (same_moment, ids[4], ids[6]),
            )
        seen, before = [], None
        while page := await at.sessions.list_sessions(2, before=before):
            seen += [found.id for found in page]
            before = page[-1].cursor
        archived = await at.sessions.list_sessions(archived=True)
        active = await at.sessions.list_sessions(archived=False)
        with pytest.raises(InvalidRequest, match="cursor"):
            await at.sessions.list_sessions(before="x")
    assert sorted(seen) == sorted(ids)
    assert seen[0] == ids[0]
    assert [found.id for found in archived] == [ids[3]]
    assert len(active) == 6


async def test_an_update_changes_what_is_given_and_marks_the_access(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        before = await at.sessions.create_session(session())
        after = await at.sessions.update_session(
            SESSION,
            SessionUpdate(title="t", trust_level=TrustLevel.SANDBOXED, metadata={"a": 1}),
        )
        again = await at.sessions.update_session(SESSION, SessionUpdate())
        with pytest.raises(SessionNotFound):
            await at.sessions.update_session(OTHER, SessionUpdate(title="t"))
        with pytest.raises(ValidationError):
            SessionUpdate.model_validate({"id = id; --": "x"})
    assert (after.title, after.trust_level, after.metadata) == (
        "t",
        TrustLevel.SANDBOXED,
        {"a": 1},
    )
    assert after.workspace == before.workspace
    assert before.last_accessed < after.last_accessed < again.last_accessed


async def test_counts_are_added_and_never_lost(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        await asyncio.gather(
            *(at.sessions.increment_message_count(SESSION) for _ in range(20)),
            *(at.sessions.add_spending(SESSION, Used(10, 0.25)) for _ in range(20)),
        )
        found = await at.sessions.get_session(SESSION)
        with pytest.raises(ValueError, match="negative"):
            await at.sessions.add_spending(SESSION, Used(-1, 0))
        with pytest.raises(SessionNotFound):
            await at.sessions.add_spending(OTHER, Used(1, 0))
    assert (found.message_count, found.tokens_used, found.cost_usd) == (20, 200, 5.0)


async def test_a_deleted_session_is_gone_with_its_turns_but_not_while_one_runs(
    tmp_path: Path,
) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        await at.turns.begin(TURN, SESSION, TrustLevel.VAULT)
        with pytest.raises(SessionBusy):
            await at.sessions.delete_session(SESSION)
        await at.turns.end(TURN, "done")
        await at.sessions.delete_session(SESSION)
        assert await at.sessions.find_session(SESSION) is None
        assert await at.turns.get(TURN) is None
        with pytest.raises(SessionNotFound):
            await at.sessions.delete_session(SESSION)


async def test_archiving_is_undone_by_unarchiving(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        await at.sessions.archive_session(SESSION)
        assert (await at.sessions.get_session(SESSION)).archived
        await at.sessions.unarchive_session(SESSION)
        assert not (await at.sessions.get_session(SESSION)).archived


async def test_a_session_from_elsewhere_keeps_its_own_moments(tmp_path: Path) -> None:
    begun = datetime(2024, 5, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    new = SessionCreate(
        id=SESSION,
        trust_level=TrustLevel.SANDBOXED,
        workspace="default",
        source=SessionSource.CHATGPT,
        created_at=begun,
        last_accessed=begun,
        message_count=12,
        archived=True,
        transcript_path=".claude/projects/-v/x.jsonl",
    )
    async with stores(tmp_path) as at:
        created = await at.sessions.create_session(new)
        (row,) = await at.db.rows("SELECT created_at, archived FROM sessions")
    assert (row["created_at"], row["archived"]) == ("2024-05-01T10:00:00.000000+00:00", 1)
    assert (created.created_at, created.message_count, created.archived) == (begun, 12, True)
    assert (created.source, created.transcript_path) == (new.source, new.transcript_path)


async def test_an_update_empties_what_may_be_empty_and_nothing_else(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        await at.sessions.update_session(
            SESSION, SessionUpdate(title="t", metadata={"a": 1}, module="daily", archived=True)
        )
        emptied = await at.sessions.update_session(
            SESSION, SessionUpdate(title=None, metadata=None, module=None, trust_level=None)
        )
    assert (emptied.title, emptied.metadata) == (None, {})
    assert (emptied.module, emptied.archived) == ("daily", True)
    assert emptied.trust_level is TrustLevel.VAULT


async def test_permissions_are_in_the_metadata_and_damaged_ones_permit_nothing(
    tmp_path: Path,
) -> None:
    asked = SessionPermissions(read=("notes/*",), trust_mode=False)
    async with stores(tmp_path) as at:
        before = await at.sessions.create_session(session())
        assert before.permissions == SessionPermissions()
        assert before.own_permissions is None
        changed = before.with_permissions(asked)
        await at.sessions.update_session(SESSION, SessionUpdate(metadata=changed.metadata))
        assert (await at.sessions.get_session(SESSION)).permissions == asked
        for damage in ('{"permissions": {"bash": "all"}}', '{"permissions": null}', "{", "[]"):
            await spoil(at, "metadata", damage)
            found = await at.sessions.get_session(SESSION)
            assert found.permissions == found.own_permissions == NOTHING_UNASKED
            assert found.damaged in {("metadata",), ("metadata.permissions",)}
        mended = found.with_permissions(asked)
        assert (mended.permissions, mended.damaged) == (NOTHING_UNASKED, ("metadata",))
        await spoil(at, "metadata", '{"permissions": 5}')
        mended = (await at.sessions.get_session(SESSION)).with_permissions(asked)
        assert (mended.permissions, mended.damaged) == (asked, ())


@pytest.mark.parametrize(
    "stored",
    [
        "2026-03-01T10:00:00Z",
        "2026-03-01T10:00:00",
        "2026-03-01 10:00:00",
        "2026-03-01T12:00+02:00",
    ],
)
async def test_moments_are_read_in_every_form_that_programs_write(
    tmp_path: Path, stored: str
) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        await spoil(at, "created_at", stored)
        found = await at.sessions.get_session(SESSION)
    assert found.created_at == datetime(2026, 3, 1, 10, tzinfo=UTC)
    assert found.created_at.utcoffset() == timedelta(0)


async def test_half_a_letter_in_stored_metadata_costs_its_place(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        await spoil(at, "metadata", '{"\\uD800": "\\udc00", "whole": "\\ud83c\\udf31"}')
        found = await at.sessions.get_session(SESSION)
    assert found.metadata == {"\ufffd": "\ufffd", "whole": "🌱"}
    assert found.damaged == ()


async def test_an_id_written_by_hand_costs_that_row_only(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        await at.sessions.create_session(session(OTHER))
        async with at.db.write() as cx:
            await cx.execute("UPDATE sessions SET id = x'00' WHERE id = ?", (SESSION,))
            await cx.execute(
                "INSERT INTO sessions (id, created_at, last_accessed, trust_level, workspace)"
                " VALUES (NULL, '', '', 'vault', 'default')"
            )
        listed = await at.sessions.list_sessions()
    assert sum("id" in each.damaged for each in listed) == 2
    assert OTHER in {each.id for each in listed}


async def test_old_archived_sessions_are_cleaned_up_and_no_others(tmp_path: Path) -> None:
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    kinds = ("old", "recent", "active", "running", "damaged", "naive")
    ids = {kind: new_session_id() for kind in kinds}
    async with stores(tmp_path) as at:
        for kind, session_id in ids.items():
            await at.sessions.create_session(
                SessionCreate(
                    id=session_id,
                    trust_level=TrustLevel.VAULT,
                    workspace="default",
                    archived=kind != "active",
                    last_accessed=None if kind == "recent" else long_ago,
                )
            )
        await at.turns.begin(TURN, ids["running"], TrustLevel.VAULT)
        async with at.db.write() as cx:
            for kind, stored in (("damaged", "yesterday"), ("naive", "2020-01-01 00:00:00")):
                await cx.execute(
                    "UPDATE sessions SET last_accessed = ? WHERE id = ?", (stored, ids[kind])
                )
        gone = await at.sessions.cleanup_old_sessions(30)
        left = {each.id for each in await at.sessions.list_sessions()}
        assert set(gone) == {ids["old"], ids["naive"]}
        assert left == set(ids.values()) - set(gone)
        assert await at.sessions.cleanup_old_sessions(0) == [ids["recent"]]
        assert await at.sessions.cleanup_old_sessions(10**9) == []
        with pytest.raises(InvalidRequest, match="negative"):
            await at.sessions.cleanup_old_sessions(-1)


async def test_keys_of_the_metadata_are_changed_by_many_at_once_and_none_is_lost(
    tmp_path: Path,
) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        await asyncio.gather(
            *(at.sessions.merge_metadata(SESSION, {f"k{n}": n}) for n in range(20)),
        )
        merged = await at.sessions.merge_metadata(SESSION, {"k0": None, "k1": [1]})
        assert merged.metadata == {"k1": [1], **{f"k{n}": n for n in range(2, 20)}}
        assert merged.permissions == SessionPermissions()


@pytest.mark.parametrize("damage", ["{", '{"n": 1, "permissions": 5}'])
async def test_to_change_a_key_of_damaged_metadata_permits_nothing_more(
    tmp_path: Path, damage: str
) -> None:
    async with stores(tmp_path) as at:
        await at.sessions.create_session(session())
        await spoil(at, "metadata", damage)
        merged = await at.sessions.merge_metadata(SESSION, {"k": 1})
        assert merged.metadata["k"] == 1
        assert merged.permissions == NOTHING_UNASKED
        given = {"permissions": SessionPermissions().model_dump(mode="json")}
        mended = await at.sessions.merge_metadata(SESSION, given)
        assert (mended.permissions, mended.damaged) == (SessionPermissions(), ())
