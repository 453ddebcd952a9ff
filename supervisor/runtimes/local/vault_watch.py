"""Watches the vault while an agent is in it: what the cage's masks no longer hold ends the turn.

A mask lies over a file, not over a name: a file that takes the name's place on the host is seen as
it is, and so is a new one, until the cage is ended, which happens here, in a thread of its own, as
soon as the kernel tells. How long that takes is measured in `benchmarks/vault_cage.py`. What a
change means is in `vault_changes.py`.
"""

import errno
import os
import select
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from supervisor.errors import IsolationRefused, VaultUnavailable
from supervisor.runtimes.local.bare_places import Exposed
from supervisor.runtimes.local.inotify import Change, Inotify
from supervisor.runtimes.local.vault_changes import SHORTLY, VaultChanges
from supervisor.runtimes.local.vault_found import VaultRules, VaultScan
from supervisor.runtimes.local.vault_scan import scan_vault
from supervisor.runtimes.mounts import mount_points_below

_STOP: Final = b"."
_MASKED: Final = b"m"


class VaultWatch:
    """One turn's watch. `begin` scans, `on_breach` says whom to end, `end` is called in any case.

    `breach` is how the turn ends, once something was seen that no mask covers.
    """

    def __init__(self, vault: Path, rules: VaultRules) -> None:
        self._vault = vault
        self._rules = rules
        self._inotify = Inotify()
        self._changes = VaultChanges(vault, rules, self._inotify)
        self._mounts: frozenset[str] = frozenset()
        self._told_read, self._told_write = os.pipe2(os.O_CLOEXEC)
        self._thread: threading.Thread | None = None
        self._act: Callable[[], object] | None = None
        self._lock = threading.Lock()
        self._masks_known = threading.Event()
        self.breach: VaultUnavailable | None = None

    @property
    def folders(self) -> int:
        """How many folders are watched."""
        return self._changes.folders

    def begin(self) -> VaultScan:
        """Scan the vault, each folder watched from before it was read; then follow what happens.

        Raises IsolationRefused where the machine's limits don't allow it, OSError if the vault
        can't be read.
        """
        try:
            scan = scan_vault(self._vault, self._rules, self._changes.enter)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EMFILE, errno.ENFILE):
                raise
            raise IsolationRefused(
                f"the vault has more folders than this machine lets us watch: {error.strerror}",
                where=str(self._vault),
                remedy="raise fs.inotify.max_user_watches (sysctl), then send the message again",
            ) from error
        self._changes.begin(scan)
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

    def masked(self) -> None:
        """The masks were put over what the scan found: wait until all before this is judged.

        From now on they go along with what they lie over. Raises VaultUnavailable where something
        was moved meanwhile.
        """
        os.write(self._told_write, _MASKED)
        self._masks_known.wait()
        if self.breach is not None:
            raise self.breach

    def end(self) -> None:
        """Stop watching; waits for the thread."""
        os.write(self._told_write, _STOP)
        if self._thread is not None:
            self._thread.join()
        self._inotify.close()
        os.close(self._told_read)
        os.close(self._told_write)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _follow(self) -> None:
        stopped = False
        try:
            stopped = self._followed()
        except Exposed as exposed:
            self._end_turn(exposed.what, exposed.place)
        except OSError as error:
            self._end_turn(f"the vault can't be watched any more: {error.strerror}", "")
        finally:
            if not stopped:  # whatever went wrong here: unwatched, nothing goes on
                self._end_turn("the vault isn't watched any more", "")
            self._masks_known.set()

    def _followed(self) -> bool:
        """Follow what happens to the end, which is asked for."""
        with open("/proc/self/mountinfo", "rb") as mounts:  # noqa: PTH123
            poll = select.poll()
            poll.register(self._told_read, select.POLLIN)
            poll.register(self._inotify.fd, select.POLLIN)
            poll.register(mounts, select.POLLPRI)  # the kernel's word on a change, proc(5)
            masked_at = None
            self._changes.watch_links()
            while True:
                waits = masked_at is not None or self._changes.waiting
                ready = {fd for fd, _ in poll.poll(SHORTLY * 1000 if waits else None)}
                if self._told_read in ready:
                    if os.read(self._told_read, 1) == _STOP:
                        return True
                    masked_at = self._changes.soon()
                self._changes.are_read()
                for change in self._inotify.changes():
                    self._look_at(change)
                self._changes.settle()
                if mounts.fileno() in ready:
                    self._look_at_mounts()
                if masked_at is not None and self._changes.is_due(masked_at):
                    masked_at = None
                    self._changes.are_masked = True
                    self._masks_known.set()

    def _look_at(self, change: Change) -> None:
        self._changes.look_at(change)

    def _look_at_mounts(self) -> None:
        for place in sorted(mount_points_below(str(self._vault)) - self._mounts):
            raise Exposed("was mounted in the vault", place)

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
