"""Private copies of the vault's files, each made once and shared by all views that show it."""

import errno
import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from supervisor.runtimes.container.view_tree import Folder, Seen

YOUNG_NS = 50_000_000
"""A file changed less than this before it was copied may change again without its times showing it:
the kernel stamps times in ticks of up to 10 ms. Such a copy serves one view and is not shared."""

_SMALL = 1 << 17
_CHUNK = 1 << 26
_FICLONE = 0x40049409  # ioctl_ficlone(2)
_CANT_CLONE = frozenset(
    {errno.EOPNOTSUPP, errno.EXDEV, errno.EINVAL, errno.ENOTTY, errno.ENOSYS, errno.EPERM}
)
_CANT_COPY_RANGE = _CANT_CLONE | {errno.EBADF, errno.ETXTBSY}
_SPARSE_BLOCK = 512  # st_blocks counts in these, whatever the file system's own block is


class ObjectStore:
    """The folder of objects. An object is named by all that shows that a file is still the same.

    Only whole objects are ever in it: a copy is made in a view, under the file's name, and then
    linked here.
    """

    def __init__(self, folder: Path, *, keep_seconds: float, keep_bytes: int) -> None:
        self.folder = folder
        self._keep_seconds = keep_seconds
        self._keep_bytes = keep_bytes
        self._no_clone: set[int] = set()

    @staticmethod
    def name_of(seen: Seen) -> str:
        """The object's name for a file in this state."""
        mode = "x" if seen.executable else "r"
        return (
            f"{seen.device:x}-{seen.number:x}-{seen.modified:x}-{seen.changed:x}"
            f"-{seen.size:x}-{mode}"
        )

    def take(self, name: str, view_fd: int, objects_fd: int, seen: Seen) -> None:
        """Make a finished copy in a view an object; another thread may have been first."""
        with suppress(FileExistsError):
            os.link(
                name,
                self.name_of(seen),
                src_dir_fd=view_fd,
                dst_dir_fd=objects_fd,
                follow_symlinks=False,
            )

    def copy(self, source: int, target: int, found: os.stat_result) -> int:
        """Copy the first `found.st_size` bytes between open files; returns how many there were.

        Shares blocks where the file system can, keeps holes, else copies inside the kernel.
        """
        if self._clone(source, target, found):
            return found.st_size
        if found.st_size <= _SMALL:
            return _copy_by_hand(source, target, 0, found.st_size)
        if found.st_blocks * _SPARSE_BLOCK >= found.st_size:
            return _copy_range(source, target, 0, found.st_size)
        return _copy_sparse(source, target, found.st_size)

    def _clone(self, source: int, target: int, found: os.stat_result) -> bool:
        if found.st_dev in self._no_clone or found.st_size == 0:
            return False
        try:
            fcntl.ioctl(target, _FICLONE, source)
        except OSError as error:
            if error.errno not in _CANT_CLONE:
                raise
            self._no_clone.add(found.st_dev)
            return False
        os.ftruncate(target, found.st_size)
        return True

    def prune(self, *, all_unused: bool = False) -> int:
        """Drop objects that no view uses and that are old or too many; returns how many.

        Old is: no view has used it for `keep_seconds` (its link count, and so its change time, was
        last touched then). Also drops what a power cut left incomplete. A view that is just being
        made at most copies a file again.
        """
        now = time.time()
        dropped = 0
        unused: list[tuple[float, int, str]] = []
        with os.scandir(self.folder) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                if _size_in(entry.name) != found.st_size:
                    dropped += self._drop(entry.name)
                elif found.st_nlink == 1:
                    unused.append((found.st_ctime, found.st_size, entry.name))
        unused.sort(reverse=True)
        kept = 0
        for last_used, size, name in unused:
            kept += size
            too_old = now - last_used > self._keep_seconds
            if all_unused or too_old or kept > self._keep_bytes:
                dropped += self._drop(name)
        return dropped

    def bytes_missing(self, root: Folder) -> int:
        """How many bytes of this tree's files have no object yet."""
        return sum(
            seen.size
            for folder in root.all_below()
            for seen in folder.files.values()
            if not (self.folder / self.name_of(seen)).exists()
        )

    def _drop(self, name: str) -> int:
        try:
            (self.folder / name).unlink()
        except FileNotFoundError:
            return 0
        return 1


def _size_in(name: str) -> int:
    try:
        return int(name.split("-")[4], 16)
    except (IndexError, ValueError):
        return -1


def _copy_by_hand(source: int, target: int, start: int, end: int) -> int:
    at = start
    while at < end:
        piece = os.pread(source, min(end - at, _SMALL), at)
        if not piece:
            break
        os.pwrite(target, piece, at)
        at += len(piece)
    return at


def _copy_range(source: int, target: int, start: int, end: int) -> int:
    at = start
    while at < end:
        try:
            count = os.copy_file_range(source, target, min(end - at, _CHUNK), at, at)
        except OSError as error:
            if error.errno not in _CANT_COPY_RANGE:
                raise
            return _copy_by_hand(source, target, at, end)
        if count == 0:  # the end, or a file system that says so though it isn't (procfs-like)
            return _copy_by_hand(source, target, at, end)
        at += count
    return at


def _copy_sparse(source: int, target: int, size: int) -> int:
    at = 0
    while at < size:
        try:
            data = os.lseek(source, at, os.SEEK_DATA)
            hole = min(os.lseek(source, data, os.SEEK_HOLE), size)
        except OSError as error:
            if error.errno != errno.ENXIO:  # no more data: a hole up to the end
                raise
            break
        if data >= size:
            break
        reached = _copy_range(source, target, data, hole)
        if reached < hole:
            return reached
        at = hole
    os.ftruncate(target, size)
    return size
