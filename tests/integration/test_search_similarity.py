"""Similarity in search: what means the same is found, and only what may leave is sent."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.search.embeds import EmbeddingsFailed
from supervisor.search.finding import NO_SIMILARITY
from supervisor.settings import Settings
from tests.worlds.embeddings import KEY, EmbeddingsServer, embeddings_server, embeds_of
from tests.worlds.search import SearchWorld, said, search_world

CANARY = "CANARY7f3a"
Worlds = tuple[SearchWorld, EmbeddingsServer]


@pytest.fixture
async def worlds(tmp_path: Path) -> AsyncIterator[Worlds]:
    async with (
        embeddings_server() as server,
        embeds_of(server) as embeds,
        search_world(tmp_path, embeds=embeds) as world,
    ):
        yield world, server


def vectors(world: SearchWorld) -> list[bytes | None]:
    with closing(sqlite3.connect(world.db.path)) as cx:
        return [row[0] for row in cx.execute("SELECT embedding FROM chunks ORDER BY number")]


async def test_what_means_the_same_is_found_and_what_has_the_words_too_comes_first(
    worlds: Worlds,
) -> None:
    world, server = worlds
    world.write("a.md", "my automobile stands in the yard")
    world.write("b.md", "a car, for driving")
    world.write("c.md", "pear and apple")
    session = await world.session(said("user", "which vehicle is yours?", 0))
    await world.update()
    assert (await world.found("car"))[0] == "b.md"
    assert set((await world.found("car"))[:3]) == {"a.md", "b.md", session}
    assert await world.found("car", types=("session",)) == [session]
    (hit, *_) = (await world.ask("orchard")).hits
    assert (hit.found.content_id, hit.shown.marks, hit.line) == ("c.md", (), 1)
    first = await world.ask("car", limit=2)
    rest = await world.ask("car", limit=2, after=first.next)
    names = [hit.found.content_id for hit in first.hits + rest.hits]
    assert sorted(names) == sorted({"a.md", "b.md", "c.md", session})
    assert server.keys == {f"Bearer {KEY.get_secret_value()}"}
    assert server.models == {"m"}


async def test_a_piece_is_sent_once_and_again_only_when_it_has_changed(worlds: Worlds) -> None:
    world, server = worlds
    world.write("a.md", "# One\n\nsea\n\n# Two\n\napple\n")
    await world.update()
    assert len(server.texts) == 2
    await world.update(anew=True)
    assert len(server.texts) == 2
    (world.vault / "a.md").rename(world.vault / "b.md")
    await world.update()
    assert len(server.texts) == 2
    world.write("b.md", "# One\n\nsea\n\n# Two\n\npear\n")
    await world.update()
    assert len(server.texts) == 3
    assert "pear" in server.texts[-1]
    assert all(vectors(world))


async def test_no_denied_text_is_sent_and_none_that_became_denied(worlds: Worlds) -> None:
    world, server = worlds
    world.write("secret.md", CANARY)
    world.write("open.md", "control7f3a")
    await world.update()
    assert any("control7f3a" in text for text in server.texts)
    assert not any(CANARY in text for text in server.texts)
    world.write("private.md", f"{CANARY} too")
    world.hidden = DenyList((*world.hidden.rules, DenyRule("p", "p", names=("private*",))))
    await world.update()
    assert not any(CANARY in text for text in server.texts)
    world.hidden = DenyList(world.hidden.rules[:1])
    await world.update()
    assert any(CANARY in text for text in server.texts)  # the control: now it may go


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (500, {}),
        (307, None),
        (200, {}),
        (200, {"data": []}),
        (200, {"data": [{"index": 0, "embedding": []}]}),
        (200, {"data": [{"index": 0, "embedding": ["x"]}]}),
        (200, {"data": [{"index": 7, "embedding": [1.0]}]}),
        (200, [1]),
    ],
)
async def test_without_vectors_search_goes_by_words_and_says_so(
    worlds: Worlds, status: int, answer: Any
) -> None:
    world, server = worlds
    server.status, server.answer = status, answer
    world.write("a.md", "a car")
    report = await world.update()
    assert report.texts.read + report.texts.unchanged == 1
    found = await world.ask("car")
    assert [hit.found.content_id for hit in found.hits] == ["a.md"]
    assert found.notes == (NO_SIMILARITY,)
    assert vectors(world) == [None]
    server.status, server.answer = 200, None
    await world.update()
    assert (await world.ask("automobile")).hits


async def test_vectors_of_another_model_are_made_anew_and_never_compared(tmp_path: Path) -> None:
    async with embeddings_server() as server:
        async with (
            embeds_of(server) as embeds,
            search_world(tmp_path, embeds=embeds) as world,
        ):
            world.write("a.md", "a car")
            await world.update()
        async with (
            embeds_of(server, "other") as embeds,
            search_world(tmp_path, embeds=embeds) as world,
        ):
            server.texts.clear()
            await world.update()
            assert any("a car" in text for text in server.texts)
            assert await world.found("automobile") == ["a.md"]


async def test_vectors_that_were_written_by_hand_cost_themselves_only(worlds: Worlds) -> None:
    world, _ = worlds
    world.write("a.md", "a car")
    world.write("b.md", "driving")
    await world.update()
    with closing(sqlite3.connect(world.db.path)) as cx:
        cx.execute("UPDATE chunks SET embedding = x'0102' WHERE content_id = 'a.md'")
        cx.commit()
    assert await world.found("vehicle") == ["b.md"]


async def test_the_key_and_the_text_are_in_no_error(worlds: Worlds) -> None:
    _, server = worlds
    server.status = 500
    async with embeds_of(server) as embeds:
        with pytest.raises(EmbeddingsFailed) as failed:
            await embeds.embed([CANARY])
    told = f"{failed.value!r} {failed.value.message} {failed.value.where} {failed.value.remedy}"
    assert KEY.get_secret_value() not in told
    assert CANARY not in told


@pytest.mark.parametrize("url", ["file:///etc/passwd", "localhost", "http://me:secret@localhost/"])
def test_an_address_that_is_none_or_holds_a_password_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="address"):
        Settings(embeddings_url=url)
