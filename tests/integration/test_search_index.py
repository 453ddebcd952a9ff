"""The search index over real files: what is in it, where, and that it follows what changes."""

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from supervisor.errors import InvalidRequest
from supervisor.search.put import BATCH
from tests.worlds.search import SearchWorld, said, search_world
from tests.worlds.storage import ROOT
from tests.worlds.waiting import A_WHILE


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[SearchWorld]:
    async with search_world(tmp_path) as made:
        yield made


async def test_a_sessions_words_are_found_with_the_number_of_their_message(
    world: SearchWorld,
) -> None:
    result = b'[{"type": "tool_result", "tool_use_id": "t", "content": "zirconium"}]'
    session = await world.session(
        said("user", "tell me about apples", 0),
        said("assistant", "Apples are **fruit**.", 1, id="m1"),
        said("assistant", "They grow on trees.", 2, id="m1"),
        b'{"type": "user", "message": {"content": ' + b"\n",
        said("user", "and pears?", 4),
        title="About fruit",
    )
    world.say(session, said("user", "", 5).replace(b'""', result))
    await world.update()
    (hit,) = (await world.ask("trees")).hits
    assert (hit.found.content_id, hit.message, hit.line) == (session, 2, None)
    assert hit.found.title == "About fruit"
    assert [hit.message for hit in (await world.ask("pears")).hits] == [3]
    assert await world.found("fruit apples") == [session]
    assert await world.found("zirconium") == []  # a tool's words are nobody's
    world.check()


async def test_both_sides_of_a_session_and_what_it_brought_are_one_conversation(
    world: SearchWorld,
) -> None:
    session = await world.session(said("user", "alpha one", 10), said("user", "delta four", 40))
    world.say(session, said("assistant", "gamma three", 30, id="m"), side="sandboxed")
    world.say(session, said("user", "brought before", 1), side="brought")
    await world.update()
    numbers = {
        word: (await world.ask(word)).hits[0].message
        for word in ("brought", "alpha", "gamma", "delta")
    }
    assert numbers == {"brought": 1, "alpha": 2, "gamma": 3, "delta": 4}


async def test_a_text_is_found_with_its_heading_and_line_and_titles_weigh_more(
    world: SearchWorld,
) -> None:
    world.write("Notes/fruit.md", "# Fruit\n\nintro\n\n## Pears\n\nthey are\ngreen, mostly\n")
    world.write("Notes/other.md", "# Other\n\nfruit " + "and so on " * 50)
    world.write("journal/2026-01-02.md", "a day with fruit")
    world.write("2026-01-03.txt", "another day: fruit")
    await world.update()
    (hit,) = (await world.ask("mostly")).hits
    assert (hit.found.source_path, hit.found.heading, hit.line) == (
        "Notes/fruit.md",
        "Fruit > Pears",
        8,
    )
    hits = (await world.ask("fruit")).hits
    assert hits[0].found.content_id == "Notes/fruit.md"
    assert len(hits) == 4
    assert [hit.rank for hit in hits] == [1, 2, 3, 4]
    assert sorted(await world.found("fruit", types=("journal",))) == [
        "2026-01-03.txt",
        "journal/2026-01-02.md",
    ]
    with pytest.raises(InvalidRequest):
        await world.found("fruit", types=("letters",))


async def test_the_place_is_where_the_text_has_the_words_also_if_the_title_does(
    world: SearchWorld,
) -> None:
    await world.session(
        said("user", "hello", 0),
        said("user", "what about the ferry to the island, and when does it go?", 1),
        said("user", "no", 2),
        title="The ferry",
    )
    await world.update()
    (hit,) = (await world.ask("ferry")).hits
    assert (hit.message, hit.found.matches) == (2, 3)
    (hit,) = (await world.ask("the ferry hello")).hits
    assert hit.message == 1


