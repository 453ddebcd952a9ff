"""How many files there are that a pattern covers now: for a person who is about to grant it."""

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from supervisor.policy.deny_list import DenyList
from supervisor.policy.grant_pattern import covers_path, fixed_part

MOST_LOOKED_AT: Final = 20_000
"""Directory entries that are looked at for one pattern."""


@dataclass(frozen=True, slots=True)
class Reach:
    """Files that a pattern covers. `more`: not all were looked at, so there may be more."""

    files: int
    more: bool = False


async def reach(pattern: str, vault: str, denied: DenyList) -> Reach:
    """The reach of a glob in the vault, which is its absolute, resolved path on this host.

    Denied files aren't counted, as no grant opens them; links aren't followed. Never raises: a
    folder that can't be listed has no files.
    """
    return await asyncio.to_thread(count, pattern, vault, denied)


def count(pattern: str, vault: str, denied: DenyList, *, most: int = MOST_LOOKED_AT) -> Reach:
    """`reach`, in this thread."""
    start = fixed_part(pattern)
    if start and denied.match(start) is not None:
        return Reach(0)
    depth = None if "**" in pattern else pattern.count("/")
    files = 0
    for looked, (relative, is_file) in enumerate(_below(vault, start, depth, denied), start=1):
        if looked > most:
            return Reach(files, more=True)
        files += is_file and covers_path(pattern, relative)
    return Reach(files)


def _below(
    vault: str, start: str, depth: int | None, denied: DenyList
) -> Iterator[tuple[str, bool]]:
    """What lies at or below `start`: relative paths, each with whether it is a file.

    `depth` is the number of slashes in the longest path wanted; None: any.
    """
    place = os.path.join(vault, start) if start else vault  # noqa: PTH118 - texts, no objects
    try:
        # Resolved paths are matched: where a link is on the way, no file has such a path.
        if os.path.realpath(place) != place:
            return
        if not os.path.isdir(place):  # noqa: PTH112 - as above
            if os.path.isfile(place):  # noqa: PTH113 - as above
                yield start, True
            return
    except (OSError, ValueError):
        return
    pending = [(place, f"{start}/" if start else "")]
    while pending:
        folder, below = pending.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    relative = below + entry.name
                    if denied.match_entry(entry.name, relative) is not None:
                        yield relative, False
                        continue
                    folder_too = entry.is_dir(follow_symlinks=False)
                    yield relative, entry.is_file(follow_symlinks=False)
                    if folder_too and (depth is None or relative.count("/") < depth):
                        pending.append((entry.path, f"{relative}/"))
        except OSError:
            continue
