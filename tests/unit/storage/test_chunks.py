import logging
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from supervisor.errors import InvalidRequest
from supervisor.storage.chunks import ChunkStore, NewChunk
from supervisor.storage.index_manifest import IndexedContent, ManifestStore
from supervisor.storage.tags import TagStore
from tests.worlds.storage import OTHER, SESSION, TickingClock, session, stores


def piece(index: int = 0, content: str = "doc", text: str = "words", **more: Any) -> NewChunk:
    return NewChunk(
        content_id=content, content_type="document", chunk_index=index, chunk_text=text, **more
    )


async def test_a_chunk_replaces_the_older_one_of_its_name(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        chunks = ChunkStore(at.db, TickingClock())
        await chunks.upsert_chunk(piece(1, text="second"))
        assert await chunks.upsert_chunk(piece(0, text="first")) == "chunk:doc:content:0"
        await chunks.upsert_chunk(piece(0, field="title", text="title"))
        await chunks.upsert_chunk(piece(0, text="newer", embedding=b"\x00\x01"))
        found = await chunks.get_chunks_for_content("doc", "content")
        assert [(each.chunk_text, each.embedding) for each in found] == [
            ("newer", b"\x00\x01"),
            ("second", None),
        ]
        assert found[0].created_at.utcoffset() == timedelta(0)
        assert len(await chunks.get_chunks_for_content("doc")) == 3
        assert await chunks.delete_chunks_for_content("doc") == 3
        assert await chunks.get_chunks_for_content("doc") == []


async def test_names_that_could_be_taken_for_another_are_told_apart_or_refused(
    tmp_path: Path,
) -> None:
    assert piece(content="a:b", field="c").id != piece(content="a", field="c").id
    async with stores(tmp_path) as at:
        chunks = ChunkStore(at.db)
        for bad in (
            piece(field="b:c"),
            piece(field=""),
            piece(-1),
            piece(2**31),
            piece(content=""),
            piece(content="\ud800"),
            piece(text=""),
            piece(text="x" * 100_001),
            piece(text="a\0b"),
            replace(piece(), content_type="Über"),
        ):
            with pytest.raises(InvalidRequest):
                await chunks.upsert_chunk(bad)
        assert await chunks.search_chunks() == []


async def test_chunks_are_found_by_type_and_by_the_tags_of_their_sessions(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        chunks, tags = ChunkStore(at.db), TagStore(at.db)
        for each in (SESSION, OTHER):
            await at.sessions.create_session(session(each))
            await chunks.upsert_chunk(replace(piece(content=each), content_type="session"))
        await chunks.upsert_chunk(piece())
        await tags.add_tag(SESSION, "Red")
        await tags.add_tag(OTHER, "blue")

        async def found(*arguments: Any) -> list[str]:
            return [each.content_id for each in await chunks.search_chunks(*arguments)]

        assert await found() == ["doc", OTHER, SESSION]
        assert await found("session") == [OTHER, SESSION]
        assert await found("session", ["RED"]) == [SESSION]
        assert await found(None, ["red", "blue", "blue"]) == [OTHER, SESSION]
        assert await found("document", ["red"]) == []
        assert await found(None, (), 1) == ["doc"]
        assert await found(None, (), -1) == []


async def test_a_deleted_session_takes_its_chunks_and_nobody_elses(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        chunks, manifest = ChunkStore(at.db), ManifestStore(at.db)
        for each in (SESSION, OTHER):
            await at.sessions.create_session(session(each))
            content = IndexedContent(content_id=each, content_type="session")
            await manifest.replace_content(
                content, [replace(piece(content=each), content_type="session")]
            )
        await at.sessions.delete_session(SESSION)
        assert [each.content_id for each in await chunks.search_chunks()] == [OTHER]
        assert [each.content_id for each in await manifest.list_manifest()] == [OTHER]


async def test_content_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        chunks, manifest = ChunkStore(at.db), ManifestStore(at.db, TickingClock())
        content = IndexedContent(
            content_id="doc",
            content_type="document",
            content_hash="h1",
            title="T",
            metadata={"a": 1},
        )
        await manifest.replace_content(content, [piece(0), piece(1), piece(2)])
        await manifest.replace_content(replace(content, content_hash="h2"), [piece(0)])
        entry = await manifest.get_manifest("doc")
        assert entry is not None
        assert (entry.content_hash, entry.chunk_count, entry.metadata) == ("h2", 1, {"a": 1})
        for wrong in (piece(0, content="other"), piece(0, text="")):
            with pytest.raises(InvalidRequest):
                await manifest.replace_content(content, [piece(0), wrong])
        assert len(await chunks.get_chunks_for_content("doc")) == 1
        assert await manifest.remove_content("doc")
        assert not await manifest.remove_content("doc")
        assert await manifest.get_manifest("doc") is None
        assert await chunks.get_chunks_for_content("doc") == []


async def test_what_is_indexed_is_listed_in_pages_by_type(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        manifest = ManifestStore(at.db)
        for number in range(5):
            kind = "journal" if number % 2 else "document"
            await manifest.replace_content(
                IndexedContent(content_id=f"c{number}", content_type=kind), []
            )

        async def listed(*arguments: Any) -> list[str]:
            return [each.content_id for each in await manifest.list_manifest(*arguments)]

        assert await listed() == ["c0", "c1", "c2", "c3", "c4"]
        assert await listed("journal") == ["c1", "c3"]
        assert await listed(None, 2) == ["c0", "c1"]
        assert await listed("document", 2, "c0") == ["c2", "c4"]


async def test_rows_written_by_hand_cost_themselves_only(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with stores(tmp_path) as at:
        chunks, manifest = ChunkStore(at.db), ManifestStore(at.db)
        for index in range(6):
            await chunks.upsert_chunk(piece(index))
        await manifest.replace_content(
            IndexedContent(content_id="m", content_type="document", content_hash="h"), []
        )
        async with at.db.write() as cx:
            changes = (
                "chunk_text = x'ff'", "embedding = 'text'", "created_at = 5", "chunk_index = 'x'",
            )  # fmt: skip
            for index, change in enumerate(changes):
                await cx.execute(f"UPDATE chunks SET {change} WHERE chunk_index = {index}")  # noqa: S608
            await cx.execute(
                "UPDATE index_manifest SET content_hash = x'00', metadata = '[', chunk_count = 'n',"
                " indexed_at = ''"
            )
        with caplog.at_level(logging.WARNING):
            left = await chunks.get_chunks_for_content("doc")
            entry = await manifest.get_manifest("m")
        assert [each.chunk_index for each in left] == [4, 5]
        assert entry is not None
        assert set(entry.damaged) == {"content_hash", "metadata", "chunk_count", "indexed_at"}
        assert entry.content_hash is None
        assert caplog.text.count("left out") == 4
