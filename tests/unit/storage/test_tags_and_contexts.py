import logging
from pathlib import Path

import pytest

from supervisor.errors import InvalidRequest, SessionNotFound
from supervisor.storage.contexts import MOST_CONTEXTS, ContextStore
from supervisor.storage.tags import TagCount, TagStore
from tests.worlds.storage import OTHER, SESSION, Stores, TickingClock, session, stores


async def two_sessions(at: Stores) -> tuple[TagStore, ContextStore]:
    await at.sessions.create_session(session())
    await at.sessions.create_session(session(OTHER))
    return TagStore(at.db, TickingClock()), ContextStore(at.db, TickingClock())


async def test_tags_are_kept_in_one_spelling_and_counted(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        tags, _ = await two_sessions(at)
        assert await tags.add_tag(SESSION, "  Daily  Standup ") == "daily standup"
        await tags.add_tag(SESSION, "DAILY STANDUP")
        await tags.add_tag(OTHER, "daily standup")
        await tags.add_tag(OTHER, "Gärten")
        await tags.add_tag(OTHER, "GA\u0308RTEN")
        await tags.add_tag(OTHER, "İ")
        assert await tags.get_session_tags(SESSION) == ["daily standup"]
        assert await tags.get_session_tags(OTHER) == ["daily standup", "gärten", "i̇"]
        assert [each.id for each in await tags.get_sessions_by_tag("Daily Standup")] == [
            OTHER,
            SESSION,
        ]
        assert [each.id for each in await tags.get_sessions_by_tag("daily standup", 1)] == [OTHER]
        assert (await tags.list_all_tags())[:2] == [
            TagCount("daily standup", 2),
            TagCount("gärten", 1),
        ]
        assert await tags.remove_tag(OTHER, "Daily Standup")
        assert not await tags.remove_tag(OTHER, "daily standup")
        await at.sessions.delete_session(SESSION)
        assert await tags.get_sessions_by_tag("daily standup") == []


@pytest.mark.parametrize("tag", ["", "  ", "x" * 101, "a\0b", "\ud800", "a\u202eb", "\x1b[1m"])
async def test_what_can_be_no_tag_is_refused(tmp_path: Path, tag: str) -> None:
    async with stores(tmp_path) as at:
        tags, _ = await two_sessions(at)
        with pytest.raises(InvalidRequest, match="tag"):
            await tags.add_tag(SESSION, tag)
        assert await tags.list_all_tags() == []


async def test_nothing_is_attached_to_a_session_that_is_not_there(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        tags, contexts = TagStore(at.db), ContextStore(at.db)
        with pytest.raises(SessionNotFound):
            await tags.add_tag(SESSION, "x")
        with pytest.raises(SessionNotFound):
            await contexts.add_session_context(SESSION, "notes")
        with pytest.raises(SessionNotFound):
            await contexts.set_session_contexts(SESSION, [])


async def test_contexts_are_set_added_removed_and_found(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        _, contexts = await two_sessions(at)
        await contexts.set_session_contexts(SESSION, ["Projects/a", "notes/", "./notes", ""])
        assert await contexts.get_session_contexts(SESSION) == ["Projects/a", "notes", ""]
        assert await contexts.add_session_context(SESSION, "Projects//b/") == "Projects/b"
        await contexts.add_session_context(SESSION, "notes")
        await contexts.add_session_context(OTHER, "notes")
        assert await contexts.remove_session_context(SESSION, "Projects/a")
        assert not await contexts.remove_session_context(SESSION, "Projects/a")
        assert await contexts.get_session_contexts(SESSION) == ["notes", "", "Projects/b"]
        found = await contexts.get_sessions_by_context("notes/")
        assert [each.id for each in found] == [OTHER, SESSION]
        await contexts.set_session_contexts(SESSION, [])
        assert await contexts.get_session_contexts(SESSION) == []


@pytest.mark.parametrize("path", ["/etc", "../x", "a/../../x", "~/x", "a\0b", "a\nb", "\ud800"])
async def test_a_context_outside_the_vault_is_refused_and_all_stay_as_they_were(
    tmp_path: Path, path: str
) -> None:
    async with stores(tmp_path) as at:
        _, contexts = await two_sessions(at)
        await contexts.set_session_contexts(SESSION, ["kept"])
        with pytest.raises(InvalidRequest):
            await contexts.set_session_contexts(SESSION, ["a", path])
        many = [str(number) for number in range(MOST_CONTEXTS + 1)]
        with pytest.raises(InvalidRequest, match="at most"):
            await contexts.set_session_contexts(SESSION, many)
        assert await contexts.get_session_contexts(SESSION) == ["kept"]


async def test_contexts_and_tags_written_by_hand_cost_themselves_and_the_log_is_warned(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with stores(tmp_path) as at:
        tags, contexts = await two_sessions(at)
        await contexts.add_session_context(SESSION, "notes")
        await tags.add_tag(SESSION, "good")
        async with at.db.write() as cx:
            for value in ("'../../etc'", "'/etc'", "x'00'", "5", "'notes/sub/'"):
                await cx.execute(
                    f"INSERT INTO session_contexts VALUES (?, {value}, 'yesterday')",  # noqa: S608
                    (SESSION,),
                )
            await cx.execute("INSERT INTO session_tags VALUES (?, x'ff', 5)", (SESSION,))
        with caplog.at_level(logging.WARNING):
            assert await contexts.get_session_contexts(SESSION) == ["notes", "5", "notes/sub"]
        assert caplog.text.count("left out") == 3
        assert await tags.get_session_tags(SESSION) == ["good"]
        assert await tags.list_all_tags() == [TagCount("good", 1)]
