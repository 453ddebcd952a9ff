"""What changes in a vault mean while masks lie over it: something bare, or nothing of note.

Changes are told in their order, and what is seen meanwhile may be newer than what is told: a place
that was found on the way is judged only when all has been told that happened before. Whatever
can't be judged, or not in time, counts as bare.
"""

import errno
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from supervisor.runtimes.denied_inodes import MAX_DEPTH, inode_of
from supervisor.runtimes.inode import Inode
from supervisor.runtimes.local.bare_places import BarePlaces, Exposed
from supervisor.runtimes.local.git_folders import TELLING
from supervisor.runtimes.local.inotify import (
    CREATE,
    IGNORED,
    MOVED_FROM,
    MOVED_TO,
    OVERFLOW,
    Change,
    Inotify,
)
from supervisor.runtimes.local.led_links import Led, LedLinks
from supervisor.runtimes.local.mask_places import MaskPlaces
from supervisor.runtimes.local.vault_found import VaultRules, VaultScan
from supervisor.runtimes.quiet_open import opened_folder

MOST_BEHIND: Final = 1.0
"""Seconds that what was read at once may take to be judged, and a place to hold still for it."""

SHORTLY: Final = 0.005
"""Seconds, at least, from a rename to the kernel's word of it."""

_MOVED_ON: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
"""What is said of a folder that was moved or removed meanwhile, which is told as well."""

_UNLINKED: Final = "was removed, a link by which a file is denied: that is a plain file now"
_TOO_MUCH: Final = "more was changed in the vault at once than can be followed"


class _Due(NamedTuple):
    """So many bytes are to be told, and it is to be so late, before something is judged."""

    told: int
    at: float


