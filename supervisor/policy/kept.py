"""Folders that matter for what they hold: names that are self-protected, or denied."""

import posixpath
import re
from dataclasses import dataclass
from functools import cached_property

from supervisor.policy.deny_list import DenyList, DenyRule, canonical

_MAGIC = re.compile(r"[*?\[]")
_ANYWHERE = "**/"
_REPOSITORIES = frozenset({".git", ".hg", ".svn", ".jj"})
"""Folders of a project itself, of which only some files are denied."""


@dataclass(frozen=True)
class Kept:
    """Names that stay where they are, and the folders that hold them."""

    names: DenyList

    @cached_property
    def _folders(self) -> tuple[dict[str, DenyRule], dict[str, DenyRule]]:
        """By whole path (one from the root begins with a slash), and by the last part of a path."""
        whole: dict[str, DenyRule] = {}
        last: dict[str, DenyRule] = {}
        for rule in self.names.rules:
            for path in rule.paths:
                anywhere = path.startswith(_ANYWHERE)
                above = posixpath.dirname(path.removeprefix(_ANYWHERE)).replace("\\", "")
                while above and not _MAGIC.search(above):
                    name = f"/{above}" if rule.absolute else above
                    (last if anywhere else whole).setdefault(name.casefold(), rule)
                    above = posixpath.dirname(above)
        return whole, last

    def holder(self, path: str) -> DenyRule | None:
        """The rule that protects something in the folder of this path, as far as names tell."""
        whole, last = self._folders
        parts = [canonical(part) for part in path.split("/") if part not in ("", ".")]
        if not parts:
            return None
        root = "/" if path.startswith("/") else ""
        return whole.get(root + "/".join(parts)) or last.get(parts[-1])


@dataclass(frozen=True)
class Sources:
    """Folders that a program has for what is denied, and hardly for anything else (`.aws`)."""

    names: DenyList

    @cached_property
    def _endings(self) -> dict[str, DenyRule]:
        """By the last parts of a path."""
        found: dict[str, DenyRule] = {}
        for rule in self.names.rules:
            for path in rule.paths:
                above = posixpath.dirname(path.removeprefix(_ANYWHERE)).replace("\\", "")
                first = above.partition("/")[0]
                own = first.startswith(".") and first not in _REPOSITORIES
                if own and path.startswith(_ANYWHERE) and not _MAGIC.search(above):
                    found.setdefault(above.casefold(), rule)
        return found

    @cached_property
    def _longest(self) -> int:
        return max((each.count("/") + 1 for each in self._endings), default=0)

    def holder(self, path: str) -> DenyRule | None:
        """The rule that denies something in the folder of this path, as far as names tell."""
        parts = [canonical(part) for part in path.split("/") if part not in ("", ".")]
        for count in range(1, min(self._longest, len(parts)) + 1):
            rule = self._endings.get("/".join(parts[-count:]))
            if rule is not None:
                return rule
        return None
