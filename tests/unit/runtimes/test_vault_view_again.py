"""A view that is filled anew: with what the vault is by then, while somebody may stand in it."""

import os
from pathlib import Path, PurePosixPath

import pytest

from supervisor.errors import VaultUnavailable
from supervisor.policy.deny_list import DenyList
from supervisor.runtimes.container.vault_view import VaultViews, ViewReport
from tests.worlds.vault import sample_deny_list

DENY = sample_deny_list()
STANDS = PurePosixPath("work/deep")


@pytest.fixture(name="views")
def views_fixture(tmp_path: Path) -> VaultViews:
    return VaultViews(tmp_path / "store", owner_home=lambda _uid: None)


@pytest.fixture(name="vault")
def vault_fixture(tmp_path: Path) -> Path:
    vault = tmp_path / "vault"
    (vault / STANDS).mkdir(parents=True)
    (vault / "notes").mkdir()
    (vault / "notes" / "old.md").write_text("old")
    (vault / STANDS / "here.md").write_text("here")
    (vault / "work" / "beside.md").write_text("beside")
    return vault


def filled(views: VaultViews, vault: Path, deny: DenyList = DENY) -> tuple[Path, ViewReport]:
    return views.build(vault, "turn_1", deny, ())


def again(views: VaultViews, vault: Path, deny: DenyList = DENY) -> ViewReport:
    return views.fill(vault, "turn_1", deny, (), kept=STANDS)


def names(view: Path) -> list[str]:
    return sorted(str(each.relative_to(view)) for each in view.rglob("*"))


def test_it_holds_what_a_new_one_would(views: VaultViews, vault: Path) -> None:
    view, _ = filled(views, vault)
    (vault / "notes" / "old.md").unlink()
    (vault / "notes").rmdir()
    (vault / "work" / "beside.md").write_text("changed")
    (vault / STANDS / "new.md").write_text("new")
    (vault / "link").symlink_to("work/beside.md")
    (vault / ".env").write_text("SECRET")

    report = again(views, vault)

    fresh, wanted = views.build(vault, "turn_2", DENY, ())
    assert names(view) == names(fresh)
    assert (view / "link").read_text() == "changed"
    assert (view / STANDS / "new.md").read_text() == "new"
    counts = ("files", "directories", "symlinks", "hidden", "omitted")
    assert [getattr(report, each) for each in counts] == [getattr(wanted, each) for each in counts]


def test_the_folders_on_the_way_there_are_the_same_and_no_others(
    views: VaultViews, vault: Path
) -> None:
    view, _ = filled(views, vault)
    way = (view, view / "work", view / STANDS)
    numbers = [each.stat().st_ino for each in way]
    standing = os.open(view / STANDS, os.O_RDONLY)
    try:
        again(views, vault)
        assert [each.stat().st_ino for each in way] == numbers
        assert os.fstat(standing).st_nlink > 0
        assert [each.stat().st_mode & 0o777 for each in way] == [0o755] * 3
    finally:
        os.close(standing)


def test_what_is_denied_by_then_is_gone(views: VaultViews, vault: Path) -> None:
    view, _ = filled(views, vault, DenyList(()))
    (vault / ".env").write_text("SECRET")
    again(views, vault, DenyList(()))
    assert (view / ".env").read_text() == "SECRET"  # control: nothing else hides it
    again(views, vault, DENY)
    assert not (view / ".env").exists()


def test_it_can_be_filled_any_number_of_times(views: VaultViews, vault: Path) -> None:
    view, _ = filled(views, vault)
    before = names(view)
    for _ in range(3):
        again(views, vault)
    assert names(view) == before


@pytest.mark.parametrize("put", ["nothing", "a file", "a link"])
def test_a_way_that_is_no_way_any_more_is_told_and_the_view_is_gone(
    views: VaultViews, vault: Path, put: str
) -> None:
    view, _ = filled(views, vault)
    (vault / "work").rename(vault / "elsewhere")
    if put == "a file":
        (vault / "work").write_text("x")
    if put == "a link":
        (vault / "work").symlink_to("elsewhere")
    with pytest.raises(VaultUnavailable):
        again(views, vault)
    assert not view.exists()
