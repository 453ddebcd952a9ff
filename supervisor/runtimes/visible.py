"""A file of the vault that a sandbox would see."""

from typing import NamedTuple

from supervisor.runtimes.inode import Inode


class VisibleFile(NamedTuple):
    """Its path relative to the vault, and what says whether it is still the same file.

    Times in nanoseconds, size in bytes; `names` is how many hard links it has.
    """

    path: str
    inode: Inode
    modified: int
    changed: int
    size: int
    names: int
