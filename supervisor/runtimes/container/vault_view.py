"""Makes what a container sees of the vault: a private snapshot of what may be shown, for one turn.

Nothing that happens in the vault during the turn can reach it, since no inode of the vault is in
it. Why this and not masks or an overlay: docs/decisions/0001-vault-view.md.
"""

import errno
import os
import pwd
import re
import shutil
import stat
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from supervisor.errors import VaultUnavailable
from supervisor.policy.deny_list import DenyList
from supervisor.runtimes.container.view_fill import FOLDER_MODE, Filling
from supervisor.runtimes.container.view_scan import Scan, Scanner
from supervisor.runtimes.container.view_store import ObjectStore
from supervisor.runtimes.container.view_tree import Folder
from supervisor.runtimes.honeytokens import Honeytokens
from supervisor.runtimes.quiet_open import OWNER_MAY_ENTER, open_quietly
from supervisor.runtimes.visible import VisibleFile

GIBIBYTE = 1 << 30
WEEK_SECONDS = 7 * 24 * 3600.0

_VIEW_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_ROOT = PurePosixPath(".")
_NO_DESCRIPTORS = frozenset({errno.EMFILE, errno.ENFILE})


@dataclass(frozen=True)
class ViewReport:
    """What a view holds and what it doesn't; counts, never names.

    `hidden` are entries that the deny list, or being ours, keeps out (a folder counts once), hard
    links to such included; of these, so many have a decoy in their place (`decoys`). `omitted` are
    others, by cause. `bytes_copied` is what was new.
    """

    files: int
    directories: int
    symlinks: int
    hidden: int
    omitted: Mapping[str, int]
    bytes_copied: int
    objects_reused: int
    decoys: int = 0


def home_of(uid: int) -> Path | None:
    """The home folder of this user, if the machine knows one."""
    try:
        return Path(pwd.getpwuid(uid).pw_dir)
    except KeyError:
        return None


class VaultViews:
    """All views under one folder, which is ours alone. Calls block; use them from a thread.

    Several views may be made at once, by several threads.
    """

    def __init__(
        self,
        store: Path,
        *,
        max_file_bytes: int = GIBIBYTE,
        keep_seconds: float = WEEK_SECONDS,
        keep_bytes: int = 4 * GIBIBYTE,
        owner_home: Callable[[int], Path | None] = home_of,
    ) -> None:
        self._store = store.absolute()
        self._views = self._store / "views"
        self._objects = ObjectStore(
            self._store / "objects", keep_seconds=keep_seconds, keep_bytes=keep_bytes
        )
        self._max_file_bytes = max_file_bytes
        self._owner_home = owner_home
        for folder in (self._store, self._views, self._objects.folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)

    def reserve(self, name: str) -> Path:
        """Make the view's folder, still empty: what is filled later can be mounted by then.

        Raises VaultUnavailable; then there is none.
        """
        target = self._path(name)
        try:
            target.mkdir(mode=0o700)
            # A container that has the folder mounted must be able to enter it before it is filled.
            target.chmod(FOLDER_MODE)
        except FileExistsError:
            raise VaultUnavailable(
                f"There is a view named {name} already.",
                where=str(target),
                remedy="restart trustfloor: it removes what a crash left behind",
            ) from None
        except OSError as error:
            raise self._explained(error) from error
        return target

    def build(  # noqa: PLR0913  (all that a view is made of)
        self,
        vault: Path,
        name: str,
        deny_list: DenyList,
        own_files: Collection[Path],
        stop: threading.Event | None = None,
        *,
        honeytokens: Honeytokens | None = None,
    ) -> tuple[Path, ViewReport]:
        """Make the view `name` of the vault as it is now; returns its folder and what is in it.

        `honeytokens` make decoys for what the deny list hides; None: it is absent.
        Raises VaultUnavailable if the vault can't be read, there is no room, or `stop` was set;
        then nothing of the view is left.
        """
        target = self.reserve(name)
        return target, self.fill(vault, name, deny_list, own_files, stop, honeytokens=honeytokens)

    def fill(  # noqa: PLR0913  (all that a view is made of)
        self,
        vault: Path,
        name: str,
        deny_list: DenyList,
        own_files: Collection[Path],
        stop: threading.Event | None = None,
        *,
        honeytokens: Honeytokens | None = None,
        kept: PurePosixPath = _ROOT,
    ) -> ViewReport:
        """Fill the folder that was reserved for the view, for the first time or anew.

        What it holds is removed, but for the folders on the way to `kept`, where somebody may
        stand: if they aren't folders of the vault any more, VaultUnavailable. Otherwise as `build`.
        """
        target = self._path(name)
        try:
            with _opened_vault(vault) as vault_fd:
                scan = self._scan(vault, vault_fd, deny_list, own_files, stop)
                _require_way(kept, scan, target)
                work = _Work(vault_fd, scan, target, honeytokens, stop, kept.parts)
                return self._fill_or_make_room(work)
        except OSError as error:
            self.discard(name)
            raise self._explained(error) from error
        except BaseException:
            self.discard(name)
            raise

    def visible(
        self,
        vault: Path,
        deny_list: DenyList,
        own_files: Collection[Path],
        stop: threading.Event | None = None,
    ) -> Iterator[VisibleFile]:
        """The regular files that a view of the vault would show now; nothing is made.

        What is hidden under any of its names isn't among them. Raises VaultUnavailable.
        """
        try:
            with _opened_vault(vault) as vault_fd:
                scan = self._scan(vault, vault_fd, deny_list, own_files, stop)
        except OSError as error:
            raise self._explained(error) from error
        for folder in scan.root.all_below():
            prefix = "".join(f"{part}/" for part in folder.parts)
            for name, seen in folder.files.items():
                if not scan.is_hidden(seen):
                    yield VisibleFile(
                        prefix + name,
                        seen.inode,
                        seen.modified,
                        seen.changed,
                        seen.size,
                        seen.names,
                    )

    def _scan(
        self,
        vault: Path,
        vault_fd: int,
        deny_list: DenyList,
        own_files: Collection[Path],
        stop: threading.Event | None,
    ) -> Scan:
        scanner = Scanner(vault_fd, deny_list, max_file_bytes=self._max_file_bytes, stop=stop)
        home = self._owner_home(os.fstat(vault_fd).st_uid)
        return scanner.scan(own_files, self._store, home, str(vault.absolute()))

    def _fill_or_make_room(self, work: "_Work") -> ViewReport:
        try:
            return self._fill(work)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
        self._objects.prune(all_unused=True)
        try:
            return self._fill(work)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            needed = self._objects.bytes_missing(work.scan.root)
            free = shutil.disk_usage(self._store).free
            raise VaultUnavailable(
                f"No room for the view of the vault: it needs up to {_megabytes(needed)}, "
                f"{_megabytes(free)} are free.",
                where=str(self._store),
                remedy="free some space there, or move the data folder to a larger disk",
            ) from error

    def _fill(self, work: "_Work") -> ViewReport:
        scan = work.scan
        _empty(work.target, work.kept)
        filling = Filling(
            work.vault_fd,
            scan,
            self._objects,
            max_file_bytes=self._max_file_bytes,
            honeytokens=work.honeytokens,
            stop=work.stop,
            there=work.kept,
        )
        try:
            filling.into(work.target)
        except BaseException:
            _empty(work.target, work.kept)
            raise
        return ViewReport(
            files=filling.files,
            directories=filling.directories,
            symlinks=filling.symlinks,
            hidden=scan.hidden + filling.hidden,
            omitted=dict(scan.omitted + filling.omitted),
            bytes_copied=filling.bytes_copied,
            objects_reused=filling.objects_reused,
            decoys=filling.decoys,
        )

    def _explained(self, error: OSError) -> VaultUnavailable:
        remedy = "make this folder writable, or move the data folder"
        if error.errno in _NO_DESCRIPTORS:
            remedy = "raise the limit (ulimit -n 65536) and restart trustfloor"
        return VaultUnavailable(
            f"The view of the vault can't be made: {error.strerror or error}.",
            where=str(self._store),
            remedy=remedy,
        )

    def discard(self, name: str) -> None:
        """Remove a view; one that isn't there is fine. Objects it used stay for the next one."""
        with suppress(FileNotFoundError):
            shutil.rmtree(self._path(name))

    def prune(self) -> int:
        """Drop objects that no view uses and that are old or too many; returns how many."""
        return self._objects.prune()

    def leftovers(self) -> list[str]:
        """The names of all views there are, finished or not."""
        return sorted(entry.name for entry in self._views.iterdir())

    def _path(self, name: str) -> Path:
        if _VIEW_NAME.match(name) is None:
            raise ValueError(f"not a name for a view: {name!r}")
        return self._views / name


