"""The list of sessions: what each filter lets through, page by page, and that nothing is sorted."""

import random
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from supervisor.errors import InvalidRequest
from supervisor.ids import SessionId
from supervisor.storage import listing
from supervisor.storage.listing import Filters
from supervisor.storage.session import Session, SessionCreate
from supervisor.storage.tags import TagStore
from supervisor.storage.timestamp import from_text
from supervisor.trust.levels import TrustLevel
from tests.worlds.storage import Stores, stores

COMBINATIONS = [
    Filters(module=module, archived=archived, agent_type=agent_type, workspace=workspace)
    for module, archived, agent_type, workspace in product(
        (None, "daily"), (None, False, True), (None, "helper"), (None, "garden")
    )
]
CURSORS = [None, "2026-03-01T10:00:00.000000+00:00|7", "~|7"]


@pytest.mark.parametrize("cursor", CURSORS)
async def test_every_page_is_read_from_an_index_and_never_sorted_or_scanned(
    tmp_path: Path, cursor: str | None
) -> None:
    async with stores(tmp_path) as at:
        for filters in COMBINATIONS:
            query = listing.page(filters, 50, before=cursor)
            plan = await at.db.rows(f"EXPLAIN QUERY PLAN {query.sql}", query.parameters)
            steps = [row["detail"] for row in plan]
            reads = [step for step in steps if step.startswith(("SCAN", "SEARCH"))]
            assert not any("TEMP B-TREE" in step for step in steps), (filters, steps)
            for read in reads:
                # The list without any filter or cursor begins at the end of an index.
                walks = read == "SCAN sessions USING INDEX idx_sessions_last_accessed"
                by_number = read == "SEARCH sessions USING INTEGER PRIMARY KEY (rowid=?)"
                finds = read.startswith("SEARCH sessions USING INDEX idx_sessions_")
                if filters == Filters() and cursor is None:
                    assert walks, (filters, read)
                else:
                    assert finds or by_number, (filters, read)
                if finds:
                    given = [filters.module, filters.agent_type, filters.workspace]
                    used = read.count("=?") - read.count("<expr>=?")
                    assert used == sum(each is not None for each in given), (filters, read)


@pytest.mark.parametrize("cursor", CURSORS)
async def test_a_page_of_a_tag_reads_the_sessions_that_have_it_and_no_others(
    tmp_path: Path, cursor: str | None
) -> None:
    async with stores(tmp_path) as at:
        for filters in COMBINATIONS:
            query = listing.page(replace(filters, tag="plans"), 50, before=cursor)
            plan = await at.db.rows(f"EXPLAIN QUERY PLAN {query.sql}", query.parameters)
            reads = [row["detail"] for row in plan]
            assert "SEARCH sessions USING INDEX sqlite_autoindex_sessions_1 (id=?)" in reads
            assert "SEARCH session_tags USING INDEX idx_session_tags_tag (tag=?)" in reads
            assert not any(each.startswith("SCAN") for each in reads), (filters, reads)