async def test_tags_of_sessions_and_of_texts_narrow_a_search(world: SearchWorld) -> None:
    one = await world.session(said("user", "words", 0))
    await world.session(said("user", "words", 0))
    await world.tags.add_tag(one, "Work")
    world.write("a.md", "---\ntags: [work, '#Home']\ntitle: Said so\n---\nwords\n")
    world.write("b.md", "---\ntags: home, garden\n---\nwords\n")
    world.write("c.md", "---\ntags: &a [*a]\n---\nwords\n")
    world.write("d.md", "words")
    await world.update()
    assert set(await world.found("words", tags=("WORK",))) == {one, "a.md"}
    assert set(await world.found("words", tags=("home",))) == {"a.md", "b.md"}
    assert set(await world.found("words", tags=("garden", "work"))) == {one, "a.md", "b.md"}
    assert await world.found('"said so"') == ["a.md"]
    assert len(await world.found("words")) == 6


async def test_pages_hold_everything_once_and_a_cursor_is_good_for_its_question_only(
    world: SearchWorld,
) -> None:
    for number in range(25):
        world.write(f"n{number}.md", "common words")
    await world.update()
    seen: list[str] = []
    after: str | None = None
    for _ in range(3):
        page = await world.ask("common", limit=10, after=after)
        seen += [hit.found.content_id for hit in page.hits]
        after = page.next
    assert after is None
    assert sorted(seen) == sorted(f"n{number}.md" for number in range(25))
    cursor = (await world.ask("common", limit=10)).next
    for wrong in ({"after": "nonsense"}, {"after": cursor, "types": ("journal",)}):
        with pytest.raises(InvalidRequest):
            await world.ask("common", **wrong)
    with pytest.raises(InvalidRequest):
        await world.ask("words", after=cursor)


