"""What changes between the scan and the copy: each step is taken by hand, so the order is sure."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from supervisor.runtimes.container.view_fill import Filling
from supervisor.runtimes.container.view_scan import Scan, Scanner
from supervisor.runtimes.container.view_store import ObjectStore
from tests.worlds.vault import CANARY, Vault, age, canary_for, sample_deny_list, vault_fixture  # noqa: F401

SECRET = canary_for("race")
Act = Callable[[Path], object]


class ActingStore(ObjectStore):
    """The real store; while the first file is copied, somebody does something to the vault."""

    act: Callable[[], object] | None = None

    def copy(self, source: int, target: int, found: os.stat_result) -> int:
        act, self.act = self.act, None
        if act is not None:
            act()
        return super().copy(source, target, found)


class Stage:
    """A vault with two notes, and the two steps of making a view of it."""

    def __init__(self, root: Path) -> None:
        self.vault = root / "vault"
        (self.vault / "box").mkdir(parents=True)
        (self.vault / "box/note.md").write_text("a note")
        (root / "objects").mkdir()
        self.root = root
        self.fd = os.open(self.vault, os.O_RDONLY)
        self.store = ActingStore(root / "objects", keep_seconds=1e9, keep_bytes=1 << 30)

    def scan(self) -> Scan:
        scanner = Scanner(self.fd, sample_deny_list(), max_file_bytes=1000)
        return scanner.scan((), self.root / "objects", None, str(self.vault))

    def fill(self, scan: Scan) -> Filling:
        filling = Filling(self.fd, scan, self.store, max_file_bytes=1000)
        filling.into(self.root / "view")
        return filling

    def shown(self) -> str:
        files = [p for p in sorted((self.root / "view").rglob("*")) if p.is_file()]
        return "".join(f"{p.relative_to(self.root / 'view')}={p.read_text()};" for p in files)


@pytest.fixture(name="stage")
def stage_fixture(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def note_becomes_secret(vault: Path) -> None:
    (vault / "box/note.md").rename(vault / "box/.env")
    with (vault / "box/.env").open("a") as file:
        file.write(SECRET)


def note_gains_a_denied_name_and_a_secret(vault: Path) -> None:
    os.link(vault / "box/note.md", vault / "box/.env")
    with (vault / "box/.env").open("a") as file:
        file.write(SECRET)


def folder_becomes_denied(vault: Path) -> None:
    (vault / "box").rename(vault / ".ssh")
    (vault / ".ssh/new").write_text(SECRET)
    (vault / ".ssh/new").rename(vault / ".ssh/note.md")


def folder_becomes_denied_and_a_link_leads_to_it(vault: Path) -> None:
    folder_becomes_denied(vault)
    (vault / "box").symlink_to(".ssh")


def note_becomes_a_link_to_a_secret(vault: Path) -> None:
    (vault / ".env").write_text(SECRET)
    (vault / "box/note.md").unlink()
    (vault / "box/note.md").symlink_to("../.env")


def note_becomes_a_hard_link_to_a_new_secret(vault: Path) -> None:
    (vault / ".env").write_text(SECRET)
    (vault / "box/note.md").unlink()
    os.link(vault / ".env", vault / "box/note.md")


def note_becomes_a_pipe(vault: Path) -> None:
    (vault / "box/note.md").unlink()
    os.mkfifo(vault / "box/note.md")


def note_is_locked(vault: Path) -> None:
    (vault / "box/note.md").chmod(0o044)


def note_grows_too_large(vault: Path) -> None:
    (vault / "box/note.md").write_text("x" * 2000)


ATTACKS: list[Act] = [
    note_becomes_secret,
    note_gains_a_denied_name_and_a_secret,
    folder_becomes_denied,
    folder_becomes_denied_and_a_link_leads_to_it,
    note_becomes_a_link_to_a_secret,
    note_becomes_a_hard_link_to_a_new_secret,
    note_becomes_a_pipe,
    note_is_locked,
    note_grows_too_large,
]


@pytest.mark.parametrize("act", ATTACKS)
def test_a_file_that_may_no_longer_be_shown_when_it_is_opened_is_left_out(
    stage: Stage, act: Act
) -> None:
    scan = stage.scan()
    act(stage.vault)

    filling = stage.fill(scan)

    assert stage.shown() == ""
    assert filling.files == 0
    assert filling.omitted.total() == 1


@pytest.mark.parametrize("act", ATTACKS[:6])
def test_a_file_that_becomes_secret_while_it_is_copied_is_left_out(stage: Stage, act: Act) -> None:
    scan = stage.scan()
    stage.store.act = lambda: act(stage.vault)

    filling = stage.fill(scan)

    assert CANARY not in stage.shown()
    assert filling.files == 0
    assert filling.omitted.total() == 1


def test_a_copy_that_does_not_look_again_would_have_shown_the_secret(stage: Stage) -> None:
    """The positive control of the attacks above: the same acts, and a plain read by name."""
    leaked = []
    for number, act in enumerate(ATTACKS[:6]):
        root = stage.root / str(number)
        (root / "box").mkdir(parents=True)
        (root / "box/note.md").write_text("a note")
        with (root / "box/note.md").open() as opened:
            act(root)
            seen = opened.read()
        with suppress(FileNotFoundError):
            seen += (root / "box/note.md").read_text()
        leaked.append(CANARY in seen)
    # folder_becomes_denied alone is safe by name: it takes an open folder to see it
    assert leaked == [True, True, False, True, True, True]


def test_the_secret_that_replaced_a_note_in_the_scan_is_known_by_its_identity(stage: Stage) -> None:
    (stage.vault / ".env").write_text(SECRET)
    scan = stage.scan()
    (stage.vault / ".env").rename(stage.vault / "box/note.md")

    filling = stage.fill(scan)

    assert stage.shown() == ""
    assert filling.hidden == 1


def test_a_note_saved_by_replacing_it_is_shown_as_it_is_now(stage: Stage) -> None:
    scan = stage.scan()
    (stage.vault / "box/new").write_text("a better note")
    (stage.vault / "box/new").rename(stage.vault / "box/note.md")

    stage.fill(scan)

    assert stage.shown() == "box/note.md=a better note;"


def test_a_note_replaced_while_it_is_copied_is_copied_again(stage: Stage) -> None:
    scan = stage.scan()

    def save() -> None:
        (stage.vault / "box/new").write_text("a better note")
        (stage.vault / "box/new").rename(stage.vault / "box/note.md")

    stage.store.act = save
    filling = stage.fill(scan)

    assert stage.shown() == "box/note.md=a better note;"
    assert filling.files == 1


def test_a_log_that_grows_while_it_is_copied_is_shown_but_its_copy_is_not_kept(
    stage: Stage,
) -> None:
    note = stage.vault / "box/note.md"
    age(note)
    scan = stage.scan()

    def grow() -> None:
        with note.open("a") as file:
            file.write(" and more")

    stage.store.act = grow
    stage.fill(scan)

    assert stage.shown().startswith("box/note.md=a note")
    assert list(stage.store.folder.iterdir()) == []


def test_the_copy_of_a_file_that_was_just_written_is_not_kept(stage: Stage) -> None:
    note = stage.vault / "box/note.md"
    os.utime(note, ns=(0, 0))  # the change time is now, whatever this one says

    stage.fill(stage.scan())
    assert list(stage.store.folder.iterdir()) == []
    assert stage.shown() == "box/note.md=a note;"

    age(note)
    (stage.root / "view").rename(stage.root / "view of then")
    stage.fill(stage.scan())
    assert len(list(stage.store.folder.iterdir())) == 1
