"""Looks through the vault once: what may be shown, what is hidden, and what is left out and why.

Reads only, by folder descriptors and without following links, so a vault that changes meanwhile
can't lead the scan out of it.
"""

import os
import stat
import threading
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from supervisor.policy.deny_list import DenyList
from supervisor.runtimes.container.view_tree import Folder, LinkRule, Seen
from supervisor.runtimes.denied_inodes import MAX_DEPTH, Denied, inode_of
from supervisor.runtimes.inode import Inode
from supervisor.runtimes.mounts import mount_points_below
from supervisor.runtimes.quiet_open import (
    OWNER_MAY_ENTER,
    check_stop,
    opened_folder,
    trouble_with_one,
    why_left_out,
)


@dataclass
class Scan:
    """The result: the tree of what may be shown, the denied identities, and what was left out."""

    root: Folder
    denied: Denied
    hidden: int = 0
    omitted: Counter[str] = field(default_factory=Counter)

    def is_hidden(self, seen: Seen) -> bool:
        """Whether this file is denied under any of its names.

        If a part of the vault lay too deep to look at, a file with names not met counts as denied.
        """
        inode = seen.inode
        if inode in self.denied.inodes:
            return True
        return (
            self.omitted["too_deep"] > 0
            and seen.names > 1
            and self.denied.names_met[inode] < seen.names
        )


class _Place(NamedTuple):
    """Where the walk stands: an open folder, its node, its path (ending in a slash), its depth."""

    fd: int
    folder: Folder
    prefix: str
    depth: int


class Scanner:
    """One scan of one vault; `scan` is called once."""

    def __init__(
        self,
        vault_fd: int,
        deny_list: DenyList,
        *,
        max_file_bytes: int,
        stop: threading.Event | None = None,
    ) -> None:
        found = os.fstat(vault_fd)
        self._fd = vault_fd
        self._deny_list = deny_list
        self._max_file_bytes = max_file_bytes
        self._stop = stop
        self._real_path = str(Path(f"/proc/self/fd/{vault_fd}").readlink())
        self._mounts = mount_points_below(self._real_path)
        self._own: set[Inode] = set()
        self._not_entered = {inode_of(found)}
        self._denied = Denied(found.st_dev, self._not_entered, stop)
        self._scan = Scan(Folder("", None, inode_of(found)), self._denied)

    def scan(self, own_files: Collection[Path], store: Path, home: Path | None, named: str) -> Scan:
        """Look through the vault. `named` is the path the vault was asked for by.

        `store` holds the views: hidden like our other files, but what is in it are no secrets.
        """
        self._not_entered.add(inode_of(store.stat()))
        for path in (store, *own_files):
            with trouble_with_one():
                self._own.add(inode_of(path.stat()))
                self._denied.note_elsewhere(path)
        if home is not None:
            real_home = os.path.realpath(home)
            if not (real_home + "/").startswith(self._real_path.rstrip("/") + "/"):
                self._denied.note_home(real_home, self._deny_list)
        self._look(_Place(self._fd, self._scan.root, "", 0))
        self._scan.omitted["too_deep"] += self._denied.too_deep
        self._hide_denied_folders()
        rule = LinkRule((self._real_path, named), self._denied.inodes)
        self._scan.omitted.update(rule.settle(self._scan.root))
        return self._scan

    def _look(self, at: _Place) -> None:
        check_stop(self._stop)
        try:
            with os.scandir(at.fd) as entries:
                for entry in entries:
                    try:
                        found = entry.stat(follow_symlinks=False)
                    except OSError as error:
                        self._scan.omitted[why_left_out(error)] += 1
                        continue
                    self._judge(at, entry.name, found)
        except OSError as error:
            self._scan.omitted[why_left_out(error)] += 1

    def _judge(self, at: _Place, name: str, found: os.stat_result) -> None:
        mode = found.st_mode
        relative = at.prefix + name
        is_file = stat.S_ISREG(mode)
        if is_file and found.st_nlink > 1:
            self._denied.names_met[inode_of(found)] += 1
        is_own = (found.st_dev, found.st_ino) in self._own
        if is_own or self._deny_list.match_entry(name, relative) is not None:
            self._hide(at, name, found)
            if not is_own:
                # By its name alone: a plain name that leads to a secret would be read in good faith
                at.folder.decoys[name] = stat.S_ISDIR(mode)
        elif found.st_dev != self._denied.device or relative in self._mounts:
            self._scan.omitted["other_mount"] += 1
        elif is_file:
            if not mode & stat.S_IRUSR:
                self._scan.omitted["unreadable"] += 1
            elif found.st_size > self._max_file_bytes:
                self._scan.omitted["too_large"] += 1
            else:
                at.folder.files[name] = seen_of(found)
        elif stat.S_ISDIR(mode):
            self._enter(at, name)
        elif stat.S_ISLNK(mode):
            with trouble_with_one():  # replaced meanwhile: then it is no link of the view
                at.folder.links[name] = os.readlink(name, dir_fd=at.fd)
        else:
            self._scan.omitted["special_file"] += 1

    def _hide(self, at: _Place, name: str, found: os.stat_result) -> None:
        at.folder.hidden.add(name)
        self._scan.hidden += 1
        above = [folder.inode for folder in at.folder.lineage()]
        self._denied.note_entry(at.fd, name, found, above, at.depth)

    def _enter(self, at: _Place, name: str) -> None:
        if at.depth >= MAX_DEPTH:
            self._scan.omitted["too_deep"] += 1
            return
        try:
            with opened_folder(name, at.fd) as fd:
                found = os.fstat(fd)  # of what was opened, which may not be what was listed
                if found.st_dev != self._denied.device:
                    self._scan.omitted["other_mount"] += 1
                elif inode_of(found) in self._own:
                    self._hide(at, name, found)
                elif found.st_mode & OWNER_MAY_ENTER != OWNER_MAY_ENTER:
                    self._scan.omitted["unreadable"] += 1
                    self._denied.note_below(fd, at.depth + 1, (), None)
                else:
                    child = Folder(name, at.folder, inode_of(found))
                    at.folder.folders[name] = child
                    self._look(_Place(fd, child, f"{at.prefix}{name}/", at.depth + 1))
        except OSError as error:
            self._scan.omitted[why_left_out(error)] += 1

    def _hide_denied_folders(self) -> None:
        """Take out folders that a denied link, met later in the scan, turned out to lead to."""
        denied = self._denied.inodes
        for folder in self._scan.root.all_below():
            for name, child in list(folder.folders.items()):
                if child.inode not in denied:
                    continue
                del folder.folders[name]
                folder.hidden.add(name)
                self._scan.hidden += 1
                for below in child.all_below():
                    denied.update(seen.inode for seen in below.files.values())


def seen_of(found: os.stat_result) -> Seen:
    """The facts of a regular file that say whether it is still the same one."""
    return Seen(
        found.st_dev,
        found.st_ino,
        found.st_mtime_ns,
        found.st_ctime_ns,
        found.st_size,
        bool(found.st_mode & stat.S_IXUSR),
        found.st_nlink,
    )
