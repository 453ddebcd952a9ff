"""A folder is removed whatever an agent left in it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from supervisor.storage.clearing import clear_away

DEEP = 3_000


def dig(folder: Path, levels: int = DEEP) -> None:
    """Folders in folders, and a file in the last."""
    folder.mkdir()
    here = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def test_a_folder_deeper_than_a_recursion_goes_is_removed(tmp_path: Path) -> None:
    dig(tmp_path / "deep")
    assert clear_away(tmp_path / "deep")
    assert not (tmp_path / "deep").exists()


def test_control_a_recursive_removal_fails_on_it(tmp_path: Path) -> None:
    dig(tmp_path / "deep")
    try:
        with pytest.raises(RecursionError):
            shutil.rmtree(tmp_path / "deep", ignore_errors=True)
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "deep"], check=True)


def test_links_pipes_closed_folders_and_odd_names_are_removed_and_nothing_else(
    tmp_path: Path,
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("x")
    folder = tmp_path / "folder"
    for name in ("a", "a/b", "brought-0", "brought-0/brought-1", "brought-2", "closed", "\udcff"):
        (folder / name).mkdir(parents=True)
        (folder / name / "file").write_text("x")
    (folder / "link").symlink_to(kept)
    (folder / "a" / "b" / "link").symlink_to(kept)
    os.mkfifo(folder / "a" / "pipe")
    (folder / "closed").chmod(0)
    assert clear_away(folder)
    assert not folder.exists()
    assert (kept / "file").read_text() == "x"


def test_a_folder_that_is_not_there_is_gone_and_a_link_to_one_stays(tmp_path: Path) -> None:
    assert clear_away(tmp_path / "none")
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    assert not clear_away(tmp_path / "link")
    assert (tmp_path / "there").is_dir()