class VaultChanges:
    """Follows the changes of one vault. All methods raise Exposed once something is bare.

    `are_masked` is to be set when the masks lie where the scan found what to mask: from then on
    they go along with it. What is moved before that has none.
    """

    def __init__(self, vault: Path, rules: VaultRules, inotify: Inotify) -> None:
        self.are_masked = False
        self._vault = vault
        self._rules = rules
        self._inotify = inotify
        self._paths: dict[int, str] = {}
        self._adrift: dict[int, tuple[_Due, dict[int, str]]] = {}
        """Watches of folders that were moved, by the move: where to wasn't told yet."""
        self._masks = MaskPlaces({})
        self._links = LedLinks(vault, (), self._masks)
        self._links_touched = False
        self._led_astray: dict[Led, _Due] = {}
        self._suspects: dict[str, tuple[_Due, Inode | None]] = {}
        self._doubtful_since: dict[Inode, float] = {}
        self._bare = BarePlaces(vault, rules, self._masks, self._links)
        self._late_at = 0.0

    @property
    def folders(self) -> int:
        """How many folders are watched."""
        return len(self._paths)

    @property
    def waiting(self) -> bool:
        """Whether `settle` is to be called again shortly."""
        return bool(self._suspects or self._adrift or self._led_astray)

    def enter(self, fd: int, prefix: str) -> None:
        """Watch an open folder; its path ends in a slash, or is empty for the vault."""
        self._paths[self._inotify.add(fd)] = prefix

    def begin(self, scan: VaultScan) -> None:
        """What was found in the vault to mask."""
        self._masks = MaskPlaces(scan.over)
        self._links = LedLinks(self._vault, scan.links, self._masks)
        self._bare = BarePlaces(self._vault, self._rules, self._masks, self._links)
        self._bare.begin(scan)

    def watch_links(self) -> None:
        """Have the removal of a link told where that would make a denied file plain."""
        for folder in {link.rpartition("/")[0] for link in self._links.steps}:
            with opened_folder(self._vault / folder) as fd:
                self._inotify.add(fd, removals=True)
        for link in self._links.steps:
            if not (self._vault / link).is_symlink():
                raise Exposed(_UNLINKED, link)

    def are_read(self) -> None:
        """What is read now is to be judged within MOST_BEHIND."""
        self._late_at = time.monotonic() + MOST_BEHIND

    def look_at(self, change: Change) -> None:
        """Judge one change."""
        self._keep_up()
        if change.mask & OVERFLOW:
            raise Exposed(_TOO_MUCH)
        if change.mask & IGNORED:
            self._paths.pop(change.watch, None)
        elif (prefix := self._paths.get(change.watch)) is not None and change.name:
            relative = prefix + change.name
            self._links_touched = self._links_touched or self._links.are_touched(relative)
            if change.mask & (CREATE | MOVED_TO):
                self._arrived(relative, change)
            elif relative in self._links.steps:
                raise Exposed(_UNLINKED, relative)
            elif change.mask & MOVED_FROM:
                self._left(relative, change)

    def settle(self) -> None:
        """Judge what had to wait until more was told."""
        if self._links_touched:
            self._links_touched = False
            for link in self._links.astray():
                self._led_astray.setdefault(link, self.soon())
        for link, due in list(self._led_astray.items()):
            if self.is_due(due):
                del self._led_astray[link]
                if self._links.is_astray(link):
                    what = "is denied, and leads" if link.hides else "steers agents, and leads"
                    raise Exposed(f"{what} to another file since the agent began", link.path)
        for relative, (due, inode) in list(self._suspects.items()):
            if self.is_due(due):
                del self._suspects[relative]
                self._look_again(relative, inode)
        self._forget_the_gone()

    def soon(self) -> _Due:
        """When all is told that has happened: renames show a moment before they are told."""
        return _Due(self._inotify.told(), time.monotonic() + SHORTLY)

    def is_due(self, due: _Due) -> bool:
        """Whether all of that has been told."""
        return self._inotify.taken >= due.told and time.monotonic() >= due.at

    def _keep_up(self) -> None:
        if time.monotonic() > self._late_at:
            raise Exposed(_TOO_MUCH)

    def _arrived(self, relative: str, change: Change) -> None:
        # What was moved brought along what lies over it; nothing lies over what was made.
        if change.mask & MOVED_TO:
            self._masks.came(relative, change.cookie)
            if self._masks.too_many:
                raise Exposed(_TOO_MUCH)
            if (adrift := self._adrift.pop(change.cookie, None)) is not None:
                moved = {watch: f"{relative}/{path}" for watch, path in adrift[1].items()}
                self._paths.update(moved)
        else:
            self._masks.gone(relative)
        self._take_in(relative, change.name, self._seen(relative), told=True)
        if change.name in TELLING:
            prefix = relative.removesuffix(change.name)
            there = {name for name in TELLING if self._seen(prefix + name) is not None}
            self._bare.look_for_git(prefix, there)

    def _seen(self, relative: str) -> os.stat_result | None:
        """What is there by now; None where it, or its folder, was moved on: that is told next."""
        try:
            return os.lstat(f"{self._vault}/{relative}")
        except OSError as error:
            if error.errno not in _MOVED_ON:
                raise
            return None

    def _take_in(
        self, relative: str, name: str, seen: os.stat_result | None, *, told: bool
    ) -> None:
        """Judge one place, and all below it if it is a folder that can be seen.

        What was found in a folder, not `told`, may have been moved there with its mask, and that
        not be told yet: then it is a suspect until it must have been.
        """
        inode = None if seen is None else inode_of(seen)
        over = self._masks.over(relative, inode)
        fault = self._bare.fault(relative, name, seen) if over is None else None
        if fault is not None and not told:
            self._suspect(relative, inode)
            return
        if inode is not None:
            self._doubtful_since.pop(inode, None)
        if fault is not None:
            raise Exposed(fault, relative)
        if seen is not None and stat.S_ISDIR(seen.st_mode) and not (over and over.hides):
            self._look_below(relative)

    def _suspect(self, relative: str, inode: Inode | None) -> None:
        due = _Due(0, 0.0)
        if inode is None:
            due = self.soon()
        elif self._masks.holds_inode(inode):
            due = self.soon()
            since = self._doubtful_since.setdefault(inode, time.monotonic())
            if time.monotonic() > since + MOST_BEHIND:
                raise Exposed("is moved about, so that nobody can tell what lies over it", relative)
        self._suspects.setdefault(relative, (due, inode))

    def _look_again(self, relative: str, inode: Inode | None) -> None:
        """Judge a suspect, as all has been told that happened before it was found."""
        seen = self._seen(relative)
        if seen is None and (inode is None or self._masks.holds_inode(inode)):
            return  # it was moved on, and is judged where it is now
        self._take_in(relative, relative.rpartition("/")[2], seen, told=True)

    def _left(self, relative: str, change: Change) -> None:
        """What was moved takes along what lies over it; where to is told next.

        That something was removed isn't told: no mask is known over what takes its place.
        """
        if not self.are_masked and self._masks.holds(relative):
            # A mask that is put there only now lies over something else, or over nothing.
            raise Exposed("was moved while masks were put over it", relative)
        self._masks.left(relative, change.cookie)
        if change.is_folder:
            below = relative + "/"
            watches = {
                watch: path.removeprefix(below)
                for watch, path in self._paths.items()
                if path.startswith(below)
            }
            for watch in watches:
                del self._paths[watch]
            self._adrift[change.cookie] = (self.soon(), watches)

    def _forget_the_gone(self) -> None:
        """Watch folders no more that were moved, and not to another place in the vault."""
        for cookie, (due, watches) in list(self._adrift.items()):
            if self.is_due(due):
                del self._adrift[cookie]
                for watch in watches:
                    self._inotify.remove(watch)

    def _look_below(self, relative: str) -> None:
        """Watch a folder that came, and judge what is in it."""
        if relative.count("/") >= MAX_DEPTH:
            raise Exposed("lies too deep to be watched", relative)
        try:
            with opened_folder(self._vault) as root:
                found = self._entered(root, relative)
        except OSError as error:
            if error.errno not in _MOVED_ON:
                raise
            return
        self._bare.look_for_git(relative + "/", {name for name, _ in found})
        for name, seen in found:
            self._keep_up()
            self._take_in(f"{relative}/{name}", name, seen, told=False)

    def _entered(self, root: int, relative: str) -> list[tuple[str, os.stat_result | None]]:
        """Go down by descriptors, part by part: a link put in the way leads nowhere."""
        fd = os.dup(root)
        try:
            for part in relative.split("/"):
                below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
                os.close(fd)
                fd = below
            self.enter(fd, relative + "/")
            return list(_entries(fd))
        finally:
            os.close(fd)


def _entries(fd: int) -> Iterator[tuple[str, os.stat_result | None]]:
    """What is in a folder. Of what is gone meanwhile the name alone, and the rest all the same."""
    with os.scandir(fd) as entries:
        for entry in entries:
            try:
                seen = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                yield entry.name, None
            else:
                yield entry.name, seen
