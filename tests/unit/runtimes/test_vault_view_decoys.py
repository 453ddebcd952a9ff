"""What stands in a view where denied files were: a decoy under its name, and none of its bytes."""

import os
import stat
from pathlib import Path

import pytest

from supervisor.runtimes.container.vault_view import VaultViews, ViewReport
from supervisor.runtimes.honeytokens import Honeytokens
from tests.worlds.vault import CANARY, Vault, sample_deny_list, vault_fixture  # noqa: F401

DENY = sample_deny_list()


@pytest.fixture
def views(tmp_path: Path) -> VaultViews:
    return VaultViews(tmp_path / "store", owner_home=lambda _uid: None)


@pytest.fixture
def honeytokens() -> Honeytokens:
    return Honeytokens(b"this turn's")


def built(
    views: VaultViews, vault: Vault, honeytokens: Honeytokens | None
) -> tuple[Path, ViewReport]:
    return views.build(vault.root, "turn_1", DENY, (), honeytokens=honeytokens)


def names_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_each_denied_file_has_a_decoy_of_its_own_and_none_of_its_bytes(
    vault: Vault, views: VaultViews, honeytokens: Honeytokens
) -> None:
    view, report = built(views, vault, honeytokens)
    own_place = [
        name for name in vault.canaries if not name.startswith(".ssh/") and ".git/" not in name
    ]
    for name in own_place:
        content = (view / name).read_bytes()
        assert content.startswith(b"\0")
        assert honeytokens.trip(content) == name
    everything = b"".join(path.read_bytes() for path in view.rglob("*") if path.is_file())
    assert CANARY.encode() not in everything
    assert report.decoys == len(own_place) + 1  # and .ssh
    assert report.hidden >= report.decoys


def test_a_denied_folder_has_a_decoy_folder_that_tells_nothing_of_what_was_in_it(
    vault: Vault, views: VaultViews, honeytokens: Honeytokens
) -> None:
    view, _ = built(views, vault, honeytokens)
    assert [entry.name for entry in (view / ".ssh").iterdir()] == ["decoy"]
    assert honeytokens.trip((view / ".ssh/decoy").read_bytes()) == ".ssh"


def test_decoys_are_readable_by_all_writable_by_none_and_of_one_size(
    vault: Vault, views: VaultViews, honeytokens: Honeytokens
) -> None:
    (vault.root / ".env").write_bytes(b"x" * 5000)
    (vault.root / ".env").chmod(0o4700)
    view, _ = built(views, vault, honeytokens)
    decoys = [view / ".env", view / ".env.local", view / ".ssh/decoy"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in decoys} == {0o444}
    assert len({path.stat().st_size for path in decoys}) == 1
    assert stat.S_IMODE((view / ".ssh").stat().st_mode) == 0o755


def test_a_plain_name_that_leads_to_a_secret_has_none(
    vault: Vault, views: VaultViews, honeytokens: Honeytokens
) -> None:
    (vault.root / "zz.env").symlink_to("notes/two\nlines.md")
    (vault.root / "link.md").symlink_to(".env")
    view, _ = built(views, vault, honeytokens)
    shown = names_below(view)
    assert not shown & {"notes/innocent.txt", "config", "keys", "link.md", "notes/two\nlines.md"}
    assert not (view / "zz.env").is_symlink()
    assert honeytokens.trip((view / "zz.env").read_bytes()) == "zz.env"


@pytest.mark.parametrize("kind", ["unreadable", "pipe"])
def test_whatever_kind_of_thing_is_denied_a_plain_file_stands_for_it(
    kind: str, vault: Vault, views: VaultViews, honeytokens: Honeytokens
) -> None:
    odd = vault.root / "odd.pem"
    if kind == "pipe":
        os.mkfifo(odd)
    else:
        odd.write_text(CANARY)
        odd.chmod(0)
    view, _ = built(views, vault, honeytokens)
    assert honeytokens.trip((view / "odd.pem").read_bytes()) == "odd.pem"


def test_version_control_and_our_own_files_are_absent(
    vault: Vault, views: VaultViews, honeytokens: Honeytokens
) -> None:
    own = vault.root / "own.env"
    own.mkdir()
    view, _ = views.build(vault.root, "turn_1", DENY, [own], honeytokens=honeytokens)
    assert not (view / "projects/garden/.git/config").exists()
    assert (view / "projects/garden/.git/HEAD").exists()
    assert not (view / "own.env").exists()


def test_without_honeytokens_nothing_stands_there(vault: Vault, views: VaultViews) -> None:
    view, report = built(views, vault, None)
    assert not names_below(view) & {*vault.canaries, ".ssh"}
    assert report.decoys == 0


def test_a_view_with_decoys_can_be_discarded_and_made_again(
    vault: Vault, views: VaultViews, honeytokens: Honeytokens
) -> None:
    first, _ = built(views, vault, honeytokens)
    content = (first / ".env").read_bytes()
    views.discard("turn_1")
    assert views.leftovers() == []
    again, _ = built(views, vault, Honeytokens(b"the next turn's"))
    assert (again / ".env").read_bytes() != content
