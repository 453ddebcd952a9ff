"""What a view shows and what it doesn't, as the files in it say."""

import os
import socket
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from supervisor.errors import VaultUnavailable
from supervisor.runtimes.container.vault_view import VaultViews, ViewReport
from tests.worlds.vault import CANARY, Vault, canary_for, sample_deny_list, vault_fixture  # noqa: F401

DENY = sample_deny_list()


def make_views(tmp_path: Path, **settings: int) -> VaultViews:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    return VaultViews(tmp_path / "store", owner_home=lambda _uid: home, **settings)


@pytest.fixture(name="views")
def views_fixture(tmp_path: Path) -> VaultViews:
    return make_views(tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for base, _folders, files in os.walk(folder):
        for name in files:
            path = Path(base, name)
            if not path.is_symlink():
                found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def built(views: VaultViews, vault: Path) -> tuple[Path, ViewReport]:
    return views.build(vault, "turn_1", DENY, ())


def everything_in(folder: Path) -> str:
    return repr(contents(folder)) + repr(sorted(str(p) for p in folder.rglob("*")))


def test_readable_files_have_their_content_and_time_whatever_their_names(
    vault: Vault, views: VaultViews
) -> None:
    view, report = built(views, vault.root)

    assert contents(view) == {name: text.encode() for name, text in vault.readable.items()}
    assert report.files == len(vault.readable)
    for name in vault.readable:
        assert (view / name).stat().st_mtime_ns == (vault.root / name).stat().st_mtime_ns


def test_no_denied_content_is_in_the_view_under_any_name(vault: Vault, views: VaultViews) -> None:
    assert CANARY in everything_in(vault.root)  # positive control: the vault holds them

    view, report = built(views, vault.root)

    assert CANARY not in everything_in(view)
    assert report.hidden >= len(vault.canaries) - 1  # .ssh counts once
    assert not (view / ".ssh").exists()
    assert not (view / "notes/innocent.txt").exists()  # a hard link to .env
    assert (vault.root / "notes/innocent.txt").read_text() == canary_for(".env")


def test_a_hard_link_to_a_secret_is_found_also_where_the_secret_lies_in_a_denied_folder(
    vault: Vault, views: VaultViews
) -> None:
    os.link(vault.root / ".ssh/deep/er/id_work", vault.root / "a first name.txt")
    (vault.root / "zz").mkdir()
    os.link(vault.root / ".ssh/id_rsa", vault.root / "zz/last.txt")

    view, _ = built(views, vault.root)

    assert CANARY not in everything_in(view)
    assert not (view / "a first name.txt").exists()
    assert not (view / "zz/last.txt").exists()


@pytest.mark.parametrize("secret", [".ssh/id_other", ".aws/credentials", ".config/gcloud/a.db"])
def test_a_hard_link_to_a_secret_in_the_owners_home_is_hidden(
    vault: Vault, views: VaultViews, tmp_path: Path, secret: str
) -> None:
    elsewhere = tmp_path / "home" / secret
    elsewhere.parent.mkdir(parents=True)
    elsewhere.write_text(canary_for("home"))
    os.link(elsewhere, vault.root / "pasted.txt")
    (tmp_path / "home" / "plain.txt").write_text("no secret")
    os.link(tmp_path / "home" / "plain.txt", vault.root / "plain.txt")

    view, _ = built(views, vault.root)

    assert not (view / "pasted.txt").exists()
    assert (view / "plain.txt").read_text() == "no secret"  # control: links as such are shown


def test_what_a_denied_link_leads_to_is_denied_under_its_own_name_too(
    vault: Vault, views: VaultViews
) -> None:
    dotfiles = vault.root / "dotfiles"
    (dotfiles / "gpg").mkdir(parents=True)
    (dotfiles / "gpg/ring").write_text(canary_for("ring"))
    (dotfiles / "environment").write_text(canary_for("environment"))
    (dotfiles / "shell").write_text("alias ll='ls -l'")
    (vault.root / ".gnupg").symlink_to("dotfiles/gpg")
    (vault.root / "zz.env").symlink_to("dotfiles/environment")
    os.link(dotfiles / "gpg/ring", vault.root / "notes/ring.txt")

    view, _ = built(views, vault.root)

    assert CANARY not in everything_in(view)
    assert sorted(p.name for p in (view / "dotfiles").iterdir()) == ["shell"]


def test_a_denied_link_to_a_folder_it_lies_in_hides_nothing_but_itself(
    vault: Vault, views: VaultViews
) -> None:
    (vault.root / "projects/garden/loop.env").symlink_to(".")
    (vault.root / "projects/vault.env").symlink_to("..")

    view, report = built(views, vault.root)

    assert report.files == len(vault.readable)
    assert not (view / "projects/vault.env").is_symlink()


@pytest.mark.parametrize(
    ("name", "target", "kept"),
    [
        ("notes/up", "../projects/garden/README.md", "../projects/garden/README.md"),
        ("notes/folder", "../projects", "../projects"),
        ("notes/chain", "../latest.md", "../latest.md"),
        ("notes/nowhere", "not-there.md", "not-there.md"),
        ("notes/absolute", "{vault}/projects/garden", "../projects/garden"),
        ("notes/the vault", "{vault}", ".."),
        ("notes/to secret", "../.env", None),
        ("notes/to denied folder", "../.ssh/id_rsa", None),
        ("notes/to hard link", "innocent.txt", None),
        ("notes/chain to secret", "../config", None),
        ("notes/absolute to secret", "{vault}/.env", None),
        ("notes/outside", "../../home", None),
        ("notes/out and in", "../../vault/notes/today.md", None),
        ("notes/absolute outside", "/etc/passwd", None),
        ("notes/neighbour", "{vault}-backup/x", None),
        ("notes/by proc", "/proc/self/root/etc/passwd", None),
        ("notes/by the chain", "../up/../../x", None),
        ("notes/itself", "itself", None),
    ],
)
def test_a_link_stays_only_if_it_leads_to_what_may_be_shown(
    vault: Vault, views: VaultViews, name: str, target: str, kept: str | None
) -> None:
    (vault.root / "up").symlink_to("notes")
    link = vault.root / name
    link.symlink_to(target.format(vault=vault.root))

    view, report = built(views, vault.root)

    shown = view / name
    assert (str(shown.readlink()) if shown.is_symlink() else None) == kept
    assert report.symlinks == 2 + (kept is not None)  # latest.md and up, of the sample
    if kept is None:
        assert report.omitted.keys() & {"link_leads_out", "link_to_hidden"}


def test_special_files_are_left_out_and_never_waited_for(vault: Vault, views: VaultViews) -> None:
    os.mkfifo(vault.root / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(vault.root)  # the path may be longer than a socket's may
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)

    view, report = built(views, vault.root)

    assert report.omitted["special_file"] == 2
    assert not (view / "pipe").exists()


def test_files_are_readable_by_anybody_writable_by_nobody_and_run_only_if_the_owners_do(
    vault: Vault, views: VaultViews
) -> None:
    (vault.root / "notes/today.md").chmod(0o600)
    (vault.root / "projects/garden/src/beds.py").chmod(0o4750)
    (vault.root / "projects").chmod(0o700)

    view, _ = built(views, vault.root)

    assert stat.S_IMODE((view / "notes/today.md").stat().st_mode) == 0o444
    assert stat.S_IMODE((view / "projects/garden/src/beds.py").stat().st_mode) == 0o555
    assert {stat.S_IMODE(p.stat().st_mode) for p in [view, view / "projects"]} == {0o755}
    assert stat.S_IMODE(view.parent.stat().st_mode) == 0o700  # on the host, only we get there


def test_what_its_owner_may_not_read_is_left_out_also_if_we_could(
    vault: Vault, views: VaultViews
) -> None:
    (vault.root / "notes/today.md").chmod(0o044)
    locked = vault.root / "locked"
    locked.mkdir()
    (locked / "inner.md").write_text("locked away")
    os.link(locked / "inner.md", vault.root / "also.md")
    locked.chmod(0o055)

    view, report = built(views, vault.root)

    assert not (view / "notes/today.md").exists()
    assert not (view / "locked").exists()
    assert not (view / "also.md").exists()
    assert report.omitted["unreadable"] == 2
    locked.chmod(0o755)


def test_our_own_files_are_hidden_where_they_lie_in_the_vault(vault: Vault) -> None:
    ours = vault.root / "Chat"
    ours.mkdir()
    (ours / "token").write_text(canary_for("token"))
    os.link(ours / "token", vault.root / "notes/token.txt")
    views = VaultViews(ours / "views", owner_home=lambda _uid: None)

    views.build(vault.root, "turn_1", DENY, [ours])
    view, report = views.build(vault.root, "turn_2", DENY, [ours])

    assert CANARY not in everything_in(view)
    assert not (view / "Chat").exists()
    assert report.files == len(vault.readable)
    assert not (view / "notes/token.txt").exists()


def test_the_store_itself_is_hidden_without_being_named(vault: Vault) -> None:
    views = VaultViews(vault.root / "store", owner_home=lambda _uid: None)

    views.build(vault.root, "turn_1", DENY, ())
    view, report = views.build(vault.root, "turn_2", DENY, ())

    assert not (view / "store").exists()
    assert report.files == len(vault.readable)


def test_nothing_in_the_vault_is_changed(vault: Vault, views: VaultViews) -> None:
    def state() -> dict[str, tuple[float, ...]]:
        return {
            str(path): (
                s.st_ino,
                s.st_nlink,
                s.st_ctime_ns,
                s.st_mtime_ns,
                0 if path.is_symlink() else s.st_atime_ns,
                s.st_mode,
            )
            for path in [vault.root, *sorted(vault.root.rglob("*"))]
            for s in [path.lstat()]
        }

    state()  # listing a folder may itself touch its access time, once
    before = state()
    view, _ = built(views, vault.root)
    inodes = {path.lstat().st_ino for path in view.rglob("*")}
    views.discard("turn_1")
    views.prune()

    assert state() == before
    assert not inodes & {path.lstat().st_ino for path in vault.root.rglob("*")}


def test_a_file_over_the_size_limit_is_left_out_and_counted(vault: Vault, tmp_path: Path) -> None:
    (vault.root / "film.mp4").write_bytes(b"x" * 1001)
    (vault.root / "clip.mp4").write_bytes(b"x" * 1000)

    view, report = built(make_views(tmp_path, max_file_bytes=1000), vault.root)

    assert report.omitted == {"too_large": 1, "link_to_hidden": 2, "link_leads_out": 1}
    assert (view / "clip.mp4").exists()
    assert not (view / "film.mp4").exists()


def test_a_sparse_file_stays_sparse_and_whole(vault: Vault, views: VaultViews) -> None:
    with (vault.root / "disk.img").open("wb") as image:
        image.seek(64_000_000)
        image.write(b"in the middle")
        image.truncate(200_000_000)

    view, _ = built(views, vault.root)

    copy = view / "disk.img"
    assert copy.stat().st_size == 200_000_000
    assert copy.stat().st_blocks * 512 < 10_000_000
    with copy.open("rb") as image:
        image.seek(64_000_000)
        assert image.read(13) == b"in the middle"


def test_a_large_file_is_copied_whole(vault: Vault, views: VaultViews) -> None:
    content = os.urandom(3_000_001)
    (vault.root / "photo.raw").write_bytes(content)

    view, _ = built(views, vault.root)

    assert (view / "photo.raw").read_bytes() == content


def test_a_very_deep_tree_is_cut_off_and_hides_links_it_can_not_judge(
    vault: Vault, views: VaultViews
) -> None:
    fd = os.open(vault.root, os.O_RDONLY)
    for _ in range(3000):  # deeper than a path can be long
        os.mkdir("d" * 8, dir_fd=fd)
        inner = os.open("d" * 8, os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    with open(os.open(".env", os.O_WRONLY | os.O_CREAT, dir_fd=fd), "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(canary_for("deep"))
    os.link(".env", str(vault.root / "notes/from the deep.txt"), src_dir_fd=fd)
    os.close(fd)
    try:
        view, report = built(views, vault.root)

        assert report.omitted["too_deep"] == 1
        assert not (view / "notes/from the deep.txt").exists()
        assert (view / "notes/today.md").exists()
        views.discard("turn_1")
        assert not view.exists()
    finally:  # Python's own removal recurses too deep for this
        subprocess.run(["rm", "-rf", vault.root / ("d" * 8)], check=True)


def test_names_as_long_as_the_file_system_allows_work(vault: Vault, views: VaultViews) -> None:
    name = "n" * 255
    (vault.root / name).write_text("long")
    nested = vault.root.joinpath(*["f" * 200] * 15)
    nested.mkdir(parents=True)
    (nested / "end.md").write_text("end")

    view, _ = built(views, vault.root)

    assert (view / name).read_text() == "long"
    assert view.joinpath(*["f" * 200] * 15, "end.md").read_text() == "end"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("other", ["a file system", "a bind mount of the same file system"])
def test_other_mounts_below_the_vault_are_left_out(
    vault: Vault, views: VaultViews, tmp_path: Path, other: str
) -> None:
    point = vault.root / "mounted here"
    point.mkdir()
    source = tmp_path / "elsewhere"
    source.mkdir()
    (source / "foreign.txt").write_text("foreign")
    options = ["-t", "tmpfs", "tmpfs"] if other == "a file system" else ["--bind", str(source)]
    subprocess.run(["mount", *options, str(point)], check=True)
    try:
        (point / "foreign.txt").write_text("foreign")
        view, report = built(views, vault.root)
    finally:
        subprocess.run(["umount", str(point)], check=True)

    assert report.omitted["other_mount"] == 1
    assert not (view / "mounted here").exists()


@pytest.mark.parametrize(
    "name",
    ["2026-03-01T10:00 notes", "a,b", "sp ace", "quo'te\"s", "new\nline", "Ümläut 日本", "back\\s"],
)
def test_a_vault_with_this_name_works_and_its_view_has_a_plain_path(
    tmp_path: Path, views: VaultViews, name: str
) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "a.md").write_text("a")
    (tmp_path / name / "here").symlink_to(tmp_path / name / "a.md")

    view, _ = built(views, tmp_path / name)

    assert (view / "a.md").read_text() == "a"
    assert (view / "here").read_text() == "a"
    assert view.name == "turn_1"


def test_a_vault_reached_by_a_link_works(vault: Vault, views: VaultViews, tmp_path: Path) -> None:
    (tmp_path / "shortcut").symlink_to(vault.root)

    _, report = built(views, tmp_path / "shortcut")

    assert report.files == len(vault.readable)


@pytest.mark.parametrize("broken", ["missing", "file", "locked"])
def test_a_vault_that_is_not_there_is_said_so_with_a_remedy(
    tmp_path: Path, views: VaultViews, broken: str
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "locked").mkdir(mode=0o000)

    with pytest.raises(VaultUnavailable) as caught:
        built(views, tmp_path / broken)

    assert str(tmp_path / broken) == caught.value.where
    assert caught.value.remedy
    assert views.leftovers() == []


def test_an_empty_vault_gives_an_empty_view(tmp_path: Path, views: VaultViews) -> None:
    (tmp_path / "empty").mkdir()

    view, report = built(views, tmp_path / "empty")

    assert list(view.iterdir()) == []
    assert report == ViewReport(0, 0, 0, 0, {}, 0, 0)


def test_a_stopped_build_leaves_nothing(vault: Vault, views: VaultViews) -> None:
    stop = threading.Event()
    stop.set()

    with pytest.raises(VaultUnavailable, match="called off"):
        views.build(vault.root, "turn_1", DENY, (), stop)

    assert views.leftovers() == []


@pytest.mark.parametrize("name", ["", "..", "a/b", "/etc", "-rf", "a\n", ".hidden"])
def test_a_view_can_not_be_named_out_of_its_folder(
    vault: Vault, views: VaultViews, name: str
) -> None:
    with pytest.raises(ValueError, match="not a name"):
        views.build(vault.root, name, DENY, ())
    with pytest.raises(ValueError, match="not a name"):
        views.discard(name)
