"""Invariant 4 on real containers: denied bytes can't be read, whatever the host does meanwhile.

Beside each attack stands its control: the same attack on the vault itself, mounted read-only with
masks over the denied names, does read the secret.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from supervisor.runtimes.container.vault_view import VaultViews
from supervisor.runtimes.honeytokens import Honeytokens
from tests.worlds.engine_image import Cage, cage, tools_image_fixture  # noqa: F401
from tests.worlds.vault import CANARY, Vault, make_vault, sample_deny_list, vault_fixture  # noqa: F401

pytestmark = pytest.mark.engine
FRESH = f"{CANARY}made-during-the-turn"
Attack = Callable[[Path], object]


@contextmanager
def caged_view(image: str, vault: Vault, store: Path) -> Iterator[Cage]:
    """A container with the vault as a sandboxed turn sees it."""
    views = VaultViews(store, owner_home=lambda _uid: None)
    honeytokens = Honeytokens(b"this turn's")
    view, report = views.build(
        vault.root, "turn_1", sample_deny_list(), (), honeytokens=honeytokens
    )
    assert report.decoys > 0
    try:
        with cage(image, "--mount", f"type=bind,source={view},target=/vault,readonly") as opened:
            yield opened
    finally:
        views.discard("turn_1")
    assert views.leftovers() == []


@contextmanager
def caged_masks(image: str, vault: Vault) -> Iterator[Cage]:
    """The way that was not taken: the vault itself, its denied files and folders masked."""
    masks = [f"--volume={vault.root}:/vault:ro", "--tmpfs=/vault/.ssh"]
    masks += [
        f"--volume=/dev/null:/vault/{name}:ro"
        for name in vault.canaries
        if not name.startswith(".ssh") and name.isascii()
    ]
    with cage(image, *masks) as opened:
        yield opened


def plain_vault(root: Path) -> Vault:
    """The sample without what masks fail at before anything happens: links, odd names."""
    vault = make_vault(root)
    (root / "notes/innocent.txt").unlink()
    (root / "projects" / os.fsdecode(b"latin-\xe9") / ".env").unlink()
    return vault


def replace_secret_atomically(vault: Path) -> None:
    (vault / "saved by an editor").write_text(FRESH)
    (vault / "saved by an editor").rename(vault / ".env")


def delete_and_make_secret_anew(vault: Path) -> None:
    (vault / ".env").unlink()
    (vault / ".env").write_text(FRESH)


def swap_denied_folder(vault: Path) -> None:
    (vault / ".ssh").rename(vault.parent / "old ssh")
    (vault / ".ssh").mkdir()
    (vault / ".ssh/id_rsa").write_text(FRESH)


def make_secret_in_new_folder(vault: Path) -> None:
    (vault / "projects/new").mkdir()
    (vault / "projects/new/.env").write_text(FRESH)


def make_new_secret_beside_a_note(vault: Path) -> None:
    (vault / "notes/id_rsa_new").write_text(FRESH)


def hard_link_secret_under_new_name(vault: Path) -> None:
    os.link(vault / ".env", vault / "notes/copy.txt")


def rename_note_to_secret_and_write_in_place(vault: Path) -> None:
    (vault / "notes/today.md").rename(vault / "notes/.env")
    with (vault / "notes/.env").open("a") as file:
        file.write(FRESH)


def write_secret_into_note_with_a_denied_second_name(vault: Path) -> None:
    os.link(vault / "notes/today.md", vault / "notes/.env")
    with (vault / "notes/.env").open("a") as file:
        file.write(FRESH)


def rename_secret_to_plain_name(vault: Path) -> None:
    (vault / ".env").rename(vault / "visible.txt")


def link_to_secret(vault: Path) -> None:
    (vault / ".env").rename(vault / "projects/garden/old.env")
    (vault / "shown.txt").symlink_to("projects/garden/old.env")


MASK_HOLDS: list[Attack] = [rename_secret_to_plain_name, link_to_secret]
"""A mask moves along with the file it lies on; these need a bare vault as their control."""

MASK_FAILS: list[Attack] = [
    replace_secret_atomically,
    delete_and_make_secret_anew,
    swap_denied_folder,
    make_secret_in_new_folder,
    make_new_secret_beside_a_note,
    hard_link_secret_under_new_name,
    rename_note_to_secret_and_write_in_place,
    write_secret_into_note_with_a_denied_second_name,
]


@pytest.mark.parametrize("attack", [*MASK_FAILS, *MASK_HOLDS])
def test_the_view_stays_without_secrets_whatever_the_host_does_meanwhile(
    tools_image: str, tmp_path: Path, attack: Attack
) -> None:
    vault = plain_vault(tmp_path / "vault")
    with caged_view(tools_image, vault, tmp_path / "store") as inside:
        before = inside.read_everything()
        attack(vault.root)
        after = inside.read_everything()

    assert CANARY not in before
    assert after == before  # a view is a point in time
    assert "Buy oat milk." in after


@pytest.mark.parametrize("attack", MASK_FAILS)
def test_control_the_same_attack_on_a_masked_vault_reads_the_secret(
    tools_image: str, tmp_path: Path, attack: Attack
) -> None:
    vault = plain_vault(tmp_path / "vault")
    with caged_masks(tools_image, vault) as inside:
        assert CANARY not in inside.read_everything()  # the masks do hide, as long as nobody moves
        attack(vault.root)
        assert CANARY in inside.read_everything()


@pytest.mark.parametrize("attack", MASK_HOLDS)
def test_control_the_same_attack_on_a_bare_vault_reads_the_secret(
    tools_image: str, tmp_path: Path, attack: Attack
) -> None:
    vault = plain_vault(tmp_path / "vault")
    with cage(tools_image, f"--volume={vault.root}:/vault:ro") as inside:
        attack(vault.root)
        assert CANARY in inside.run("sh", "-c", "cat /vault/visible.txt /vault/shown.txt")


def test_names_that_were_there_before_the_turn_do_not_show_a_secret(
    tools_image: str, vault: Vault, tmp_path: Path
) -> None:
    with caged_view(tools_image, vault, tmp_path / "store") as inside:
        seen = inside.read_everything()
        by_hard_link = inside.run("cat", "/vault/notes/innocent.txt")
        by_link = inside.run("cat", "/vault/config", "/vault/keys/id_rsa")
        by_proc = inside.run("cat", "/proc/self/root/vault/.env", "/vault/./notes/../.env")
    with caged_masks(tools_image, vault) as masked:
        control = masked.run("cat", "/vault/notes/innocent.txt")

    assert CANARY not in seen + by_hard_link + by_link + by_proc
    assert CANARY in control
    for text in vault.readable.values():
        assert text in seen


def test_no_link_leads_out_of_the_view(tools_image: str, vault: Vault, tmp_path: Path) -> None:
    for number, target in enumerate(["/etc/hostname", "../etc/hostname", "up/../../etc/hostname"]):
        (vault.root / f"out{number}").symlink_to(target)
    (vault.root / "up").symlink_to("notes")
    with caged_view(tools_image, vault, tmp_path / "store") as inside:
        inside_links = inside.run("find", "/vault", "-type", "l")
        view_seen = [inside.run("cat", f"/vault/out{number}") for number in range(3)]
    with caged_masks(tools_image, vault) as masked:
        control = masked.run("cat", "/vault/out0")

    assert sorted(inside_links.split()) == ["/vault/latest.md", "/vault/up"]
    assert all("No such file" in each for each in view_seen)
    assert "No such file" not in control


def test_a_vault_of_any_owner_and_mode_can_be_read_but_not_what_its_owner_may_not_read(
    tools_image: str, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("making files of other owners needs root")
    vault = make_vault(tmp_path / "vault")
    private = vault.root / "notes/today.md"
    private.chmod(0o600)
    os.chown(private, 1234, 1234)
    (vault.root / "notes").chmod(0o700)
    locked = vault.root / "notes/locked.md"
    locked.write_text("not for its owner")
    locked.chmod(0o044)
    with caged_view(tools_image, vault, tmp_path / "store") as inside:
        shown = inside.run("cat", "/vault/notes/today.md")
        not_shown = inside.run("cat", "/vault/notes/locked.md")
    with caged_masks(tools_image, vault) as masked:
        control = masked.run("cat", "/vault/notes/today.md")

    assert shown == "Buy oat milk.\n"
    assert "No such file" in not_shown
    assert "Permission denied" in control


@pytest.mark.parametrize(
    "act",
    [
        ("touch", "/vault/new"),
        ("touch", "/vault/notes/today.md"),
        ("chmod", "777", "/vault/notes"),
        ("ln", "/vault/notes/today.md", "/vault/notes/again.md"),
        ("mkdir", "/vault/folder"),
        ("sh", "-c", "echo x > /vault/notes/today.md"),
    ],
)
def test_nothing_can_be_written_through_the_view(
    tools_image: str, vault: Vault, tmp_path: Path, act: tuple[str, ...]
) -> None:
    with caged_view(tools_image, vault, tmp_path / "store") as inside:
        said = inside.run(*act)
        listed = inside.run("find", "/vault")

    assert "Read-only file system" in said or "Permission denied" in said
    assert "new" not in listed
    assert (vault.root / "notes/today.md").read_text() == "Buy oat milk.\n"


@pytest.mark.parametrize("name", ["2026-03-01T10:00 notes, \"mine\" & 'yours'", "Über\nallem"])
def test_a_vault_at_an_odd_path_is_shown_and_its_secrets_are_not(
    tools_image: str, tmp_path: Path, name: str
) -> None:
    vault = make_vault(tmp_path / name)
    with caged_view(tools_image, vault, tmp_path / "store") as inside:
        seen = inside.read_everything()

    assert CANARY not in seen
    assert "Buy oat milk." in seen
