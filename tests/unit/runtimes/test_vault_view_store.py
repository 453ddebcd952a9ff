"""How views share private copies, and how they and the copies go."""

import os
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from supervisor.errors import VaultUnavailable
from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.runtimes.container.vault_view import VaultViews
from tests.worlds.vault import Vault, age, make_vault, sample_deny_list, vault_fixture  # noqa: F401

DENY = sample_deny_list()
NO_HOME = None


def make_views(store: Path, **settings: float) -> VaultViews:
    return VaultViews(store, owner_home=lambda _uid: NO_HOME, **settings)  # type: ignore[arg-type]


@pytest.fixture(name="aged")
def aged_fixture(tmp_path: Path) -> Vault:
    vault = make_vault(tmp_path / "aged vault")
    age(vault.root / "projects/garden/src/beds.py")
    age(vault.root / "notes/innocent.txt")
    return vault


def objects(store: Path) -> list[Path]:
    return list((store / "objects").iterdir())


def test_unchanged_files_are_copied_once_and_changed_ones_again(
    aged: Vault, tmp_path: Path
) -> None:
    views = make_views(tmp_path / "store")
    _, first = views.build(aged.root, "one", DENY, ())
    (aged.root / "notes/today.md").write_text("Buy more oat milk.\n")

    second_view, second = views.build(aged.root, "two", DENY, ())

    assert first.objects_reused == 0
    assert second.objects_reused == len(aged.readable) - 1
    assert second.bytes_copied == len("Buy more oat milk.\n")
    assert (second_view / "notes/today.md").read_text() == "Buy more oat milk.\n"
    assert (tmp_path / "store/views/one/notes/today.md").read_text() == "Buy oat milk.\n"


def test_a_changed_mode_is_not_served_from_an_old_copy(aged: Vault, tmp_path: Path) -> None:
    views = make_views(tmp_path / "store")
    views.build(aged.root, "one", DENY, ())
    (aged.root / "notes/today.md").chmod(0o755)

    view, _ = views.build(aged.root, "two", DENY, ())

    assert os.access(view / "notes/today.md", os.X_OK)


def test_a_file_denied_by_a_newer_policy_is_hidden_though_a_copy_is_kept(
    aged: Vault, tmp_path: Path
) -> None:
    views = make_views(tmp_path / "store")
    views.build(aged.root, "one", DENY, ())
    stricter = DenyList((*DENY.rules, DenyRule("milk", "secret milk", names=("today.md",))))

    view, report = views.build(aged.root, "two", stricter, ())

    assert not (view / "notes/today.md").exists()
    assert report.files == len(aged.readable) - 1


def test_a_copied_file_renamed_to_a_denied_name_is_hidden(aged: Vault, tmp_path: Path) -> None:
    views = make_views(tmp_path / "store")
    views.build(aged.root, "one", DENY, ())
    (aged.root / "notes/today.md").rename(aged.root / "notes/.env")

    view, _ = views.build(aged.root, "two", DENY, ())

    assert sorted(p.name for p in (view / "notes").iterdir()) == sorted(
        Path(name).name
        for name in aged.readable
        if name.startswith("notes/") and "today" not in name
    )


def test_discarding_is_idempotent_and_leaves_the_other_views(aged: Vault, tmp_path: Path) -> None:
    views = make_views(tmp_path / "store")
    views.build(aged.root, "one", DENY, ())
    view, report = views.build(aged.root, "two", DENY, ())

    views.discard("one")
    views.discard("one")

    assert views.leftovers() == ["two"]
    assert sum(1 for p in view.rglob("*") if p.is_file() and not p.is_symlink()) == report.files


def test_what_an_earlier_supervisor_left_is_listed_and_can_be_discarded(
    aged: Vault, tmp_path: Path
) -> None:
    make_views(tmp_path / "store").build(aged.root, "one", DENY, ())
    later = make_views(tmp_path / "store")

    assert later.leftovers() == ["one"]
    later.discard("one")
    assert later.leftovers() == []


def test_a_view_is_not_made_over_one_that_is_there(aged: Vault, tmp_path: Path) -> None:
    views = make_views(tmp_path / "store")
    views.build(aged.root, "one", DENY, ())

    with pytest.raises(VaultUnavailable, match="already"):
        views.build(aged.root, "one", DENY, ())

    assert views.leftovers() == ["one"]


