"""Whether something should lie over a place of the vault over which nothing does, and why."""

import os
import stat
from collections.abc import Collection
from pathlib import Path
from typing import Final

from supervisor.policy.deny_list import DenyList
from supervisor.runtimes.denied_inodes import MAX_ELSEWHERE, inode_of
from supervisor.runtimes.inode import Inode
from supervisor.runtimes.local.git_folders import is_bare_repository, steering
from supervisor.runtimes.local.led_links import Led, LedLinks, entries_below, leads_to
from supervisor.runtimes.local.mask_places import MaskPlaces
from supervisor.runtimes.local.vault_found import VaultRules, VaultScan

_STEERS: Final = "steers agents, and was made while one was at work"


class Exposed(Exception):
    """Something is bare that should be masked, or nobody can tell: `what`, and where."""

    def __init__(self, what: str, place: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.place = place


class BarePlaces:
    """Judges one vault's places; `begin` is told what the scan found."""

    def __init__(self, vault: Path, rules: VaultRules, masks: MaskPlaces, links: LedLinks) -> None:
        self._vault = vault
        self._rules = rules
        self._any_rule = DenyList((*rules.hidden.rules, *rules.protected.rules))
        self._masks = masks
        self._links = links
        self._denied: set[Inode] = set()
        self._repositories: set[str] = set()
        self._git: set[str] = set()

    def begin(self, scan: VaultScan) -> None:
        """What there is in the vault to begin with."""
        self._denied = scan.denied.inodes
        self._repositories = set(scan.repositories)
        self._git = {path for prefix in scan.repositories for path in steering(prefix)}
        self._git |= scan.git_led

    def fault(self, relative: str, name: str, seen: os.stat_result | None) -> str | None:
        """Why something should lie over this place; None: nothing should, as far as is seen."""
        fault = self._by_name(relative, name)
        if fault is None and seen is not None:
            if stat.S_ISREG(seen.st_mode):
                fault = self._by_inode(seen)
            if not stat.S_ISDIR(seen.st_mode):
                fault = fault or self._in_a_folders_place(relative, seen)
        if fault is None and self._masks.was_masked(relative):
            return "took the place of a masked file"
        return fault

    def look_for_git(self, prefix: str, names: Collection[str]) -> None:
        """Raise Exposed where a folder has become a repository of git's, under another name."""
        if prefix in self._repositories or not is_bare_repository(prefix, names):
            return
        if self._masks.over(prefix + "config", None) is None:
            raise Exposed(f"{_STEERS}: git takes it for a repository", prefix.rstrip("/"))
        self._repositories.add(prefix)  # it was moved here
        self._git.update(steering(prefix))

    def _by_name(self, relative: str, name: str) -> str | None:
        for path in (relative, *self._links.other_paths(relative)):
            if self._any_rule.match_entry(name, path) is not None:
                if self._rules.hidden.match_entry(name, path) is not None:
                    return "is a denied file that came while the agent was at work"
                return _STEERS
        return _STEERS if relative in self._git else None

    def _by_inode(self, seen: os.stat_result) -> str | None:
        # With one name alone, the number was given to a new file.
        if seen.st_nlink > 1 and inode_of(seen) in self._denied:
            return "is a new name of a denied file"
        return None

    def _in_a_folders_place(self, relative: str, seen: os.stat_result) -> str | None:
        """A new link, or file as git has it, that makes a folder what its name says."""
        if self._rules.protected.is_on_the_way(relative):
            return _STEERS
        hidden = self._rules.hidden
        if not stat.S_ISLNK(seen.st_mode) or not hidden.is_on_the_way(relative):
            return None
        folder = leads_to(self._vault, relative)
        if folder is None or not (self._vault / folder).is_dir():
            return None
        for entry in entries_below(self._vault, folder, relative, MAX_ELSEWHERE):
            if hidden.match_entry(entry.path.rpartition("/")[2], entry.known_as) is not None:
                return "gives a denied name to a file that was plain"
        self._links.add(Led(relative, hides=True, folder=folder))
        return None
