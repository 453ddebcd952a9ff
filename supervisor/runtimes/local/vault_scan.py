"""Looks through the vault once: what an agent in it must not see, and what it must not write.

By folder descriptors and without following links, so a vault that changes meanwhile can't lead it
out. Each folder is shown to `enter` before it is read: who watches it from then on misses nothing.
"""

import errno
import os
import stat
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

from supervisor.runtimes.denied_inodes import MAX_DEPTH, Denied, inode_of
from supervisor.runtimes.inode import Inode
from supervisor.runtimes.local.git_folders import CONFIGS, is_bare_repository, steering
from supervisor.runtimes.local.git_led import led_to
from supervisor.runtimes.local.led_links import Below, Led, below, entries_below, leads_to, way
from supervisor.runtimes.local.mask_places import Over
from supervisor.runtimes.local.vault_found import RECORDS, Record, VaultRules, VaultScan, prune
from supervisor.runtimes.mounts import mount_points_below
from supervisor.runtimes.quiet_open import opened_folder, raise_shortage, trouble_with_one

Enter = Callable[[int, str], None]
"""Told of each folder that can be seen: a descriptor, and its path ending in a slash."""


class _Place(NamedTuple):
    """Where the walk stands: an open folder, its path (ending in a slash), its depth, its line."""

    fd: int
    prefix: str
    depth: int
    above: tuple[Inode, ...]


def scan_vault(vault: Path, rules: VaultRules, enter: Enter) -> VaultScan:
    """Look through the vault. Raises OSError if the vault itself can't be read."""
    with opened_folder(vault, follow=True) as fd:
        return _Scanner(vault, fd, rules, enter).scan()


