"""What the scan of a vault finds to mask and protect, and what the watch says of changes."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from supervisor.policy.builtin import PROTECTED
from supervisor.policy.deny_list import DenyList, DenyRule
from supervisor.runtimes.local import vault_changes
from supervisor.runtimes.local.vault_found import Record, VaultRules, VaultScan
from supervisor.runtimes.local.vault_scan import scan_vault
from supervisor.runtimes.local.vault_watch import VaultWatch
from tests.worlds.waiting import A_WHILE

HIDDEN = DenyList(
    (DenyRule("secrets", "secret", names=(".env", "id_rsa", ".ssh"), paths=("Chat/sessions.db*",)),)
)
RULES = VaultRules(hidden=HIDDEN, protected=DenyList(PROTECTED))


@pytest.fixture(name="vault")
def vault_fixture(tmp_path: Path) -> Path:
    vault = tmp_path / "vault"
    (vault / "notes").mkdir(parents=True)
    (vault / "notes" / "a.md").write_text("a")
    (vault / ".env").write_text("secret")
    return vault


def scanned(vault: Path, rules: VaultRules = RULES) -> VaultScan:
    return scan_vault(vault, rules, lambda _fd, _prefix: None)


def test_denied_files_and_folders_are_covered_and_what_lies_in_a_covered_folder_is_not(
    vault: Path,
) -> None:
    (vault / ".ssh").mkdir()
    (vault / ".ssh" / "id_rsa").write_text("x")
    assert scanned(vault).covers == {".env": False, ".ssh": True}


def test_other_names_of_a_denied_file_are_covered(vault: Path) -> None:
    os.link(vault / ".env", vault / "notes" / "plain.md")
    os.link(vault / "notes" / "a.md", vault / "notes" / "b.md")  # the control: not denied
    assert scanned(vault).covers == {".env": False, "notes/plain.md": False}


def test_what_a_denied_link_leads_to_is_covered(vault: Path) -> None:
    (vault / "notes" / ".env").symlink_to("a.md")
    (vault / "id_rsa").symlink_to("/etc/hostname")  # isn't in the cage anyway
    (vault / "notes" / "id_rsa").symlink_to("..")  # the vault itself stays
    assert scanned(vault).covers == {".env": False, "notes/a.md": False}


def test_what_a_link_in_a_denied_folder_leads_to_is_covered(vault: Path) -> None:
    (vault / ".ssh").mkdir()
    (vault / ".ssh" / "config").symlink_to("../notes/a.md")
    (vault / ".ssh" / "up").symlink_to("..")  # the vault itself stays
    (vault / "notes" / "link").symlink_to("b.md")  # the control: not denied
    (vault / "notes" / "b.md").write_text("b")
    assert scanned(vault).covers == {".env": False, ".ssh": True, "notes/a.md": False}


def test_what_steers_agents_is_read_only_with_denied_files_in_it_covered(vault: Path) -> None:
    (vault / "policies").mkdir()
    (vault / "policies" / ".env").write_text("x")
    (vault / ".mcp.json").write_text("{}")
    found = scanned(vault)
    assert found.read_only == {"policies", ".mcp.json"}
    assert "policies/.env" in found.covers


def test_the_supervisors_own_folder_in_the_vault_is_found_by_what_it_is(vault: Path) -> None:
    own = vault / "notes" / "data"
    own.mkdir()
    (own / "token").write_text("t")
    os.link(own / "token", vault / "t.txt")
    found = scanned(vault, VaultRules(HIDDEN, DenyList(PROTECTED), own=(own,)))
    assert found.own_folders == {"notes/data"}
    assert found.covers == {".env": False, "t.txt": False}


def test_the_folder_of_the_records_is_shown_with_what_else_is_in_it(vault: Path) -> None:
    (vault / "Chat" / "contexts").mkdir(parents=True)
    (vault / "Chat" / "contexts" / ".env").write_text("x")
    (vault / "Chat" / "sessions.db").write_text("x")
    (vault / "Chat" / "plan.md").write_text("x")
    found = scanned(vault)
    assert sorted(found.records or ()) == [Record("contexts", None), Record("plan.md", None)]
    assert found.covers == {".env": False, "Chat/contexts/.env": False}


def test_a_folder_that_cannot_be_looked_into_is_covered(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (vault / "closed").mkdir()
    (vault / "closed" / ".env").write_text("x")
    plain = os.open

    def refusing(path: object, *rest: object, **named: object) -> int:
        if path == "closed":
            raise PermissionError(13, "Permission denied")
        return plain(path, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refusing)
    assert scanned(vault).covers == {".env": False, "closed": True}


class Watched:
    """A watch that has begun, and whether it has ended the turn."""

    def __init__(self, vault: Path) -> None:
        self.watch = VaultWatch(vault, RULES)
        self._ended = threading.Event()
        self.watch.on_breach(self._ended.set)
        self.watch.begin()
        self.watch.masked()

    def said(self) -> str:
        assert self._ended.wait(A_WHILE)
        assert self.watch.breach is not None
        return self.watch.breach.message


def put(place: Path) -> None:
    """A file, with the folders it lies in."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("x")