@dataclass(frozen=True, slots=True)
class _Work:
    """One filling of a view; `kept` are the names of the folders that stay, from the top."""

    vault_fd: int
    scan: Scan
    target: Path
    honeytokens: Honeytokens | None
    stop: threading.Event | None
    kept: tuple[str, ...]


def _require_way(kept: PurePosixPath, scan: Scan, target: Path) -> None:
    """Every folder on that way is one in the vault as it is now, and in the view there is."""
    here: Folder | None = scan.root
    for part in kept.parts:
        target = target / part
        here = here.folders.get(part) if here is not None else None
        if here is None or target.is_symlink() or not target.is_dir():
            raise VaultUnavailable(
                "A folder that somebody stands in isn't in the vault any more.",
                where=str(kept),
                remedy="send the message again",
            )


def _empty(folder: Path, kept: tuple[str, ...] = ()) -> None:
    """Remove what is in it, but for the kept way. The folder itself stays: it may be mounted."""
    for entry in os.scandir(folder):
        if kept and entry.name == kept[0]:
            _empty(folder / entry.name, kept[1:])
        elif entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry)
        else:
            os.unlink(entry)  # noqa: PTH108


@contextmanager
def _opened_vault(vault: Path) -> Iterator[int]:
    """The vault's descriptor for the length of the block; only of a folder its owner may read."""
    try:
        fd = open_quietly(vault, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _no_vault(vault, error.strerror or str(error)) from error
    try:
        mode = os.fstat(fd).st_mode
        if mode & OWNER_MAY_ENTER != OWNER_MAY_ENTER:
            raise _no_vault(vault, f"its mode {stat.S_IMODE(mode):04o} keeps its owner out")
        yield fd
    finally:
        os.close(fd)


def _no_vault(vault: Path, why: str) -> VaultUnavailable:
    return VaultUnavailable(
        f"The vault can't be read: {why}.",
        where=str(vault),
        remedy="set the vault to a folder that is there and that you may read",
    )


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
