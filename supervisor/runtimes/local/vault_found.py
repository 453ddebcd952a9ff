"""What a look through the vault goes by, and what it finds. The looking is `vault_scan.py`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from supervisor.policy.deny_list import DenyList
from supervisor.runtimes.denied_inodes import Denied
from supervisor.runtimes.local.led_links import Led
from supervisor.runtimes.local.mask_places import Over
from supervisor.storage.place import DATABASE

RECORDS: Final = str(DATABASE.parent)
"""The folder of the supervisor's database, whose companions come and go while turns run: it is
shown with what else is in it, and what comes to it during a turn isn't."""


@dataclass(frozen=True, slots=True)
class VaultRules:
    """What counts as what in one vault.

    `hidden` may not be read, `protected` not be written. `own` are the supervisor's folders and
    files that nobody else may see, `steering` those that are only read; `home` is where the
    person's own secrets are, which hard links in the vault might lead to.
    """

    hidden: DenyList
    protected: DenyList
    own: tuple[Path, ...] = ()
    steering: tuple[Path, ...] = ()
    home: Path | None = None


class Record(NamedTuple):
    """What of the records' folder is shown: a name, and where it leads if it is a link."""

    name: str
    link: str | None


@dataclass
class VaultScan:
    """What was found. Paths are relative to the vault; `covers` says whether each is a folder.

    `records` is None where there is no such folder.
    """

    denied: Denied
    covers: dict[str, bool] = field(default_factory=dict)
    read_only: set[str] = field(default_factory=set)
    own_folders: set[str] = field(default_factory=set)
    records: list[Record] | None = None
    over: dict[str, Over] = field(default_factory=dict)
    """What lies under the covers, and what was made read-only."""
    links: list[Led] = field(default_factory=list)
    kept_names: set[str] = field(default_factory=set)
    """Folders without whose names something in them would be denied no longer."""
    repositories: set[str] = field(default_factory=set)
    """Git's, where no `.git` tells; each ends in a slash."""
    git_led: set[str] = field(default_factory=set)
    """Places that git is led to by what a configuration says, whether they are there or not."""
    mounts: frozenset[str] = frozenset()


def prune(found: VaultScan) -> None:
    """Leave out what lies in a folder that is hidden as a whole: there is no such place then."""
    whole = {path for path, is_folder in found.covers.items() if is_folder} | found.own_folders
    in_records = {
        f"{RECORDS}/{record.name}" for record in found.records or () if record.link is None
    }

    def stays(path: str) -> bool:
        parts = path.split("/")
        inside = any("/".join(parts[:depth]) in whole for depth in range(1, len(parts)))
        if found.records is not None and parts[0] == RECORDS and len(parts) > 1:
            inside = inside or "/".join(parts[:2]) not in in_records
        return not inside

    found.covers = {path: kind for path, kind in found.covers.items() if stays(path)}
    found.read_only = {
        path
        for path in found.read_only
        if stays(path) and path not in found.covers and path not in found.own_folders
    }
    found.own_folders = {path for path in found.own_folders if stays(path)}
    taken = {*found.covers, *found.read_only, *found.own_folders}
    if found.records is not None:
        taken.add(RECORDS)
    found.kept_names = {path for path in found.kept_names if stays(path) and path not in taken}