def test_pruning_keeps_what_a_view_uses_and_what_is_young(aged: Vault, tmp_path: Path) -> None:
    views = make_views(tmp_path / "store", keep_seconds=0)
    views.build(aged.root, "one", DENY, ())
    kept = len(objects(tmp_path / "store"))

    assert kept == len(aged.readable)
    assert views.prune() == 0
    views.discard("one")
    assert make_views(tmp_path / "store").prune() == 0  # a week old at most: kept for the next turn
    assert views.prune() == kept
    assert objects(tmp_path / "store") == []


def test_pruning_keeps_to_the_size_budget(aged: Vault, tmp_path: Path) -> None:
    views = make_views(tmp_path / "store", keep_bytes=50)
    views.build(aged.root, "one", DENY, ())
    views.discard("one")

    views.prune()

    left = objects(tmp_path / "store")
    assert 0 < sum(path.stat().st_size for path in left) <= 50


def test_pruning_drops_copies_that_a_power_cut_left_incomplete(aged: Vault, tmp_path: Path) -> None:
    views = make_views(tmp_path / "store")
    views.build(aged.root, "one", DENY, ())
    views.discard("one")
    broken = max(objects(tmp_path / "store"), key=lambda path: path.stat().st_size)
    os.truncate(broken, 1)

    assert views.prune() == 1
    view, _ = views.build(aged.root, "two", DENY, ())
    assert {(view / name).read_text() for name in aged.readable} == set(aged.readable.values())


def test_views_made_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    for number in range(300):
        note = vault / f"folder {number % 7}" / f"{number}.md"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"note {number}")
    age(note)
    views = make_views(tmp_path / "store")
    start = threading.Barrier(6)

    def one(number: int) -> set[str]:
        start.wait()
        view, report = views.build(vault, f"turn_{number}", DENY, ())
        assert report.files == 300
        found = {path.read_text() for path in view.rglob("*.md")}
        if number % 2:
            views.discard(f"turn_{number}")
            views.prune()
        return found

    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(one, range(6)))

    assert results == [{f"note {number}" for number in range(300)}] * 6
    assert len(objects(tmp_path / "store")) == 300


@pytest.fixture(name="small_disk")
def small_disk_fixture(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    point = tmp_path / "small disk"
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", point], check=True)
    try:
        yield point
    finally:
        subprocess.run(["umount", point], check=True)


def test_a_full_disk_is_said_so_with_how_much_is_needed(aged: Vault, small_disk: Path) -> None:
    (aged.root / "photo.raw").write_bytes(os.urandom(5_000_000))
    views = make_views(small_disk / "store")

    with pytest.raises(VaultUnavailable, match=r"needs up to 5\.0 MB, 2\.\d MB are free") as caught:
        views.build(aged.root, "one", DENY, ())

    assert caught.value.remedy
    assert views.leftovers() == []


def test_unused_copies_give_way_when_the_disk_is_full(aged: Vault, small_disk: Path) -> None:
    views = make_views(small_disk / "store")
    photo = aged.root / "photo.raw"
    for number in range(4):
        photo.write_bytes(os.urandom(1_200_000))
        age(photo)
        view, _ = views.build(aged.root, f"turn_{number}", DENY, ())
        assert (view / "photo.raw").read_bytes() == photo.read_bytes()
        views.discard(f"turn_{number}")


def test_a_file_system_that_can_not_be_written_is_said_so(aged: Vault, small_disk: Path) -> None:
    views = make_views(small_disk / "store")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)

    with pytest.raises(VaultUnavailable, match="Read-only"):
        views.build(aged.root, "one", DENY, ())


def test_a_file_with_more_links_than_the_file_system_allows_is_copied_again(
    aged: Vault, tmp_path: Path
) -> None:
    views = make_views(tmp_path / "store")
    views.build(aged.root, "one", DENY, ())
    crowded = max(objects(tmp_path / "store"), key=lambda path: path.stat().st_size)
    (tmp_path / "links").mkdir()
    for number in range(70_000):  # ext4: 65,000
        try:
            os.link(crowded, tmp_path / "links" / str(number))
        except OSError:
            break
    else:
        pytest.skip("this file system has no such limit")

    view, report = views.build(aged.root, "two", DENY, ())

    assert report.files == len(aged.readable)
    assert {(view / name).read_text() for name in aged.readable} == set(aged.readable.values())
