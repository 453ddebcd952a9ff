"""Watches the vault while an agent is in it: what the cage's masks no longer hold ends the turn.

A mask lies over a file, not over a name: a file that takes the name's place on the host is seen as
it is, and so is a new one, until the cage is ended, which happens here, in a thread of its own, as
soon as the kernel tells. How long that takes is measured in `benchmarks/vault_cage.py`.
"""

import errno
import os
import select
import stat
import threading
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Final, Self

from supervisor.errors import IsolationRefused, VaultUnavailable
from supervisor.runtimes.denied_inodes import MAX_DEPTH, inode_of
from supervisor.runtimes.inode import Inode
from supervisor.runtimes.local.inotify import (
    CREATE,
    DELETE,
    IGNORED,
    MOVED_FROM,
    MOVED_TO,
    OVERFLOW,
    Change,
    Inotify,
)
from supervisor.runtimes.local.vault_scan import Under, VaultRules, VaultScan, scan_vault
from supervisor.runtimes.mounts import mount_points_below
from supervisor.runtimes.quiet_open import opened_folder
from supervisor.storage.beneath import stat_inside

_CAME: Final = CREATE | MOVED_TO
_WENT: Final = DELETE | MOVED_FROM


class VaultWatch:
    """One turn's watch. `begin` scans, `on_breach` says whom to end, `end` is called in any case.

    `breach` is how the turn ends, once something was seen that no mask covers.
    """

    def __init__(self, vault: Path, rules: VaultRules) -> None:
        self._vault = vault
        self._rules = rules
        self._inotify = Inotify()
        self._paths: dict[int, str] = {}
        self._under: dict[Inode, Under] = {}
        self._places: dict[str, Inode] = {}
        self._denied: set[Inode] = set()
        self._mounts: frozenset[str] = frozenset()
        self._stop_read, self._stop_write = os.pipe2(os.O_CLOEXEC)
        self._thread: threading.Thread | None = None
        self._act: Callable[[], object] | None = None
        self._lock = threading.Lock()
        self.breach: VaultUnavailable | None = None

    @property
    def folders(self) -> int:
        """How many folders are watched."""
        return len(self._paths)

    def begin(self) -> VaultScan:
        """Scan the vault, each folder watched from before it was read; then follow what happens.

        Raises IsolationRefused where the machine's limits don't allow it, OSError if the vault
        can't be read.
        """
        try:
            scan = scan_vault(self._vault, self._rules, self._enter)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EMFILE, errno.ENFILE):
                raise
            raise IsolationRefused(
                f"the vault has more folders than this machine lets us watch: {error.strerror}",
                where=str(self._vault),
                remedy="raise fs.inotify.max_user_watches (sysctl), then send the message again",
            ) from error
        for inode, under in scan.under.items():
            self._know(inode, under)
        self._denied = scan.denied.inodes
        self._mounts = scan.mounts
        self._thread = threading.Thread(target=self._follow, name="vault-watch", daemon=True)
        self._thread.start()
        return scan

    def on_breach(self, act: Callable[[], object]) -> None:
        """Do this, in the watching thread, once there is a breach; at once if there is one."""
        with self._lock:
            self._act = act
            late = self.breach is not None
        if late:
            act()

    def end(self) -> None:
        """Stop watching; waits for the thread."""
        os.write(self._stop_write, b".")
        if self._thread is not None:
            self._thread.join()
        self._inotify.close()
        os.close(self._stop_read)
        os.close(self._stop_write)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _enter(self, fd: int, prefix: str) -> None:
        self._paths[self._inotify.add(fd)] = prefix

    def _follow(self) -> None:
        with open("/proc/self/mountinfo", "rb") as mounts:  # noqa: PTH123
            poll = select.poll()
            poll.register(self._stop_read, select.POLLIN)
            poll.register(self._inotify.fd, select.POLLIN)
            poll.register(mounts, select.POLLPRI)  # the kernel's word on a change, proc(5)
            while self.breach is None:
                ready = {fd for fd, _ in poll.poll()}
                if self._stop_read in ready:
                    return
                try:
                    if self._inotify.fd in ready:
                        for change in self._inotify.changes():
                            self._look_at(change)
                    if mounts.fileno() in ready:
                        self._look_at_mounts()
                except OSError as error:
                    self._end_turn(f"the vault can't be watched any more: {error.strerror}", "")

    def _look_at(self, change: Change) -> None:
        if change.mask & OVERFLOW:
            self._end_turn("more was changed in the vault at once than can be followed", "")
        elif change.mask & IGNORED:
            self._paths.pop(change.watch, None)
        elif (prefix := self._paths.get(change.watch)) is not None and change.name:
            relative = prefix + change.name
            if change.mask & _CAME:
                self._arrived(relative, change)
            elif change.mask & _WENT:
                self._left(relative, change)

    def _look_at_mounts(self) -> None:
        new = mount_points_below(str(self._vault)) - self._mounts
        for place in sorted(new):
            self._end_turn("was mounted in the vault", place)

    def _arrived(self, relative: str, change: Change) -> None:
        try:
            seen = stat_inside(self._vault, PurePosixPath(relative))
        except OSError:
            seen = None  # its folder was moved meanwhile: told under its new name
        # What was moved brought along what lies over it; nothing lies over what was made.
        moved = bool(change.mask & MOVED_TO)
        self._take_in(relative, change.name, seen, may_be_under=moved)

    def _take_in(
        self, relative: str, name: str, seen: os.stat_result | None, *, may_be_under: bool
    ) -> None:
        """Judge one place, and all below it if it is a folder that can be seen."""
        under = self._put_over(seen) if may_be_under and seen is not None else None
        if seen is None or under is None:
            self._judge(relative, name, seen)
        else:
            self._know(inode_of(seen), under._replace(path=relative))
        if seen is not None and stat.S_ISDIR(seen.st_mode) and not (under and under.hides):
            self._look_below(relative)

    def _judge(self, relative: str, name: str, seen: os.stat_result | None) -> None:
        """End the turn if something should lie over this place: nothing does."""
        rules = self._rules
        if rules.hidden.match_entry(name, relative) is not None:
            self._end_turn("is a denied file that came while the agent was at work", relative)
        elif rules.protected.match_entry(name, relative) is not None:
            self._end_turn("steers agents, and was made while one was at work", relative)
        elif (
            seen is not None
            and stat.S_ISREG(seen.st_mode)
            and seen.st_nlink > 1
            and inode_of(seen) in self._denied
        ):
            self._end_turn("is a new name of a denied file", relative)

    def _put_over(self, seen: os.stat_result) -> Under | None:
        """What was put over it, unless it has got a new name since: over that lies nothing."""
        under = self._under.get(inode_of(seen))
        if under is None or stat.S_ISDIR(seen.st_mode) or seen.st_nlink <= under.names:
            return under
        return None

    def _know(self, inode: Inode, under: Under) -> None:
        self._under[inode] = under
        self._places[under.path] = inode

    def _left(self, relative: str, change: Change) -> None:
        """Forget what isn't there any more: its number may be given to another file."""
        if change.mask & MOVED_FROM:
            if change.is_folder:
                self._forget_below(relative + "/")
            return
        inode = self._places.pop(relative, None)
        if inode is not None:
            self._under.pop(inode, None)
            return
        rules = self._rules
        mattered = any(
            rule.match_entry(change.name, relative) is not None
            for rule in (rules.hidden, rules.protected)
        )
        if mattered:
            # It was known under another path once: which one isn't known any more.
            self._under.clear()

    def _forget_below(self, prefix: str) -> None:
        for watch, path in list(self._paths.items()):
            if path.startswith(prefix):
                del self._paths[watch]
                self._inotify.remove(watch)

    def _look_below(self, relative: str) -> None:
        """Watch a folder that came, and judge what is in it."""
        if relative.count("/") >= MAX_DEPTH:
            self._end_turn("lies too deep to be watched", relative)
            return
        try:
            with opened_folder(self._vault) as root:
                self._enter_below(root, relative)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.EACCES):
                raise

    def _enter_below(self, root: int, relative: str) -> None:
        """Go down by descriptors, part by part: a link put in the way leads nowhere."""
        fd = os.dup(root)
        try:
            for part in relative.split("/"):
                below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
                os.close(fd)
                fd = below
            self._enter(fd, relative + "/")
            with os.scandir(fd) as entries:
                found = [(entry.name, entry.stat(follow_symlinks=False)) for entry in entries]
        finally:
            os.close(fd)
        for name, seen in found:
            self._take_in(f"{relative}/{name}", name, seen, may_be_under=True)

    def _end_turn(self, what: str, relative: str) -> None:
        breach = VaultUnavailable(
            f"the turn was ended: {_shown(relative)}{what}",
            where=_shown(relative).strip() or str(self._vault),
            remedy="look at what changed, and send the message again: it is masked then",
        )
        with self._lock:
            if self.breach is not None:
                return
            self.breach = breach
            act = self._act
        if act is not None:
            act()


def _shown(relative: str) -> str:
    """The path as text that draws nothing but itself."""
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in relative)
    return f"{text} " if text else ""
