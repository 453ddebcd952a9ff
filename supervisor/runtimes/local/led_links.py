"""Links that are denied or steer agents, and so is what they lead to, wherever that is by now."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from supervisor.runtimes.denied_inodes import inode_of
from supervisor.runtimes.local.mask_places import MaskPlaces
from supervisor.storage.beneath import stat_inside

_MOST_LINKS: Final = 40  # as many as the kernel follows, path_resolution(7)


class Led(NamedTuple):
    """A link that is denied (`hides`) or steers agents, and so is what it leads to."""

    path: str
    hides: bool


def leads_to(vault: Path, link: str) -> str | None:
    """Where a link of the vault leads, relative to the vault; None: out of it, or round itself."""
    within = below(vault, os.path.realpath(vault / link))
    return None if within is None or link.startswith(within + "/") else within


def below(vault: Path, path: str) -> str | None:
    """An absolute path relative to the vault; None: it isn't below it."""
    within = os.path.relpath(path, vault)
    return None if within in (".", "..") or within.startswith("../") else within


class LedLinks:
    """The links of one vault. They are looked at anew where something on their way has changed."""

    def __init__(self, vault: Path, links: Collection[Led], masks: MaskPlaces) -> None:
        self._vault = vault
        self._masks = masks
        self._ways = {link: _way(vault, link.path) for link in links}
        self._places = self._all_places()

    def are_touched(self, path: str) -> bool:
        """Whether one of them leads by this entry of a folder."""
        return path in self._places

    def astray(self) -> Iterator[Led]:
        """Those that lead to what no mask lies over."""
        for link in self._ways:
            self._ways[link] = _way(self._vault, link.path)
            if self.is_astray(link):
                yield link
        self._places = self._all_places()

    def is_astray(self, link: Led) -> bool:
        """Whether this one does."""
        within = leads_to(self._vault, link.path)
        return within is not None and not self._is_over(within, hides=link.hides)

    def _all_places(self) -> set[str]:
        return {place for way in self._ways.values() for place in way}

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


def _way(vault: Path, link: str) -> set[str]:
    """All entries of the vault that are looked up to get to where a link leads."""
    way: set[str] = set()
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
        way.add(place)
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
        way.update("/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    return way
