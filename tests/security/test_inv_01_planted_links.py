"""Invariant 1: a link or a pipe in the place of our files and folders is refused."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from supervisor.errors import ConfigurationError
from supervisor.storage.identity import private_folder
from tests.worlds.foreign import Place, a_place, refused


def link_the_folder(place: Place, elsewhere: Path) -> None:
    place.file.parent.symlink_to(elsewhere)


def link_the_file(place: Place, elsewhere: Path) -> None:
    place.file.parent.mkdir()
    place.file.symlink_to(elsewhere / "bait")


def link_beside(end: str) -> Callable[[Place, Path], None]:
    def link(place: Place, elsewhere: Path) -> None:
        place.file.parent.mkdir()
        place.file.with_name(place.file.name + end).symlink_to(elsewhere / "bait")

    return link


def a_pipe(place: Place, _: Path) -> None:
    place.file.parent.mkdir()
    os.mkfifo(place.file)


def link_within(place: Place, _: Path) -> None:
    (place.vault / "notes").mkdir()
    place.file.parent.symlink_to("notes")


@pytest.mark.parametrize(
    "plant",
    [
        link_the_folder,
        link_the_file,
        *(link_beside(end) for end in ("-wal", "-shm", "-journal", ".lock")),
        a_pipe,
        link_within,
    ],
)
async def test_a_link_in_the_databases_place_is_refused_and_its_target_untouched(
    tmp_path: Path, plant: Callable[[Place, Path], None]
) -> None:
    place = a_place(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    bait = elsewhere / "bait"
    bait.write_text("mine")
    bait.chmod(0o644)
    plant(place, elsewhere)
    await refused(place)
    assert [each.name for each in elsewhere.iterdir()] == ["bait"]
    assert (bait.read_text(), bait.stat().st_mode & 0o777) == ("mine", 0o644)


def test_a_planted_link_in_a_private_folders_place_is_refused_and_its_target_untouched(
    tmp_path: Path,
) -> None:
    target = tmp_path / "target"
    target.mkdir(mode=0o755)
    planted = tmp_path / "trustfloor-1000"
    planted.symlink_to(target)
    with pytest.raises(ConfigurationError, match="link"):
        private_folder(planted)
    assert target.stat().st_mode & 0o777 == 0o755
    assert private_folder(target).stat().st_mode & 0o777 == 0o700  # control: no link


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make another user's folder")
def test_another_users_folder_is_not_taken_for_a_private_one(tmp_path: Path) -> None:
    theirs = tmp_path / "trustfloor-0"
    theirs.mkdir(mode=0o755)
    os.chown(theirs, 12345, 12345)
    with pytest.raises(ConfigurationError, match="another user"):
        private_folder(theirs)
    assert theirs.stat().st_mode & 0o777 == 0o755
