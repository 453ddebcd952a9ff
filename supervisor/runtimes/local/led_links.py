"""Links that are denied or steer agents, and so is what they lead to, wherever that is by now."""

import errno
import os
import stat
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from supervisor.runtimes.denied_inodes import inode_of
from supervisor.runtimes.local.mask_places import MaskPlaces
from supervisor.runtimes.quiet_open import opened_folder, trouble_with_one
from supervisor.storage.beneath import stat_inside

_MOST_LINKS: Final = 40  # as many as the kernel follows, path_resolution(7)


class Led(NamedTuple):
    """A link that is denied (`hides`) or steers agents, and so is what it leads to.

    One that has the name of a folder with such files in it, as `.git`, led to `folder`.
    """

    path: str
    hides: bool
    folder: str | None = None


def leads_to(vault: Path, link: str) -> str | None:
    """Where a link of the vault leads, relative to the vault; None: out of it, or round itself."""
    within = below(vault, os.path.realpath(vault / link))
    return None if within is None or link.startswith(within + "/") else within


def below(vault: Path, path: str) -> str | None:
    """An absolute path relative to the vault; None: it isn't below it."""
    within = os.path.relpath(path, vault)
    return None if within in (".", "..") or within.startswith("../") else within


class Below(NamedTuple):
    """An entry somewhere in a folder: its path, what it is called through a link, itself."""

    path: str
    known_as: str
    seen: os.stat_result


def entries_below(vault: Path, folder: str, link: str, most: int | None = None) -> Iterator[Below]:
    """All that lies in a folder that a link leads to, and can be read; no other link is followed.

    Raises OSError E2BIG where there are more entries than `most`.
    """
    looked_at = 0
    folders = [(folder, link)]
    while folders:
        path, known_as = folders.pop()
        for name, seen in _listed(vault / path):
            looked_at += 1
            if most is not None and looked_at > most:
                raise OSError(errno.E2BIG, "too much lies there", link)
            yield Below(f"{path}/{name}", f"{known_as}/{name}", seen)
            if stat.S_ISDIR(seen.st_mode):
                folders.append((f"{path}/{name}", f"{known_as}/{name}"))


def _listed(folder: Path) -> list[tuple[str, os.stat_result]]:
    found: list[tuple[str, os.stat_result]] = []
    with trouble_with_one(), opened_folder(folder) as fd, os.scandir(fd) as entries:
        for entry in entries:
            with trouble_with_one():  # gone meanwhile
                found.append((entry.name, entry.stat(follow_symlinks=False)))
    return found


class LedLinks:
    """The links of one vault. They are looked at anew where something on their way has changed."""

    def __init__(self, vault: Path, links: Collection[Led], masks: MaskPlaces) -> None:
        self._vault = vault
        self._masks = masks
        self._ways = {link: way(vault, link.path) for link in links}
        self._places = self._all_places()
        self._steps = {
            place
            for link, places in self._ways.items()
            if link.hides and leads_to(vault, link.path) is not None
            for place in places
            if (vault / place).is_symlink()
        }

    @property
    def steps(self) -> Collection[str]:
        """The links without which what is denied by them would be a plain file."""
        return self._steps

    def add(self, link: Led) -> None:
        """One more."""
        self._ways[link] = way(self._vault, link.path)
        self._places = self._all_places()

    def other_paths(self, path: str) -> Iterator[str]:
        """What this path is called through links that have the name of a folder."""
        for link in self._ways:
            if link.folder is not None and path.startswith(link.folder + "/"):
                yield link.path + path[len(link.folder) :]

    def are_touched(self, path: str) -> bool:
        """Whether one of them leads by this entry of a folder."""
        return path in self._places

    def astray(self) -> Iterator[Led]:
        """Those that lead to what no mask lies over."""
        for link in self._ways:
            self._ways[link] = way(self._vault, link.path)
            if self.is_astray(link):
                yield link
        self._places = self._all_places()

    def is_astray(self, link: Led) -> bool:
        """Whether this one does."""
        within = leads_to(self._vault, link.path)
        if within is None or link.folder is not None:
            return within not in (None, link.folder)
        return not self._is_over(within, hides=link.hides)

    def _all_places(self) -> set[str]:
        return {place for places in self._ways.values() for place in places}

    def _is_over(self, path: str, *, hides: bool) -> bool:
        """Whether there is nothing at this path, or a mask over it or over a folder above it."""
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            place = "/".join(parts[:depth])
            try:
                seen = stat_inside(self._vault, PurePosixPath(place))
            except OSError:
                return False
            if seen is None:
                return True
            over = self._masks.over(place, inode_of(seen))
            if over is not None and (over.hides or not hides):
                return True
        return False


def way(vault: Path, link: str) -> set[str]:
    """All entries of the vault that are looked up to get to where a link leads."""
    places: set[str] = set()
    at: list[str] = []
    rest = link.split("/")[::-1]
    followed = 0
    while rest and followed < _MOST_LINKS:
        part = rest.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not at:
                break  # it leaves the vault
            at.pop()
            continue
        at.append(part)
        place = "/".join(at)
        places.add(place)
        try:
            text = os.readlink(vault / place)  # noqa: PTH115  (the text as it is)
        except OSError:
            continue  # it is none, or isn't there yet
        followed += 1
        at.pop()
        if text.startswith("/"):
            within = below(vault, os.path.normpath(text))
            if within is None:
                break
            at, text = [], within
        rest.extend(text.split("/")[::-1])
    end = leads_to(vault, link)  # by what is outside of the vault, it may lead back in
    if end is not None:
        parts = end.split("/")
        places.update("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    return places