async def test_counts_are_read_from_an_index(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        for filters in COMBINATIONS:
            query = listing.count(filters)
            plan = await at.db.rows(f"EXPLAIN QUERY PLAN {query.sql}", query.parameters)
            assert all("INDEX" in row["detail"] for row in plan), filters


def lets_through(filters: Filters, session: Session) -> bool:
    return all(
        getattr(filters, name) in (None, getattr(session, name))
        for name in ("module", "archived", "agent_type", "workspace")
    )


async def filled(at: Stores, number: int) -> list[Session]:
    """Sessions of every kind, several of each moment; the last accessed first."""
    chance = random.Random(4)  # noqa: S311 - which rows, no secret
    await at.workspaces.put("garden", floor=TrustLevel.VAULT)
    made = []
    for each in range(number):
        session = await at.sessions.create_session(
            SessionCreate(
                id=SessionId(f"00000000-0000-4000-8000-{each:012}"),
                trust_level=TrustLevel.VAULT,
                workspace=chance.choice(("default", "garden")),
                module=chance.choice(("chat", "daily")),
                agent_type=chance.choice((None, "helper", "other")),
                archived=chance.random() < 0.4,
                last_accessed=from_text(f"2026-03-01T10:00:{chance.randrange(12):02}+00:00"),
            )
        )
        made.append((session.last_accessed, each, session))
    return [session for *_, session in sorted(made, key=lambda each: each[:2], reverse=True)]


async def test_pages_by_cursor_and_by_offset_hold_what_the_filters_let_through(
    tmp_path: Path,
) -> None:
    async with stores(tmp_path) as at:
        every = await filled(at, 120)
        for filters in COMBINATIONS:
            options: dict[str, Any] = {
                "module": filters.module,
                "agent_type": filters.agent_type,
                "workspace": filters.workspace,
            }
            expected = [each.id for each in every if lets_through(filters, each)]
            by_cursor, before = list[str](), None
            while page := await at.sessions.list_sessions(
                7, archived=filters.archived, before=before, **options
            ):
                by_cursor += [each.id for each in page]
                before = page[-1].cursor
            by_offset = list[str]()
            while page := await at.sessions.list_sessions(
                9, archived=filters.archived, offset=len(by_offset), **options
            ):
                by_offset += [each.id for each in page]
            assert by_cursor == expected, filters
            assert by_offset == expected, filters
            counted = await at.sessions.get_session_count(archived=filters.archived, **options)
            assert counted == len(expected)


async def test_pages_of_a_tag_hold_the_sessions_that_have_it(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        every = await filled(at, 60)
        tagged = {each.id for each in every[::3]}
        tags = TagStore(at.db)
        for each in sorted(tagged):
            await tags.add_tag(each, "Plans")
        await tags.add_tag(every[1].id, "home")
        for filters in COMBINATIONS:
            options: dict[str, Any] = {
                "module": filters.module,
                "agent_type": filters.agent_type,
                "workspace": filters.workspace,
                "archived": filters.archived,
            }
            found, before = list[str](), None
            while page := await at.sessions.list_sessions(
                4, tag=" PLANS ", before=before, **options
            ):
                found += [each.id for each in page]
                before = page[-1].cursor
            assert found == [e.id for e in every if e.id in tagged and lets_through(filters, e)]
        assert await at.sessions.list_sessions(tag="nobody's") == []
        with pytest.raises(InvalidRequest):
            await at.sessions.list_sessions(tag="\0")


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "x|",
        "|",
        "x|y",
        "x|1.5",
        "x|\uff11",
        "a\nb|1",
        f"x|{2**63}",
        f"x|{'9' * 5000}",
        "x|--1",
    ],
)
async def test_what_is_no_cursor_is_refused(tmp_path: Path, cursor: str) -> None:
    async with stores(tmp_path) as at:
        with pytest.raises(InvalidRequest, match="cursor"):
            await at.sessions.list_sessions(before=cursor)


@pytest.mark.parametrize(
    "moments",
    [
        ["x'00ff'", "x'00'", "CAST(x'ff80' AS TEXT)", "CAST(x'80' AS TEXT)", "''", "'~'"],
        ["5", "-1e999", "'yesterday'", "'2020-01-01 10:00:00'", "'a|b'", "char(10)"],
    ],
)
async def test_rows_with_any_moment_written_by_hand_are_listed_once_page_by_page(
    tmp_path: Path, moments: list[str]
) -> None:
    async with stores(tmp_path) as at:
        every = await filled(at, 20)
        async with at.db.write() as cx:
            for session, moment in zip(every, moments, strict=False):
                await cx.execute(
                    f"UPDATE sessions SET last_accessed = {moment} WHERE id = ?",  # noqa: S608
                    (session.id,),
                )
        for archived in (None, False, True):
            seen, before = list[str](), None
            while page := await at.sessions.list_sessions(1, archived=archived, before=before):
                seen += [each.id for each in page]
                before = page[-1].cursor
                assert len(seen) <= len(every)
            assert len(set(seen)) == len(seen)
            assert set(seen) == {
                each.id for each in every if archived is None or each.archived is archived
            }


async def test_a_row_archived_by_hand_with_any_value_is_in_one_list_and_flagged(
    tmp_path: Path,
) -> None:
    async with stores(tmp_path) as at:
        every = await filled(at, 3)
        async with at.db.write() as cx:
            for session, value in zip(every, ("'yes'", "2", "x'00'"), strict=True):
                await cx.execute(
                    f"UPDATE sessions SET archived = {value} WHERE id = ?",  # noqa: S608
                    (session.id,),
                )
        put_away = await at.sessions.list_sessions(archived=True)
        assert [(each.archived, each.damaged) for each in put_away] == [(True, ("archived",))] * 3
        assert await at.sessions.list_sessions(archived=False) == []


async def test_a_page_is_never_longer_than_the_limit_allows(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        every = await filled(at, 3)
        assert await at.sessions.list_sessions(0) == []
        assert await at.sessions.list_sessions(-1) == []
        assert await at.sessions.list_sessions(10**30, offset=-5) == every
        assert await at.sessions.list_sessions(offset=10**30) == []