async def test_what_has_not_changed_is_neither_read_nor_written(
    world: SearchWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.write("a.md", "# One\n\nalpha\n")
    session = await world.session(said("user", "beta", 0))
    first = await world.update()
    assert (first.sessions.read + first.sessions.unchanged, first.texts.left_out.total()) == (1, 0)
    changes = rows_of(world)
    again = await world.update()
    assert (again.sessions.unchanged, again.texts.unchanged) == (1, 1)
    assert (again.sessions.read, again.texts.read) == (0, 0)
    os.utime(world.vault / "a.md")  # touched, not changed: read once more, nothing written
    touched = await world.update()
    assert (touched.texts.read, touched.texts.pieces_written) == (0, 0)
    assert rows_of(world) == changes
    world.say(session, said("user", "gamma", 1))
    grown = await world.update()
    assert (grown.sessions.read, grown.sessions.pieces_written) == (1, 1)
    assert await world.found("gamma") == [session]
    world.check()


def rows_of(world: SearchWorld) -> list[tuple[Any, ...]]:
    """The pieces with the numbers of their rows: written again, they would have others."""
    with closing(sqlite3.connect(world.db.path)) as cx:
        return cx.execute("SELECT number, id, created_at FROM chunks ORDER BY number").fetchall()


async def test_a_change_within_a_text_rewrites_its_own_section_only(world: SearchWorld) -> None:
    sections = [f"# Section {number}\n\nwords of {number}\n\n" for number in range(50)]
    world.write("long.md", "".join(sections))
    await world.update()
    sections.insert(10, "# New\n\nsomething new\n\n")
    sections[20] = "# Section 19\n\nother words\n\n"
    world.write("long.md", "".join(sections))
    report = await world.update()
    assert (report.texts.pieces_written, report.texts.pieces_removed) == (2, 1)
    (hit,) = (await world.ask('"words of 49"')).hits
    assert hit.line == 4 * 51 - 1
    world.check()
    before = world.digest()
    await world.update(anew=True)
    assert world.digest() == before


async def test_a_renamed_text_is_followed_and_one_that_is_gone_is_removed(
    world: SearchWorld,
) -> None:
    first = world.write("a.md", "no heading here, just alpha\n")
    world.write("b.md", "beta\n")
    world.write("c.md", "# Gamma\n\ngamma\n")
    await world.update()
    numbers = {row[1].split(":")[1]: row[0] for row in rows_of(world)}
    (world.vault / "Notes").mkdir()
    first.rename(world.vault / "Notes" / "renamed.md")
    (world.vault / "b.md").unlink()
    shutil.copy(world.vault / "c.md", world.vault / "moved by copy.md")
    (world.vault / "c.md").unlink()
    report = await world.update()
    assert (report.texts.moved, report.texts.removed, report.texts.read) == (2, 1, 0)
    assert await world.found("alpha") == ["Notes/renamed.md"]
    assert await world.found("renamed") == ["Notes/renamed.md"]
    assert await world.found("gamma") == ["moved by copy.md"]
    assert await world.found("beta") == []
    now = {row[1].split(":")[1]: row[0] for row in rows_of(world)}
    assert now == {"Notes/renamed.md": numbers["a.md"], "moved by copy.md": numbers["c.md"]}
    world.check()


async def test_odd_files_cost_themselves_only(world: SearchWorld) -> None:
    world.write("good.md", "alpha")
    (world.vault / "binary.txt").write_bytes(b"alpha\0beta")
    (world.vault / "broken.md").write_bytes(b"alpha \xff\xfe gamma \x02\x03 \xed\xa0\x80")
    (world.vault / "bom.md").write_bytes("\ufeff# Delta\n\nalpha".encode())
    (world.vault / "empty.md").write_bytes(b"")
    (world.vault / "line\nend.md").write_bytes(b"alpha")
    (Path(os.fsdecode(bytes(world.vault) + b"/\xff.md"))).write_bytes(b"alpha")
    (world.vault / "image.png").write_bytes(b"alpha")
    os.mkfifo(world.vault / "pipe.md")
    report = await world.update()
    assert dict(report.texts.left_out) == {"no_text": 1, "odd_name": 2}
    assert set(await world.found("alpha")) == {"good.md", "broken.md", "bom.md"}
    assert await world.found("delta") == ["bom.md"]
    assert await world.found("empty") == ["empty.md"]


async def test_long_texts_are_indexed_in_parts_and_seen_whole_or_not_at_all(
    world: SearchWorld,
) -> None:
    many = BATCH * 3
    world.write("long.md", "".join(f"# H{n}\n\nold number{n}\n\n" for n in range(many)))
    await world.update()
    assert len(world.pieces()) == many
    world.write("long.md", "".join(f"# H{n}\n\nnew number{n}\n\n" for n in range(many)))
    await world.update()
    assert [row[3] for row in world.pieces()] == list(range(many))
    assert (await world.ask("old")).hits == ()
    assert (await world.ask("new")).hits[0].found.matches == many
    world.check()


async def test_a_deleted_session_is_found_no_more_and_its_words_leave_the_file(
    world: SearchWorld,
) -> None:
    gone = await world.session(said("user", "the canaryword of a deleted session", 0))
    stays = await world.session(said("user", "another canaryword", 0))
    await world.update()
    assert set(await world.found("canaryword")) == {gone, stays}
    await world.sessions.delete_session(gone)
    assert await world.found("canaryword") == [stays]
    world.index.changed(deleted=True)
    await world.update()
    assert {row[0] for row in world.pieces()} == {stays}
    world.check()
    with closing(sqlite3.connect(world.db.path)) as cx:
        cx.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, chunk_words, instance)")
        assert cx.execute("SELECT count(*) FROM terms WHERE term = 'deleted'").fetchone() == (0,)
        cx.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert not world.holds("deleted session")


async def test_a_session_that_is_deleted_while_it_is_indexed_leaves_nothing(
    world: SearchWorld,
) -> None:
    session = await world.session(*(said("user", f"number{n}", n) for n in range(BATCH * 4)))
    begun = world.index.begin()
    await world.sessions.delete_session(session)
    await world.index.ended(begun)
    await world.update()
    assert world.pieces() == []


