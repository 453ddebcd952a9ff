"""Invariant 8 for search: what the deny list hides is neither in the index nor in an answer.

Under no name, and not after the policy has changed. Beside each attack stands its control: the same
words in a file that isn't denied are found.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.search.finding import BEING_JUDGED
from tests.worlds.api import ApiWorld, api_world
from tests.worlds.search import SearchWorld, said, search_world

CANARY = "CANARY7f3a"
NOW_DENIED = DenyList((DenyRule("private", "private", names=("private*",)),))


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[SearchWorld]:
    async with search_world(tmp_path) as made:
        yield made


async def test_a_denied_file_is_not_indexed_under_any_of_its_names(world: SearchWorld) -> None:
    secret = world.write("secret.md", f"# {CANARY}title\n\n{CANARY} is the password\n")
    (world.vault / "Notes").mkdir()
    os.link(secret, world.vault / "Notes" / "harmless.md")
    (world.vault / "Notes" / "link.md").symlink_to(secret)
    (world.vault / "linked").symlink_to(world.vault / "secrets")
    world.write("secrets/plain.md", CANARY)
    world.write("Notes/.env/deep/inside.md", CANARY)
    real = world.write("real.md", f"{CANARY} by a denied link")
    (world.vault / "secret-link.md").symlink_to(real)
    world.write("SECRET.TXT", CANARY)
    world.write("\u017fecret.md", CANARY)  # a look-alike spelling of the name
    world.write("open.md", "control7f3a is found")
    await world.update()
    assert await world.found("control7f3a") == ["open.md"]
    assert await world.found(CANARY) == []
    assert await world.found(CANARY + "*") == []
    assert not world.holds(CANARY)


async def test_control_without_the_deny_list_the_same_files_are_found(world: SearchWorld) -> None:
    world.hidden = DenyList(())
    secret = world.write("secret.md", f"{CANARY} is the password\n")
    (world.vault / "Notes").mkdir()
    os.link(secret, world.vault / "Notes" / "harmless.md")
    await world.update()
    assert set(await world.found(CANARY)) == {"secret.md", "Notes/harmless.md"}
    assert world.holds(CANARY)


async def test_links_out_of_the_vault_are_not_followed(world: SearchWorld, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "diary.md").write_text(CANARY)
    (world.vault / "diary.md").symlink_to(outside / "diary.md")
    (world.vault / "folder").symlink_to(outside)
    await world.update()
    assert not world.holds(CANARY)


async def test_a_secret_of_the_home_is_not_indexed_by_a_hard_link(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "id_ed25519").write_text(CANARY)
    async with search_world(tmp_path, home=home) as world:
        os.link(home / ".ssh" / "id_ed25519", world.vault / "notes.md")
        world.write("open.md", "control7f3a")
        await world.update()
        assert await world.found("control7f3a") == ["open.md"]
        assert not world.holds(CANARY)


async def test_a_file_that_becomes_denied_is_not_shown_at_once_and_gone_with_the_next_pass(
    world: SearchWorld,
) -> None:
    private = world.write("private.md", f"{CANARY} of a text")
    os.link(private, world.vault / "copy.md")
    session = await world.session(said("user", f"{CANARY} of a session", 0))
    await world.update()
    assert set(await world.found(CANARY)) == {"private.md", "copy.md", session}  # the control
    world.hidden = NOW_DENIED
    answer = await world.ask(CANARY)
    assert [hit.found.content_id for hit in answer.hits] == [session]
    assert answer.notes == (BEING_JUDGED,)
    await world.update()
    assert await world.found(CANARY) == [session]
    assert {row[0] for row in world.pieces()} == {session}


async def test_a_new_name_that_is_denied_hides_a_text_before_the_next_pass(
    world: SearchWorld,
) -> None:
    world.write("open.md", f"{CANARY} one")
    world.write("other.md", f"{CANARY} two")
    world.write("folder/third.md", f"{CANARY} three")
    await world.update()
    os.link(world.vault / "open.md", world.vault / "secret.md")
    (world.vault / "folder").rename(world.vault / "elsewhere")
    (world.vault / "folder").symlink_to("elsewhere")
    assert await world.found(CANARY) == ["other.md"]
    await world.update()
    assert set(await world.found(CANARY)) == {"other.md", "elsewhere/third.md"}


async def test_a_file_that_is_swapped_for_a_denied_one_during_a_pass_is_not_read(
    world: SearchWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = world.write("secret.md", CANARY)
    world.write("a.md", "alpha")
    look = world.index._look

    def swapped(*arguments: object) -> object:
        found = list(look(*arguments))  # type: ignore[arg-type]
        (world.vault / "a.md").unlink()
        os.link(secret, world.vault / "a.md")
        return found

    monkeypatch.setattr(world.index, "_look", swapped)
    report = await world.update()
    assert report.texts.left_out["changed"] == 1
    assert not world.holds(CANARY)


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[tuple[ApiWorld, httpx.AsyncClient]]:
    async with api_world(tmp_path) as made, made.client() as client:
        yield made, client


async def test_the_shipped_policy_keeps_its_secrets_out_of_answers_and_of_the_file(
    served: tuple[ApiWorld, httpx.AsyncClient], tmp_path: Path
) -> None:
    world, client = served
    vault = world.parts.settings.vault
    (vault / ".env").write_text(f"KEY={CANARY}")
    (vault / ".ssh").mkdir()
    (vault / ".ssh" / "notes.md").write_text(CANARY)
    os.link(vault / ".env", vault / "Notes" / "hard.md")
    (vault / "Notes" / "soft.md").symlink_to("../.env")
    (vault / ".claude" / "projects" / "x").mkdir(parents=True)
    (vault / ".claude" / "projects" / "x" / "notes.md").write_text(CANARY)
    (vault / "Notes" / "open.md").write_text("control7f3a")
    begun = (await client.post("/api/search/index", json={})).json()["number"]
    await world.parts.index.ended(begun)
    found = (await client.get("/api/search", params={"q": "control7f3a"})).json()["hits"]
    assert [hit["path"] for hit in found] == ["Notes/open.md"]
    for text in (CANARY, "hard", "soft", "KEY"):
        assert CANARY not in (await client.get("/api/search", params={"q": text})).text
    data = b"".join(each.read_bytes() for each in tmp_path.glob("sessions.db*"))
    assert b"control7f3a" in data
    assert CANARY.encode() not in data
