"""What a scan of the vault found, as a tree in memory, and which of its symbolic links may stay."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from supervisor.runtimes.inode import Inode

MAX_LINK_HOPS = 40
"""As many links as the kernel follows in one look-up (path_resolution(7))."""

LinkFate = Literal["stays", "link_leads_out", "link_to_hidden"]


class Seen(NamedTuple):
    """A regular file as the scan saw it; times in nanoseconds, size in bytes."""

    device: int
    number: int
    modified: int
    changed: int
    size: int
    executable: bool
    names: int
    """How many hard links it has."""

    @property
    def inode(self) -> Inode:
        """Its identity on this machine."""
        return self.device, self.number


@dataclass(slots=True)
class Folder:
    """One folder: what of it may be shown, and the names that must not be (`hidden`).

    `decoys` are hidden names whose place is shown all the same, each with whether it is a folder.
    """

    name: str
    parent: "Folder | None"
    inode: Inode
    files: dict[str, Seen] = field(default_factory=dict)
    folders: "dict[str, Folder]" = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    decoys: dict[str, bool] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[str, ...]:
        """The names on the way from the vault to here; empty for the vault itself."""
        names: list[str] = []
        here: Folder | None = self
        while here is not None and here.parent is not None:
            names.append(here.name)
            here = here.parent
        return tuple(reversed(names))

    def lineage(self) -> Iterator["Folder"]:
        """This folder and all above it, up to the vault."""
        here: Folder | None = self
        while here is not None:
            yield here
            here = here.parent

    def all_below(self) -> Iterator["Folder"]:
        """This folder and all below it, parents first."""
        waiting = [self]
        while waiting:
            folder = waiting.pop()
            yield folder
            waiting.extend(folder.folders.values())


@dataclass(frozen=True, slots=True)
class LinkRule:
    """Decides about symbolic links by walking the scanned tree, so that no race can change it.

    A link stays if its text is relative (or an absolute path into the vault, which is rewritten),
    never climbs above the vault, and does not end at something hidden. One that ends nowhere stays:
    the view is fixed, so nothing can appear there. `vault_paths` are the vault's names on the host.
    """

    vault_paths: tuple[str, ...]
    denied: set[Inode]

    def settle(self, root: Folder) -> Counter[str]:
        """Leave only links that may stay, as relative ones; says why the others are gone."""
        gone: Counter[str] = Counter()
        kept: list[tuple[Folder, dict[str, str]]] = []
        for folder in root.all_below():
            if not folder.links:
                continue
            staying: dict[str, str] = {}
            for name, target in folder.links.items():
                fate = self.fate(folder, target)
                text = self._relative(folder, target)
                if fate == "stays" and text is not None:
                    staying[name] = text
                else:
                    gone[fate] += 1
            kept.append((folder, staying))
        for folder, staying in kept:
            folder.links = staying
        return gone

    def fate(self, folder: Folder, target: str) -> LinkFate:
        """What becomes of a link in this folder with this text."""
        text = self._relative(folder, target)
        if text is None:
            return "link_leads_out"
        here, hops = folder, 0
        pending = text.split("/")[::-1]
        while pending:
            part = pending.pop()
            if part in ("", "."):
                continue
            if part == "..":
                if here.parent is None:
                    return "link_leads_out"
                here = here.parent
            elif part in here.hidden:
                return "link_to_hidden"
            elif part in here.folders:
                here = here.folders[part]
            elif part in here.links:
                hops += 1
                onward = self._relative(here, here.links[part])
                if onward is None or hops > MAX_LINK_HOPS:
                    return "link_leads_out"
                pending.extend(onward.split("/")[::-1])
            else:
                seen = here.files.get(part)
                is_denied = seen is not None and seen.inode in self.denied
                return "link_to_hidden" if is_denied else "stays"
        return "stays"

    def _relative(self, folder: Folder, target: str) -> str | None:
        """The link's text as a relative one that stays below the vault by its words, or None."""
        depth = len(folder.parts)
        if target.startswith("/"):
            for vault in self.vault_paths:
                if target == vault or target.startswith(vault.rstrip("/") + "/"):
                    rest = target[len(vault) :].strip("/")
                    climbs = "/".join([".."] * depth) or "."
                    target = f"{climbs}/{rest}" if rest else climbs
                    break
            else:
                return None
        for part in target.split("/"):
            if part == "..":
                depth -= 1
                if depth < 0:
                    return None
            elif part not in ("", "."):
                depth += 1
        return target
