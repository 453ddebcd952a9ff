import errno
import os
from pathlib import Path, PurePosixPath

import pytest

from supervisor.storage.beneath import inside, open_inside, stat_inside

APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT


def put(root: Path, relative: str, flags: int = APPEND, *, make_folders: bool = True) -> None:
    descriptor = open_inside(root, PurePosixPath(relative), flags, make_folders=make_folders)
    try:
        os.write(descriptor, b"x")
    finally:
        os.close(descriptor)


def test_a_file_is_made_with_the_folders_on_the_way_closed_to_others(tmp_path: Path) -> None:
    put(tmp_path, "a/b/c.jsonl")
    put(tmp_path, "a/b/c.jsonl")
    assert (tmp_path / "a/b/c.jsonl").read_bytes() == b"xx"
    modes = [(tmp_path / each).stat().st_mode & 0o777 for each in ("a", "a/b", "a/b/c.jsonl")]
    assert modes == [0o700, 0o700, 0o600]


def test_folders_are_only_made_if_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        put(tmp_path, "a/c", make_folders=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("link", ["a", "a/b", "a/b/c"])
def test_a_link_at_any_step_is_refused_and_its_target_untouched(tmp_path: Path, link: str) -> None:
    root, target = tmp_path / "root", tmp_path / "target"
    (target / "b").mkdir(parents=True)
    (target / "b" / "c").write_text("mine")
    (target / "c").write_text("mine")
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(target if link != "a/b/c" else target / "c")
    (tmp_path / "root" / "a" / "b" / "c").read_text()  # control: by its path it is reached
    for flags in (os.O_RDONLY, APPEND):
        with pytest.raises(OSError) as refusal:
            put(root, "a/b/c", flags)
        assert refusal.value.errno == errno.ELOOP
    assert not inside(root, PurePosixPath("a/b/c"))
    assert {each.read_text() for each in target.rglob("c")} == {"mine"}


@pytest.mark.parametrize("relative", ["/etc/passwd", "..", "../x", "a/../../x", ".", ""])
def test_a_path_that_is_not_plainly_below_is_refused(tmp_path: Path, relative: str) -> None:
    with pytest.raises(OSError) as refusal:
        put(tmp_path, relative)
    assert refusal.value.errno == errno.EINVAL
    assert not inside(tmp_path, PurePosixPath(relative))


def test_a_pipe_is_refused_without_waiting_for_its_other_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        with pytest.raises(OSError):
            put(tmp_path, "pipe", flags)


def test_no_descriptor_stays_open(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/")
    before = set(Path("/proc/self/fd").iterdir())
    for relative in ("a/b", "../x", "missing/x", "plain"):
        try:
            put(tmp_path, relative, make_folders=False)
        except OSError:
            continue
    assert set(Path("/proc/self/fd").iterdir()) == before


def test_what_is_not_there_is_none_and_counts_as_inside(tmp_path: Path) -> None:
    assert stat_inside(tmp_path, PurePosixPath("a/b")) is None
    assert inside(tmp_path, PurePosixPath("a/b"))
    put(tmp_path, "a/b")
    found = stat_inside(tmp_path, PurePosixPath("a/b"))
    assert found is not None
    assert found.st_size == 1