async def test_transcripts_that_lie_at_home_are_indexed_where_the_vault_has_none(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with search_world(tmp_path, home=home) as world:
        session = await world.session(said("user", "fetched from home", 0))
        away = home / ".claude/projects/-elsewhere" / f"{session}.jsonl"
        away.parent.mkdir(parents=True)
        (world.vault / ".claude/projects/-vault" / f"{session}.jsonl").rename(away)
        await world.update()
        assert await world.found("fetched") == [session]


async def test_an_index_of_words_that_is_out_of_step_is_made_anew_at_the_start(
    tmp_path: Path,
) -> None:
    async with search_world(tmp_path) as world:
        world.write("a.md", "alpha")
        await world.update()
    with closing(sqlite3.connect(tmp_path / "sessions.db", isolation_level=None)) as cx:
        cx.execute("INSERT INTO chunk_words (chunk_words) VALUES ('delete-all')")
        cx.execute(
            "INSERT INTO chunks (id, content_id, content_type, chunk_index, chunk_text, created_at)"
            " VALUES ('x', 'stray', 'document', -3, 'alpha of nobody', '')"
        )
    async with search_world(tmp_path) as world:
        await world.update()
        assert await world.found("alpha") == ["a.md"]
        assert [row[0] for row in world.pieces()] == ["a.md"]
        world.check()


KILLED = """
import asyncio, sys
from pathlib import Path
from tests.worlds.search import search_world

async def main():
    async with search_world(Path(sys.argv[1])) as world:
        begun = world.index.begin()
        print("begun", flush=True)
        await world.index.ended(begun)

asyncio.run(main())
"""


async def test_killed_at_any_moment_the_next_start_has_the_whole_index(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.mkdir()
    async with search_world(whole) as world:
        for number in range(40):
            text = "".join(f"# H{n}\n\nwords {n} of {number}\n\n" for n in range(number * 10))
            world.write(f"n{number}.md", text)
        for number in range(20):
            await world.session(*(said("user", f"said {n}", n) for n in range(number * 20)))
        await world.update()
        expected = world.digest()
        shutil.copytree(world.vault, tmp_path / "killed" / "vault")
    (tmp_path / "killed").joinpath("sessions.db").write_bytes((whole / "sessions.db").read_bytes())
    with closing(sqlite3.connect(tmp_path / "killed" / "sessions.db")) as cx:
        cx.execute("DELETE FROM chunks")
        cx.execute("DELETE FROM index_manifest")
        cx.commit()
    for attempt in range(4):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", KILLED, str(tmp_path / "killed")),
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"begun\n"
        await until_some_pieces(tmp_path / "killed" / "sessions.db", attempt * 300)
        process.send_signal(signal.SIGKILL)
        await process.wait()
    async with search_world(tmp_path / "killed") as world:
        await world.update()
        assert world.digest() == expected
        world.check()


async def until_some_pieces(database: Path, wanted: int) -> None:
    async with asyncio.timeout(A_WHILE):
        while True:
            with closing(sqlite3.connect(database)) as cx:
                (pieces,) = cx.execute("SELECT count(*) FROM chunks").fetchone()
            if pieces > wanted:
                return
            await asyncio.sleep(0)


async def test_an_index_that_somebody_else_made_is_thrown_away(tmp_path: Path) -> None:
    async with search_world(tmp_path) as world:
        world.write("a.md", "alpha")
        await world.update()
        with closing(sqlite3.connect(world.db.path, isolation_level=None)) as cx:
            cx.execute("UPDATE chunks SET chunk_text = 'alpha, forged'")
            cx.execute("INSERT INTO chunk_words (chunk_words) VALUES ('delete-all')")
        assert (await world.update()).texts.unchanged == 1  # the control: it is taken for ours
        await world.rows.forget_all()
        await world.update()
        (hit,) = (await world.ask("alpha")).hits
        assert hit.shown.text == "alpha"
        assert await world.found("forged") == []
        world.check()
