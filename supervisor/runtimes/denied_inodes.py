"""The identity (device, inode) of all that must not be shown, whatever other names it has."""

import os
import stat
import threading
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from supervisor.policy.deny_list import DenyList
from supervisor.runtimes.inode import Inode
from supervisor.runtimes.quiet_open import check_stop, opened_folder, trouble_with_one

MAX_DEPTH = 100
"""Folders deeper than this are left out: each level holds a descriptor during the walk."""

MAX_ELSEWHERE = 20_000
"""Entries looked at, per starting point, for secrets outside the vault."""

WELL_KNOWN = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".password-store", ".netrc",
    ".git-credentials", ".config/gcloud", ".config/gh", ".claude/.credentials.json",
)  # fmt: skip
"""In the owner's home: a hard link to one of these in the vault is hidden under any name."""


def inode_of(found: os.stat_result) -> Inode:
    """Device and inode number."""
    return found.st_dev, found.st_ino


@dataclass
class Denied:
    """Collects identities. `not_entered` are folders whose files are no secrets of themselves."""

    device: int
    not_entered: Collection[Inode]
    stop: threading.Event | None = None
    inodes: set[Inode] = field(default_factory=set)
    names_met: Counter[Inode] = field(default_factory=Counter)
    """How many names of each hard-linked file were met."""
    too_deep: int = 0
    led_to: set[str] = field(default_factory=set)
    """Absolute, resolved paths that denied links lead to, on the vault's device."""

    def note_entry(
        self, fd: int, name: str, found: os.stat_result, above: Collection[Inode], depth: int
    ) -> None:
        """Remember a denied entry of an open folder: itself, all below it, and its link's end.

        `above` are the folders it lies in: a link to one of them denies nothing more.
        """
        self.inodes.add(inode_of(found))
        if stat.S_ISDIR(found.st_mode):
            with trouble_with_one(), opened_folder(name, fd) as inner:
                self.note_below(inner, depth + 1, above, None)
        elif stat.S_ISLNK(found.st_mode):
            self._note_target(fd, name, above)

    def note_below(
        self, fd: int, depth: int, above: Collection[Inode], budget: list[int] | None
    ) -> None:
        """Remember all below an open folder; `budget` (entries left) is None in the vault."""
        check_stop(self.stop)
        if depth > MAX_DEPTH:
            self.too_deep += 1
            return
        with os.scandir(fd) as entries:
            for entry in entries:
                if budget is not None:
                    budget[0] -= 1
                    if budget[0] < 0:
                        return
                with trouble_with_one():
                    found = entry.stat(follow_symlinks=False)
                    if found.st_dev != self.device or inode_of(found) in self.not_entered:
                        continue
                    self.inodes.add(inode_of(found))
                    if stat.S_ISDIR(found.st_mode):
                        with opened_folder(entry.name, fd) as inner:
                            self.note_below(inner, depth + 1, above, budget)
                    elif stat.S_ISLNK(found.st_mode):
                        self._note_target(fd, entry.name, above)
                    elif found.st_nlink > 1:
                        self.names_met[inode_of(found)] += 1

    def note_elsewhere(self, path: Path) -> None:
        """Remember a file, or all files of a folder, wherever it lies; bounded."""
        with trouble_with_one():
            found = path.stat()
            if found.st_dev != self.device or inode_of(found) in self.not_entered:
                return
            if stat.S_ISREG(found.st_mode):
                self.inodes.add(inode_of(found))
            elif stat.S_ISDIR(found.st_mode):
                with opened_folder(path, follow=True) as inner:
                    self.note_below(inner, 0, (), [MAX_ELSEWHERE])

    def note_home(self, home: str, deny_list: DenyList) -> None:
        """Remember the secrets of a home folder: the well-known, and what is denied in it."""
        with trouble_with_one(), os.scandir(home) as entries:
            for entry in entries:
                if deny_list.match_entry(entry.name, entry.name) is not None:
                    self.note_elsewhere(Path(entry.path))
        for name in WELL_KNOWN:
            self.note_elsewhere(Path(home, name))

    def _note_target(self, fd: int, name: str, above: Collection[Inode]) -> None:
        """A denied name that is a link denies what it leads to, under any name."""
        with trouble_with_one():
            found = os.stat(name, dir_fd=fd)
            inode = inode_of(found)
            if found.st_dev != self.device or inode in self.inodes or inode in above:
                return
            if stat.S_ISREG(found.st_mode):
                self.inodes.add(inode)
                self.led_to.add(os.path.realpath(f"/proc/self/fd/{fd}/{name}"))
            elif stat.S_ISDIR(found.st_mode) and inode not in self.not_entered:
                self.inodes.add(inode)
                self.led_to.add(os.path.realpath(f"/proc/self/fd/{fd}/{name}"))
                with opened_folder(name, fd, follow=True) as inner:
                    self.note_below(inner, 0, above, [MAX_ELSEWHERE])
