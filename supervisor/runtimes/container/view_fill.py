"""Fills one view from a scan: links to objects there are, copies of files that are new or changed.

A file is judged again when it is opened, and once more after it was copied: what was read was, at
both moments, the file that bears the allowed name and no other.
"""

import os
import stat
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from supervisor.runtimes.container.view_scan import Scan, seen_of
from supervisor.runtimes.container.view_store import YOUNG_NS, ObjectStore
from supervisor.runtimes.container.view_tree import Folder, Seen
from supervisor.runtimes.honeytokens import DECOY_NAME, Honeytokens
from supervisor.runtimes.quiet_open import (
    check_stop,
    open_quietly,
    opened_folder,
    raise_shortage,
    why_left_out,
)

_ATTEMPTS = 3
FOLDER_MODE = 0o755
_FILE_MODE = 0o444
_PROGRAM_MODE = 0o555
_SOURCE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TARGET = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Filling:
    """The making of one view; `into` is called once. The counts are right also after a failure."""

    def __init__(  # noqa: PLR0913  (all that a view is made of)
        self,
        vault_fd: int,
        scan: Scan,
        objects: ObjectStore,
        *,
        max_file_bytes: int,
        honeytokens: Honeytokens | None = None,
        stop: threading.Event | None = None,
        there: tuple[str, ...] = (),
    ) -> None:
        self._there = there
        self._honeytokens = honeytokens
        self._vault_fd = vault_fd
        self._scan = scan
        self._objects = objects
        self._max_file_bytes = max_file_bytes
        self._stop = stop
        self._objects_fd = -1
        self.files = self.directories = self.symlinks = self.hidden = self.decoys = 0
        self.bytes_copied = self.objects_reused = 0
        self.omitted: Counter[str] = Counter()

    def into(self, target: Path) -> None:
        """Make the tree at `target`, absent or an empty folder. Raises OSError on a shortage.

        Of the folders, those on the way that `there` names are there already.
        """
        target.mkdir(mode=0o700, exist_ok=True)
        with opened_folder(self._objects.folder) as self._objects_fd, opened_folder(target) as fd:
            self._fill(self._scan.root, fd)

    def _fill(self, folder: Folder, view_fd: int) -> None:
        check_stop(self._stop)
        os.fchmod(view_fd, FOLDER_MODE)
        missing: list[tuple[str, Seen]] = []
        for name, seen in folder.files.items():
            if self._scan.is_hidden(seen):
                self.hidden += 1
                continue
            try:
                os.link(
                    self._objects.name_of(seen),
                    name,
                    src_dir_fd=self._objects_fd,
                    dst_dir_fd=view_fd,
                    follow_symlinks=False,
                )
            except OSError as error:  # no such object yet, or it has as many links as can be
                raise_shortage(error)
                missing.append((name, seen))
            else:
                self.files += 1
                self.objects_reused += 1
        if missing:
            self._copy_missing(folder, missing, view_fd)
        for name, text in folder.links.items():
            with self._counting_trouble():
                os.symlink(text, name, dir_fd=view_fd)
                self.symlinks += 1
        self._put_decoys(folder, view_fd)  # where there are too many, the upper ones come first
        for name, child in folder.folders.items():
            with self._counting_trouble():
                if child.parts != self._there[: len(child.parts)]:
                    os.mkdir(name, 0o700, dir_fd=view_fd)
                self.directories += 1
                with opened_folder(name, view_fd) as child_fd:
                    self._fill(child, child_fd)

    def _put_decoys(self, folder: Folder, view_fd: int) -> None:
        if self._honeytokens is None:
            return
        above = "".join(f"{part}/" for part in folder.parts)
        for name, is_folder in folder.decoys.items():
            content = self._honeytokens.decoy(above + name)
            if content:
                with self._counting_trouble():
                    _put_decoy(view_fd, name, content, is_folder=is_folder)
                    self.decoys += 1

    @contextmanager
    def _counting_trouble(self) -> Iterator[None]:
        """A name that this file system can't hold is left out and counted."""
        try:
            yield
        except OSError as error:
            raise_shortage(error)
            self.omitted["name_not_possible"] += 1

    def _copy_missing(self, folder: Folder, missing: list[tuple[str, Seen]], view_fd: int) -> None:
        copied: list[str] = []
        unsettled = len(missing)
        try:
            with self._source_folder(folder) as source_dir:
                for name, seen in missing:
                    check_stop(self._stop)
                    reason = self._copy(source_dir, name, seen, view_fd)
                    unsettled -= 1
                    if reason is None:
                        copied.append(name)
                    elif reason == "hidden":
                        self.hidden += 1
                    else:
                        self.omitted[reason] += 1
            with self._source_folder(folder):
                self.files += len(copied)
        except OSError as error:  # moved away, or another folder bears its name now
            self.omitted[why_left_out(error)] += unsettled + len(copied)
            for name in copied:
                os.unlink(name, dir_fd=view_fd)

    @contextmanager
    def _source_folder(self, folder: Folder) -> Iterator[int]:
        """The scanned folder, reached anew by its names, none of which may be a link."""
        fd = os.dup(self._vault_fd)
        try:
            for part in folder.parts:
                with opened_folder(part, fd) as inner:
                    os.dup2(inner, fd, inheritable=False)
            found = os.fstat(fd)
            if (found.st_dev, found.st_ino) != folder.inode:
                raise NotADirectoryError(folder.name)
            yield fd
        finally:
            os.close(fd)

    def _copy(self, source_dir: int, name: str, seen: Seen, view_fd: int) -> str | None:
        """Copy one file into the view; returns None, or why it was left out."""
        reason: str | None = None
        for _ in range(_ATTEMPTS):
            try:
                source = open_quietly(name, _SOURCE, source_dir)
            except OSError as error:
                return why_left_out(error)
            try:
                found = os.fstat(source)
                reason = self._refusal(found, seen)
                if reason is None:
                    reason = self._copy_opened(source, source_dir, name, found, view_fd)
            finally:
                os.close(source)
            if reason != "changed":
                break
        return reason

    def _refusal(self, found: os.stat_result, seen: Seen) -> str | None:
        """Why a file, as it is now that it is open, may not be shown; None if it may.

        The names of hard links were all judged in the scan; one that is new since was not.
        """
        inode = (found.st_dev, found.st_ino)
        if inode in self._scan.denied.inodes:
            return "hidden"
        names_judged = seen.names if inode == seen.inode else 1
        if (
            not stat.S_ISREG(found.st_mode)
            or found.st_dev != seen.device
            or found.st_nlink > names_judged
        ):
            return "changed"
        if not found.st_mode & stat.S_IRUSR:
            return "unreadable"
        return "too_large" if found.st_size > self._max_file_bytes else None

    def _copy_opened(
        self, source: int, source_dir: int, name: str, found: os.stat_result, view_fd: int
    ) -> str | None:
        is_young = time.time_ns() - found.st_ctime_ns < YOUNG_NS
        try:
            target = os.open(name, _TARGET, 0o600, dir_fd=view_fd)
        except OSError as error:
            raise_shortage(error)
            return "name_not_possible"
        try:
            count = self._objects.copy(source, target, found)
            os.fchmod(target, _PROGRAM_MODE if found.st_mode & stat.S_IXUSR else _FILE_MODE)
            os.utime(target, ns=(found.st_mtime_ns, found.st_mtime_ns))
            after = os.fstat(source)
            named = os.stat(name, dir_fd=source_dir, follow_symlinks=False)
        except OSError as error:
            os.unlink(name, dir_fd=view_fd)
            why = why_left_out(error)
            return "changed" if why == "vanished" else why
        finally:
            os.close(target)
        if (named.st_dev, named.st_ino) != (found.st_dev, found.st_ino) or (
            after.st_nlink > found.st_nlink
        ):
            os.unlink(name, dir_fd=view_fd)
            return "changed"
        self.bytes_copied += count
        state = seen_of(found)
        if not is_young and count == found.st_size and seen_of(after) == state:
            self._objects.take(name, view_fd, self._objects_fd, state)
        return None


def _put_decoy(view_fd: int, name: str, content: bytes, *, is_folder: bool) -> None:
    """Put a decoy where a denied file was; in the place of a folder, a folder with one in it."""
    if is_folder:
        os.mkdir(name, 0o700, dir_fd=view_fd)
        with opened_folder(name, view_fd) as folder_fd:
            os.fchmod(folder_fd, FOLDER_MODE)
            _put_decoy(folder_fd, DECOY_NAME, content, is_folder=False)
        return
    target = os.open(name, _TARGET, 0o600, dir_fd=view_fd)
    try:
        os.write(target, content)
        os.fchmod(target, _FILE_MODE)
    finally:
        os.close(target)
