"""What git takes for a repository wherever it lies: gitrepository-layout(5). Pure.

Who runs git in such a folder, or in one that a `.git` file or link beside it leads to, runs what
its configuration and hooks say.
"""

from collections.abc import Collection
from typing import Final

TELLING: Final = frozenset({"HEAD", "objects", "refs", "commondir"})
"""Names that make a folder a repository, together."""

CONFIGS: Final = frozenset({"config", "config.worktree"})
"""What a repository's configuration is called."""

_STEERING: Final = ("config", "config.worktree", "hooks", "commondir", "info/attributes")


def is_bare_repository(prefix: str, names: Collection[str]) -> bool:
    """Whether a folder with these entries is one, and no `.git` tells; its path ends in a slash."""
    if "HEAD" not in names or ".git" in prefix.split("/"):
        return False
    return "commondir" in names or ("objects" in names and "refs" in names)


def steering(prefix: str) -> list[str]:
    """The paths in a repository that say what git runs, whether they are there or not."""
    return [prefix + name for name in _STEERING]
