"""Folders that can't be removed or renamed, as self-protected names would go with them."""

import posixpath
import re
from dataclasses import dataclass
from functools import cached_property

from supervisor.policy.deny_list import DenyList, DenyRule, canonical

_MAGIC = re.compile(r"[*?\[]")
_ANYWHERE = "**/"


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