CHANGES: dict[str, Callable[[Path], object]] = {
    "sub/.env": lambda vault: put(vault / "sub" / ".env"),
    "a/b/c/id_rsa": lambda vault: put(vault / "a" / "b" / "c" / "id_rsa"),
    "notes/link.md": lambda vault: os.link(vault / ".env", vault / "notes" / "link.md"),
    ".env": lambda vault: (vault / "notes" / "a.md").rename(vault / ".env"),
    ".mcp.json": lambda vault: put(vault / ".mcp.json"),
    "notes/.ssh": lambda vault: put(vault / "notes" / ".ssh" / "config"),
}


@pytest.mark.parametrize(("place", "change"), CHANGES.items())
def test_what_nothing_lies_over_ends_the_turn(
    vault: Path, place: str, change: Callable[[Path], object]
) -> None:
    watched = Watched(vault)
    try:
        change(vault)
        assert f"{place} " in watched.said()
    finally:
        watched.watch.end()


def test_a_file_that_was_removed_and_made_anew_is_another_even_under_the_same_number(
    vault: Path,
) -> None:
    watched = Watched(vault)
    try:
        (vault / ".env").unlink()
        (vault / ".env").write_text("new")
        assert ".env " in watched.said()
    finally:
        watched.watch.end()


def test_what_is_masked_may_be_moved_with_its_mask_and_plain_files_may_do_anything(
    vault: Path,
) -> None:
    (vault / "keys").mkdir()
    (vault / "keys" / "id_rsa").write_text("x")
    (vault / ".ssh").mkdir()
    watched = Watched(vault)
    try:
        (vault / "keys").rename(vault / "moved")
        (vault / ".ssh").rename(vault / "moved" / ".ssh")
        (vault / "moved" / ".ssh" / ".env").write_text("masked as a whole")
        (vault / ".env").rename(vault / "moved" / "plain")
        (vault / "moved" / "plain").rename(vault / ".env")
        (vault / "notes" / "b.md").write_text("b")
        (vault / "notes").rename(vault / "moved" / "notes")
        # What is told in order was judged in order: this one is the first that counts.
        (vault / "moved" / "notes" / "id_rsa").write_text("x")
        assert watched.said().startswith("the turn was ended: moved/notes/id_rsa is")
    finally:
        watched.watch.end()


def test_a_folder_that_left_the_vault_is_watched_no_more(vault: Path) -> None:
    watched = Watched(vault)
    try:
        (vault / "notes").rename(vault.parent / "gone")
        (vault.parent / "gone" / ".env").write_text("the person's own")
        (vault / "last.mcp").mkdir()
        (vault / "last.mcp" / ".env").write_text("x")
        assert "last.mcp/.env" in watched.said()
    finally:
        watched.watch.end()


def test_a_mask_that_was_moved_with_its_folder_falls_off_at_the_next_save_there(
    vault: Path,
) -> None:
    (vault / "keys").mkdir()
    os.link(vault / ".env", vault / "keys" / "plain.md")
    watched = Watched(vault)
    try:
        (vault / "keys").rename(vault / "moved")
        put(vault / "new")
        (vault / "new").replace(vault / "moved" / "plain.md")
        assert "moved/plain.md took the place of a masked file" in watched.said()
    finally:
        watched.watch.end()


def test_a_watch_that_falls_behind_ends_the_turn(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched(vault)
    try:
        put(vault / "notes" / "b.md")
        watched.watch.masked()  # the control: all was judged, and nothing said
        monkeypatch.setattr(vault_changes, "MOST_BEHIND", -1.0)
        put(vault / "notes" / "c.md")
        assert "more was changed in the vault at once than can be followed" in watched.said()
    finally:
        watched.watch.end()


def test_a_bare_name_of_a_denied_file_does_not_escape_in_a_folder_that_is_moved_about(
    vault: Path,
) -> None:
    work, elsewhere = vault / "work", vault / "elsewhere"
    work.mkdir()
    inside = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
    watched = Watched(vault)
    stop = threading.Event()

    def move() -> None:
        while not stop.is_set():
            work.rename(elsewhere)
            elsewhere.rename(work)

    mover = threading.Thread(target=move)
    mover.start()
    try:
        os.link(vault / ".env", "plain.md", dst_dir_fd=inside)
        assert watched.said()  # what it says depends on where it was met
    finally:
        stop.set()
        mover.join()
        os.close(inside)
        watched.watch.end()
