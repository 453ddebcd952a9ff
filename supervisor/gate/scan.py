"""Bounded walks through folders: would a search read denied files; which other names has a file."""

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from wcmatch import glob as wcglob

from supervisor.policy.deny_list import DenyList
from supervisor.policy.globs import alternatives, is_understood
from supervisor.policy.places import relative_to_vault
from supervisor.policy.wants import Scan
from supervisor.runtimes.quiet_open import raise_shortage

MOST_ENTRIES = 20_000
"""Directory entries looked at in one walk; beyond, the answer is the cautious one."""
VERSION_CONTROL = frozenset({".git", ".svn", ".hg", ".bzr", ".jj", ".sl"})
"""Folders that the CLI's Grep leaves out by itself, unless a search starts in one."""

_FLAGS = wcglob.GLOBSTAR | wcglob.DOTGLOB

Inode = tuple[int, int]


@dataclass(slots=True)
class Walk:
    """What a walk may still look at; `complete` is False once it had to stop."""

    left: int
    complete: bool = True


@dataclass(frozen=True, slots=True)
class OtherNames:
    """Vault-relative names by (device, inode); not all of them, if not `complete`."""

    names: Mapping[Inode, tuple[str, ...]] = field(default_factory=dict)
    complete: bool = True


def _entries(root: str, walk: Walk) -> Iterator[tuple[os.DirEntry[str], str]]:
    """All that lies below a folder, without following links; folders before what they hold.

    Yields an entry and the path of its folder below `root`. A folder that we may not list is passed
    over, as the agent's process may not either. Raises OSError where the machine runs short.
    """
    pending = [(root, "")]
    while pending:
        folder, below = pending.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    walk.left -= 1
                    if walk.left < 0:
                        walk.complete = False
                        return
                    yield entry, below
                    if entry.is_dir(follow_symlinks=False):
                        pending.append((entry.path, f"{below}{entry.name}/"))
        except OSError as error:
            raise_shortage(error)  # ours alone: the agent's process may list it all the same


def own_names(places: Iterable[str]) -> Mapping[Inode, tuple[str, ...]]:
    """The names of the supervisor's own files, of those that have other names as well.

    `places` are files, and folders: what it keeps for itself lies in one, or one below. Folders
    further down are copies: of the vault, for its views.
    """
    found: dict[Inode, list[str]] = {}
    for path in _own_files(places):
        with contextlib.suppress(OSError):
            status = os.lstat(path)
            if status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
                found.setdefault((status.st_dev, status.st_ino), []).append(path)
    return {inode: tuple(names) for inode, names in found.items()}


def _own_files(places: Iterable[str]) -> Iterator[str]:
    pending = [(place, True) for place in places]
    while pending:
        place, is_first = pending.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        yield entry.path
                    elif is_first:
                        pending.append((entry.path, False))
        except NotADirectoryError:
            yield place
        except OSError as error:
            raise_shortage(error)


def reads_denied(  # noqa: PLR0913, PLR0917  (what is looked for, and where)
    root: str,
    vault: str,
    denied: DenyList,
    scan: Scan,
    walk: Walk,
    own: Mapping[Inode, tuple[str, ...]] = MappingProxyType({}),
) -> bool:
    """Whether a search of file contents below `root` would read a denied file.

    True also where the folder is too large to tell. `own` are other names of our own files.
    """
    linked: set[Inode] = set()
    denied_folders: set[str] = set()
    left_out: set[str] = set()
    for entry, below in _entries(root, walk):
        if below in left_out or (entry.name in VERSION_CONTROL and not scan.everything):
            left_out.add(f"{below}{entry.name}/")
            continue
        relative = relative_to_vault(entry.path, vault)
        hit = below in denied_folders or denied.match_entry(entry.name, relative) is not None
        if entry.is_dir(follow_symlinks=False):
            if hit:
                denied_folders.add(f"{below}{entry.name}/")
        elif entry.is_file(follow_symlinks=False) and _selects(scan, entry.name, below):
            if hit:
                return True
            status = entry.stat(follow_symlinks=False)
            if status.st_nlink > 1:
                linked.add((status.st_dev, status.st_ino))
    if not walk.complete:
        return True
    if not linked:
        return False
    others = other_names(vault, linked, Walk(MOST_ENTRIES))
    every = (*others.names.values(), *(own[inode] for inode in linked & own.keys()))
    return not others.complete or any(
        denied.match(name) is not None for names in every for name in names
    )


def holds_protected(root: str, vault: str, kept: DenyList, scan: Scan, walk: Walk) -> str | None:
    """The rule that protects something below `root`; None where nothing was found in time."""
    folders: dict[str, str] = {}
    selected: set[str] = set()
    """Folders that go as a whole: what is in them needs no name of its own."""
    for entry, below in _entries(root, walk):
        rule = kept.match_entry(entry.name, relative_to_vault(entry.path, vault))
        found = folders.get(below) if rule is None else rule.id
        is_folder = entry.is_dir(follow_symlinks=False)
        if found is None and not is_folder:
            continue
        goes = below in selected or _selects(scan, entry.name, below)
        if is_folder:
            if found is not None:
                folders[f"{below}{entry.name}/"] = found
            if goes:
                selected.add(f"{below}{entry.name}/")
        if found is not None and goes:
            return found
    return None


def other_names(vault: str, wanted: set[Inode], walk: Walk) -> OtherNames:
    """All names inside the vault of the files with these (device, inode) pairs."""
    found: dict[Inode, list[str]] = {}
    numbers = {inode for _device, inode in wanted}
    for entry, below in _entries(vault, walk):
        if entry.inode() not in numbers or not entry.is_file(follow_symlinks=False):
            continue
        status = entry.stat(follow_symlinks=False)
        key = (status.st_dev, status.st_ino)
        if key in wanted:
            found.setdefault(key, []).append(below + entry.name)
    return OtherNames({key: tuple(names) for key, names in found.items()}, walk.complete)


def _selects(scan: Scan, name: str, below: str) -> bool:
    """Whether the search's own globs take this file in; in doubt they do.

    A glob without a slash is for the name, one with a slash for the path below the search.
    """
    if scan.only:
        return any(
            not is_understood(glob) or _matches(name, below, glob, flags=wcglob.IGNORECASE)
            for glob in scan.only
        )
    return not any(
        is_understood(glob) and _matches(name, below, glob, flags=wcglob.CASE)
        for glob in scan.never
    )


def _matches(name: str, below: str, glob: str, *, flags: int) -> bool:
    text = below + name if "/" in glob.strip("/") else name
    choices = [each.lstrip("/") for each in alternatives(glob)]
    return bool(wcglob.globmatch(text, choices, flags=_FLAGS | flags))