class _Scanner:
    def __init__(self, vault: Path, fd: int, rules: VaultRules, enter: Enter) -> None:
        self._vault = vault
        self._fd = fd
        self._rules = rules
        self._enter = enter
        self._root = inode_of(os.fstat(fd))
        self._own = _inodes(rules.own)
        self._steering = _inodes(rules.steering)
        self._git: set[str] = set()
        self._git_configs: set[str] = set()
        self._stand_ins: list[str] = []
        self._names: dict[Inode, list[str]] = {}
        self._counts: dict[Inode, int] = {}
        self._found = VaultScan(
            Denied(self._root[0], {self._root}), mounts=mount_points_below(str(vault))
        )

    def scan(self) -> VaultScan:
        found, rules = self._found, self._rules
        for path in rules.own:
            found.denied.note_elsewhere(path)
        if rules.home is not None and not rules.home.is_relative_to(self._vault):
            found.denied.note_home(str(rules.home), rules.hidden)
        self._look(_Place(self._fd, "", 0, (self._root,)))
        self._look_through_stand_ins()
        self._protect_what_git_is_led_to()
        self._follow_links()
        self._cover_other_names()
        prune(found)
        return found

    def _look(self, at: _Place) -> None:
        in_records = at.prefix == RECORDS + "/"
        if in_records:
            self._found.records = []
        else:
            self._enter(at.fd, at.prefix)
        with os.scandir(at.fd) as listed:
            entries = list(listed)
        if is_bare_repository(at.prefix, {entry.name for entry in entries}):
            self._found.repositories.add(at.prefix)
            self._git.update(steering(at.prefix))
        for entry in entries:
            with trouble_with_one():  # gone meanwhile
                seen = entry.stat(follow_symlinks=False)
                self._judge(at, entry.name, seen)
                if in_records:
                    self._keep(at, entry.name, seen)

    def _keep(self, at: _Place, name: str, seen: os.stat_result) -> None:
        """Show this part of the records' folder, unless it is hidden."""
        relative = at.prefix + name
        link = os.readlink(name, dir_fd=at.fd) if stat.S_ISLNK(seen.st_mode) else None
        hidden = relative in self._found.covers or relative in self._found.own_folders
        if link is not None:
            hidden = self._rules.hidden.match_entry(name, relative) is not None
        if not hidden and self._found.records is not None:
            self._found.records.append(Record(name, link))

    def _judge(self, at: _Place, name: str, seen: os.stat_result) -> None:
        relative = at.prefix + name
        inode = inode_of(seen)
        found, rules = self._found, self._rules
        if name in CONFIGS and (
            relative in self._git or rules.protected.match_entry(name, relative)
        ):
            self._git_configs.add(relative)
        if inode in self._own:
            found.own_folders.add(relative)
            found.over[relative] = Over(inode, hides=True)
            found.denied.note_entry(at.fd, name, seen, at.above, at.depth)
        elif rules.hidden.match_entry(name, relative) is not None:
            found.denied.note_entry(at.fd, name, seen, at.above, at.depth)
            self._cover(relative, seen)
            found.kept_names.update(rules.hidden.folders_that_count(name, relative))
        elif seen.st_dev != self._root[0] or relative in found.mounts:
            self._cover(relative, seen)
        else:
            if rules.protected.match_entry(name, relative) is not None:
                self._protect(relative, seen)
                found.kept_names.update(rules.protected.folders_that_count(name, relative))
            elif inode in self._steering or relative in self._git:
                self._protect(relative, seen)
            elif not stat.S_ISDIR(seen.st_mode):
                self._note_stand_in(relative, seen)
            if stat.S_ISDIR(seen.st_mode):
                self._go_in(at, name, seen)
            elif stat.S_ISREG(seen.st_mode) and seen.st_nlink > 1:
                found.denied.names_met[inode] += 1
                self._names.setdefault(inode, []).append(relative)
                self._counts[inode] = seen.st_nlink

    def _note_stand_in(self, relative: str, seen: os.stat_result) -> None:
        """A link, or a file as git has it, in a folder's place."""
        steers = self._rules.protected.is_on_the_way(relative)
        if stat.S_ISLNK(seen.st_mode) and (steers or self._rules.hidden.is_on_the_way(relative)):
            self._stand_ins.append(relative)
        elif steers:
            self._protect(relative, seen)

    def _look_through_stand_ins(self) -> None:
        """Deny and protect what lies in a folder that a link gives such a name."""
        for link in self._stand_ins:
            folder = leads_to(self._vault, link)
            if folder is None or not (self._vault / folder).is_dir():
                continue
            self._found.links.append(Led(link, hides=True, folder=folder))
            self._keep_way(link)
            for entry in entries_below(self._vault, folder, link):
                self._judge_stand_in(entry)

    def _judge_stand_in(self, entry: Below) -> None:
        rules, name = self._rules, entry.path.rpartition("/")[2]
        if rules.hidden.match_entry(name, entry.known_as) is not None:
            self._found.denied.inodes.add(inode_of(entry.seen))
            self._cover(entry.path, entry.seen)
        elif rules.protected.match_entry(name, entry.known_as) is not None:
            self._protect(entry.path, entry.seen)
        else:
            return
        parts = entry.path.split("/")
        self._found.kept_names.update("/".join(parts[:depth]) for depth in range(1, len(parts)))

    def _protect_what_git_is_led_to(self) -> None:
        """Hooks, and parts of a configuration, that lie elsewhere in the vault."""
        for place in led_to(self._vault, self._git_configs, self._rules.home):
            real = below(self._vault, os.path.realpath(self._vault / place))
            if real is None:
                continue
            self._found.git_led |= {place, real}
            with trouble_with_one():  # what isn't there is watched for
                seen = os.lstat(self._vault / real)
                if real != place:
                    self._found.links.append(Led(place, hides=False))
                self._protect(real, seen)
                parts = real.split("/")[:-1]
                above = ("/".join(parts[: depth + 1]) for depth in range(len(parts)))
                self._found.kept_names.update(above)

    def _cover(self, relative: str, seen: os.stat_result) -> None:
        if stat.S_ISLNK(seen.st_mode):
            self._found.links.append(Led(relative, hides=True))
            return
        self._found.covers[relative] = stat.S_ISDIR(seen.st_mode)
        self._found.over[relative] = Over(inode_of(seen), hides=True)

    def _protect(self, relative: str, seen: os.stat_result) -> None:
        if stat.S_ISLNK(seen.st_mode):
            self._found.links.append(Led(relative, hides=False))
        else:
            self._found.read_only.add(relative)
            self._found.over.setdefault(relative, Over(inode_of(seen), hides=False))

    def _go_in(self, at: _Place, name: str, seen: os.stat_result) -> None:
        relative = at.prefix + name
        if at.depth >= MAX_DEPTH:
            self._cover(relative, seen)
            return
        try:
            with opened_folder(name, at.fd) as fd:
                opened = os.fstat(fd)  # of what was opened, which may not be what was listed
                above = (*at.above, inode_of(opened))
                self._look(_Place(fd, relative + "/", at.depth + 1, above))
        except OSError as error:
            raise_shortage(error)
            if error.errno != errno.ENOENT:
                # What can't be looked at could be opened by its owner, the agent, with one chmod.
                self._cover(relative, seen)

    def _follow_links(self) -> None:
        """A denied name that is a link denies what it leads to; a protected one protects it."""
        for link in tuple(self._found.links):
            within = leads_to(self._vault, link.path)
            if within is None or link.folder is not None:
                continue
            with trouble_with_one():
                seen = os.lstat(self._vault / within)
                if link.hides:
                    self._cover(within, seen)
                    self._keep_way(link.path)
                else:
                    self._protect(within, seen)
        for target in self._found.denied.led_to:  # by links in a hidden folder, which stay there
            within = below(self._vault, target)
            if within is not None:
                with trouble_with_one():
                    self._cover(within, os.lstat(target))

    def _keep_way(self, link: str) -> None:
        """Without the folders on its way it would lead nowhere, and deny nothing."""
        for place in way(self._vault, link):
            seen = os.lstat(self._vault / place)
            if stat.S_ISDIR(seen.st_mode):
                self._found.kept_names.add(place)

    def _cover_other_names(self) -> None:
        """Hide denied files under all their names, and files whose other names weren't met."""
        denied = self._found.denied
        for inode, names in self._names.items():
            unmet = denied.too_deep > 0 and denied.names_met[inode] < self._counts[inode]
            if inode in denied.inodes or unmet:
                for name in names:
                    self._found.covers.setdefault(name, False)
                    self._found.over[name] = Over(inode, hides=True)


def _inodes(paths: Collection[Path]) -> set[Inode]:
    found: set[Inode] = set()
    for path in paths:
        with trouble_with_one():
            found.add(inode_of(path.stat()))
    return found
