"""A running watch over real files: what is valid comes into force, what isn't never does."""

import asyncio
import logging
import shutil
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from supervisor.errors import ConfigurationError
from supervisor.gate.policy_checks import policy_in_force
from supervisor.gate.policy_files import PolicySource
from supervisor.gate.policy_watch import Places, PolicyWatch, places_of
from supervisor.policy.compiled import CompiledPolicy
from tests.worlds.policy_world import SHIPPED
from tests.worlds.waiting import until


@dataclass
class Book:
    """An audit log that keeps what it is told; a `full` one takes nothing."""

    entries: list[Mapping[str, Any]] = field(default_factory=list)
    full: bool = False

    async def record(
        self, kind: str, session: str | None, turn: str | None, body: Mapping[str, Any]
    ) -> None:
        assert (kind, session, turn) == ("policy", None, None)
        if self.full:
            raise ConfigurationError("the disk is full")
        self.entries.append(body)

    @property
    def outcomes(self) -> list[str]:
        return [each["outcome"] for each in self.entries]


def fill(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(SHIPPED / "default.yaml", folder / "default.yaml")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return fill(tmp_path / "etc" / "policies")


def site(tokens: int) -> str:
    return f"version: 1\nbudgets: {{turn: {{tokens: {tokens}}}}}\n"


def tokens_of(policy: CompiledPolicy) -> int | None:
    return policy.gateway.turn.tokens


async def until_tokens(source: PolicySource, number: int) -> None:
    await until(lambda: tokens_of(source.current) == number)


async def watched(source: PolicySource) -> None:
    await until(lambda: source.unwatched is None)


def written_in_place(path: Path, text: str) -> None:
    path.write_text(text)


def renamed_over(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.swp")
    fresh.write_text(text)
    fresh.replace(path)


def moved_away_first(path: Path, text: str) -> None:
    if path.exists():
        path.rename(path.with_name(path.name + "~"))
    path.write_text(text)


def linked_anew(path: Path, text: str) -> None:
    """As mounted configuration maps do it: the file is a link through a link that is swapped."""
    data = path.parent.parent / f"data-{len(list(path.parent.parent.iterdir()))}"
    data.mkdir()
    (data / path.name).write_text(text)
    through = path.parent / "..data"
    fresh = path.parent / "..fresh"
    fresh.symlink_to(data)
    fresh.replace(through)
    if not path.is_symlink():
        path.symlink_to(Path("..data") / path.name)


SAVES = [written_in_place, renamed_over, moved_away_first, linked_anew]


@pytest.mark.parametrize("save", SAVES)
async def test_a_change_comes_into_force_however_it_is_saved(
    folder: Path, save: Callable[[Path, str], None]
) -> None:
    source, book = PolicySource(folder), Book()
    async with PolicyWatch(source, book.record):
        for number in (11, 22, 33):
            await watched(source)
            save(folder / "site.yaml", site(number))
            await until_tokens(source, number)
    assert set(book.outcomes) == {"loaded"}
    assert book.entries[-1]["hash"] == source.current.hash
    assert str(folder / "site.yaml") in book.entries[-1]["files"]


async def test_an_invalid_file_never_replaces_a_valid_one_and_its_place_is_told(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source, book = PolicySource(folder), Book()
    good = source.current
    async with PolicyWatch(source, book.record):
        await watched(source)
        renamed_over(folder / "site.yaml", "version: 1\nbudgets: {turn: {tokns: 5}}\n")
        with caplog.at_level(logging.ERROR):
            await until(lambda: source.error is not None)
        assert source.current is good
        check = policy_in_force(source)
        assert check.ok is False
        assert "site.yaml:2:18 budgets.turn.tokns" in check.detail
        assert good.hash[:12] in check.detail
        renamed_over(folder / "site.yaml", site(7))
        await until(lambda: source.error is None)
        assert tokens_of(source.current) == 7
    rejected = next(each for each in book.entries if each["outcome"] == "rejected")
    assert rejected["inForce"] == good.hash
    assert (rejected["file"], rejected["line"], rejected["column"], rejected["field"]) == (
        str(folder / "site.yaml"), 2, 18, "budgets.turn.tokns",
    )  # fmt: skip
    assert rejected["expected"].startswith("expected one of tokens")
    assert rejected["remedy"] == "did you mean `tokens`?"
    (line,) = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert line.fields["column"] == 18  # type: ignore[attr-defined]


async def test_a_hundred_quick_rewrites_end_at_the_last_content(folder: Path) -> None:
    source, book = PolicySource(folder), Book()
    seen: set[int | None] = set()
    async with PolicyWatch(source, book.record):
        await watched(source)
        for number in range(1, 101):
            SAVES[number % 2](folder / "site.yaml", site(number))
            seen.add(tokens_of(source.current))
            await asyncio.sleep(0)
        await until(lambda: tokens_of(source.current) == 100)
    assert seen <= {*range(1, 101), tokens_of(PolicySource(SHIPPED).current)}
    assert len(book.entries) < 50


async def test_with_all_files_gone_the_last_good_policy_stays(folder: Path) -> None:
    source, book = PolicySource(folder), Book()
    good = source.current
    async with PolicyWatch(source, book.record):
        await watched(source)
        (folder / "default.yaml").unlink()
        await until(lambda: source.error is not None)
        assert source.current is good
        fill(folder)
        await until(lambda: source.error is None)
    assert "rejected" in book.outcomes


@pytest.mark.parametrize("depth", [0, 1, 2], ids=["the folder", "its parent", "theirs"])
async def test_a_folder_that_is_removed_and_made_anew_is_watched_again(
    folder: Path, depth: int
) -> None:
    source, book = PolicySource(folder), Book()
    top = [folder, *folder.parents][depth] if depth < 2 else folder.parent
    async with PolicyWatch(source, book.record):
        for number in (1, 2):
            await watched(source)
            shutil.rmtree(top)
            await until(lambda: source.error is not None)
            fill(folder)
            (folder / "site.yaml").write_text(site(number))
            await until_tokens(source, number)
            renamed_over(folder / "site.yaml", site(number + 50))
            await until_tokens(source, number + 50)


async def test_a_folder_swapped_for_another_at_once_is_seen(folder: Path, tmp_path: Path) -> None:
    source, book = PolicySource(folder), Book()
    other = fill(tmp_path / "other")
    (other / "site.yaml").write_text(site(5))
    async with PolicyWatch(source, book.record):
        await watched(source)
        folder.rename(tmp_path / "old")
        other.rename(folder)
        await until(lambda: tokens_of(source.current) == 5)
        (tmp_path / "old" / "site.yaml").write_text(site(6))
        renamed_over(folder / "site.yaml", site(7))
        await until(lambda: tokens_of(source.current) == 7)


async def test_a_folder_behind_a_link_follows_the_link_and_its_target(tmp_path: Path) -> None:
    one, two = fill(tmp_path / "v1"), fill(tmp_path / "v2")
    (two / "site.yaml").write_text(site(2))
    link = tmp_path / "policies"
    link.symlink_to("v1")
    source, book = PolicySource(link), Book()
    async with PolicyWatch(source, book.record):
        await watched(source)
        (one / "site.yaml").write_text(site(1))
        await until(lambda: tokens_of(source.current) == 1)
        fresh = tmp_path / "fresh"
        fresh.symlink_to("v2")
        fresh.replace(link)
        await until(lambda: tokens_of(source.current) == 2)
        (two / "site.yaml").write_text(site(3))
        await until(lambda: tokens_of(source.current) == 3)
    assert source.current.protected.match(str(two / "default.yaml")) is not None
    assert source.current.protected.match(str(link)) is not None


async def test_a_watch_that_dies_is_told_and_begun_anew(folder: Path) -> None:
    tries = 0
    go_on = asyncio.Event()

    async def failing_at_first(places: Places) -> AsyncGenerator[object]:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise OSError("OS file watch limit reached")
        assert str(folder) in places.directories
        await go_on.wait()
        yield None
        await asyncio.Event().wait()

    source, book = PolicySource(folder), Book()
    async with PolicyWatch(source, book.record, changes=failing_at_first, pauses=(0.01,)):
        await until(lambda: source.unwatched == "OS file watch limit reached" or tries > 1)
        await watched(source)
        assert policy_in_force(source).ok
        (folder / "site.yaml").write_text(site(4))
        go_on.set()
        await until(lambda: tokens_of(source.current) == 4)
    check = policy_in_force(source)
    assert check.ok is False
    assert "changes aren't seen" in check.detail


async def test_what_cannot_be_audited_does_not_come_into_force(folder: Path) -> None:
    source, book = PolicySource(folder), Book()
    good = source.current
    async with PolicyWatch(source, book.record, pauses=(0.01,)):
        await watched(source)
        book.full = True
        (folder / "site.yaml").write_text(site(4))
        await until(lambda: source.unwatched == "the disk is full")
        assert source.current is good
        book.full = False
        await until(lambda: tokens_of(source.current) == 4)
        await watched(source)


async def test_other_files_beside_the_policies_wake_nobody(folder: Path) -> None:
    (folder / "a-link").symlink_to(folder.parent / "beside.txt")
    places = places_of(folder)
    assert places.folder == str(folder)
    assert not places.concern(None, str(folder.parent / "other.txt"))  # type: ignore[arg-type]
    assert places.concern(None, str(folder.parent / "beside.txt"))  # type: ignore[arg-type]
    assert places.concern(None, str(folder))  # type: ignore[arg-type]


def test_an_editors_own_files_are_no_policy_files(folder: Path) -> None:
    (folder / ".#site.yaml").symlink_to("user@host.1234")
    (folder / ".site.yaml.swp").write_text("{")
    (folder / "site.yaml~").write_text("{")
    assert PolicySource(folder).error is None


def test_a_policy_file_that_is_linked_in_is_written_by_nobody(folder: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.yaml"
    elsewhere.write_text(site(1))
    (folder / "site.yaml").symlink_to(elsewhere)
    assert PolicySource(folder).current.protected.match(str(elsewhere)) is not None
