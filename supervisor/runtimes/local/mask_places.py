"""Where masks lie by now: over which path, and over which file. Pure: it follows what it is told.

A mask lies over an entry of a folder, and goes along where that, or a folder above it, is renamed.
Another name of the same file has none, and neither has a file that was brought from outside of the
vault, whichever it is. In doubt a place counts as bare.
"""

from collections.abc import Mapping
from typing import NamedTuple

from supervisor.runtimes.inode import Inode

MOST_KNOWN = 100_000
"""Places that a mask was at, over a whole turn."""
MOST_MOVING = 1_000
"""Moves whose other half is awaited; of older ones it never comes, as they left the vault."""


class Over(NamedTuple):
    """What lies under a mask. `hides` is False for what is shown and can't be written."""

    inode: Inode
    hides: bool


class MaskPlaces:
    """Paths are relative to the vault. A cookie tells the two halves of a move."""

    def __init__(self, places: Mapping[str, Over]) -> None:
        self._over = dict(places)
        self._ever = set(places)
        self._above = {above for path in places for above in _above(path)}
        """All folders that a mask is in, or was."""
        self._moving: dict[int, dict[str, Over]] = {}

    @property
    def too_many(self) -> bool:
        """Whether masks have been at more places than are kept in mind."""
        return len(self._ever) > MOST_KNOWN

    def over(self, path: str, inode: Inode | None) -> Over | None:
        """The mask over this file at this path; None: it is bare.

        Without an inode, of a file that has been moved on since: the mask that came here with it.
        """
        found = self._over.get(path)
        return found if found is not None and inode in (None, found.inode) else None

    def was_masked(self, path: str) -> bool:
        """Whether there is or was a mask at this path, whatever its name says."""
        return path in self._ever

    def holds(self, path: str) -> bool:
        """Whether there is a mask at this path or below it."""
        return bool(self._at(path))

    def holds_inode(self, inode: Inode) -> bool:
        """Whether there is a mask over this file anywhere, or was when it was moved."""
        every = (self._over, *self._moving.values())
        return any(over.inode == inode for each in every for over in each.values())

    def left(self, path: str, cookie: int) -> None:
        """It was renamed; where to is told next."""
        taken = self._at(path)
        if not taken:
            return
        for each in taken:
            del self._over[each]
        self._moving[cookie] = {each[len(path) :]: over for each, over in taken.items()}
        while len(self._moving) > MOST_MOVING:
            del self._moving[next(iter(self._moving))]

    def came(self, path: str, cookie: int) -> None:
        """It has this name now, and so what lay over it, or in it, lies here."""
        self.gone(path)
        for below, over in self._moving.pop(cookie, {}).items():
            self._over[path + below] = over
            self._ever.add(path + below)
            self._above.update(_above(path + below))

    def gone(self, path: str) -> None:
        """There is nothing at this path any more."""
        for each in self._at(path):
            del self._over[each]

    def _at(self, path: str) -> dict[str, Over]:
        if path not in self._above:
            return {path: self._over[path]} if path in self._over else {}
        below = path + "/"
        return {
            each: over
            for each, over in self._over.items()
            if each == path or each.startswith(below)
        }


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]
