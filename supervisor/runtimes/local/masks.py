"""What is put over denied files in a cage: files and folders in the turn's own folder."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from supervisor.runtimes.honeytokens import DECOY_NAME
from supervisor.runtimes.local.bubblewrap import Bind

Decoy = Callable[[str], bytes]
"""What stands in the place of a denied file; its path is relative to the vault."""


def nothing(_path: str) -> bytes:
    """The decoy that is an empty file."""
    return b""


@dataclass(frozen=True, slots=True)
class Masks:
    """Covers for one cage, and the identity (device:inode) of what stands at each, in order."""

    covers: tuple[Bind, ...]
    identities: tuple[str, ...]


def make_masks(
    folder: Path, vault: Path, covers: Mapping[str, bool], decoy: Decoy = nothing
) -> Masks:
    """Make a mask for each path; `covers` says whether it is a folder's. Raises OSError.

    What has no decoy shares one empty file or folder. They can be read by any user: the folder
    that `folder` lies in is closed to others.
    """
    folder.mkdir(mode=0o755)
    shared = {False: folder / "file", True: folder / "folder"}
    _put(shared[False], b"", is_folder=False)
    _put(shared[True], b"", is_folder=True)
    made: list[tuple[Bind, str]] = []
    for number, (path, is_folder) in enumerate(sorted(covers.items())):
        content = decoy(path)
        source = shared[is_folder]
        if content:
            source = folder / str(number)
            _put(source, content, is_folder=is_folder)
        seen = source.stat()
        made.append(
            (Bind(str(source), str(vault / path)), f"{seen.st_dev}:{seen.st_ino}"),
        )
    return Masks(tuple(bind for bind, _ in made), tuple(identity for _, identity in made))


def _put(place: Path, content: bytes, *, is_folder: bool) -> None:
    if is_folder:
        place.mkdir()
        if content:
            _put(place / DECOY_NAME, content, is_folder=False)
        place.chmod(0o755)  # it is bound read-only; on the host we must be able to remove it
        return
    fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
    try:
        os.write(fd, content)
        os.fchmod(fd, 0o444)  # whatever the mask of new files' modes is
    finally:
        os.close(fd)
