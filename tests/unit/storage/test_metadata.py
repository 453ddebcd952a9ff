from pathlib import Path

import pytest

from supervisor.errors import InvalidRequest
from supervisor.storage.binding import ID_KEY, SEAL_KEY
from supervisor.storage.metadata import MetadataStore
from tests.worlds.storage import stores


async def test_a_value_is_set_replaced_and_removed(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        store = MetadataStore(at.db)
        assert await store.get_metadata("theme") is None
        await store.set_metadata("theme", '{"dark": true}')
        await store.set_metadata("theme", "")
        assert await store.get_metadata("theme") == ""
        assert await store.delete_metadata("theme")
        assert not await store.delete_metadata("theme")


@pytest.mark.parametrize("key", [ID_KEY, SEAL_KEY, "trustfloor.anything", "", "\ud800"])
async def test_the_stores_own_marks_are_out_of_reach(tmp_path: Path, key: str) -> None:
    async with stores(tmp_path) as at:
        store = MetadataStore(at.db)
        for refused in (store.set_metadata(key, "x"), store.get_metadata(key)):
            with pytest.raises(InvalidRequest):
                await refused
        with pytest.raises(InvalidRequest):
            await store.delete_metadata(key)


async def test_a_value_written_by_hand_that_is_no_text_is_none(tmp_path: Path) -> None:
    async with stores(tmp_path) as at:
        store = MetadataStore(at.db)
        async with at.db.write() as cx:
            await cx.execute("INSERT INTO metadata VALUES ('a', x'00', ''), ('b', NULL, '')")
        assert await store.get_metadata("a") is None
        assert await store.get_metadata("b") is None
