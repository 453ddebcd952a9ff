"""The audit log: append-only, hash-chained and signed, continued over restarts and over files.

It shows that and where it was changed, not by whom; who can read its key and write its files can
make them anew, unless an entry's hash was noted down elsewhere. The chain itself is `chain.py`,
the files are `audit_files.py`, and `verification.py` checks them.
"""

import asyncio
import errno
import json
import logging
import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Self

from supervisor.clock import Clock, Instant
from supervisor.errors import ConfigurationError
from supervisor.observability.audit_files import (
    Recorded,
    archive_path,
    key_path,
    make_key,
    read_head,
    read_key,
    segments,
    write_head,
)
from supervisor.observability.audit_pages import Page, Wanted, page_before
from supervisor.observability.chain import GENESIS, BadLine, Head, Key, Link, parse, seal
from supervisor.observability.logs import fields as known
from supervisor.observability.verification import Report, examine, verify
from supervisor.storage.timestamp import SystemClock, from_text, to_text
from supervisor.threads import begin_in

__all__ = ["AuditLog", "BadLine", "Rotation", "verify"]

_TAIL: Final = 16 << 20
"""How far back the last line is looked for, in bytes."""
_FIRST: Final = 1 << 20
"""How far the first line is read, in bytes, for its number and time."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rotation:
    """When a file is full: bytes, and days since its first entry. 0: never for this reason."""

    most_bytes: int = 0
    most_days: float = 0.0


class AuditLog:
    """Appends to one audit log (mode 0600), open while the `async with` lasts; one holder a log.

    A half line that a crash left is taken off, and told in an `audit_recovered` entry. Lines
    found missing or changed at the start are not papered over: an `audit_damaged` entry follows,
    and numbering goes on where the head file says, so that `verify` shows the hole for ever.
    Nothing is ever deleted: a full file is kept under another name.
    """

    def __init__(
        self,
        path: Path,
        *,
        key_file: Path | None = None,
        rotation: Rotation | None = None,
        fsync: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self.path = path
        self._key_file = key_file or key_path(path)
        self._rotation = rotation or Rotation()
        self._fsync = fsync
        self._clock = clock or SystemClock()
        self._turn = asyncio.Lock()
        self._checking = asyncio.Lock()
        self._head = Head(0, GENESIS)
        self._key: Key
        self._descriptor = -1
        # Its own: nothing may happen that isn't entered, so it waits for nobody else's work.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="audit")
        self.trouble: str | None = None
        """Why the last entry could not be written; None if it was."""
        self._first: tuple[int, Instant] | None = None
        """Number and time of the open file's first entry."""

    @property
    def head(self) -> Head:
        """The last entry's number and hash."""
        return self._head

    async def __aenter__(self) -> Self:
        try:
            torn, damage = await asyncio.to_thread(self._start)
        except OSError as error:
            raise _unusable(Path(error.filename or self.path), error) from error
        if torn:
            await self.append("audit_recovered", None, None, {"dropped": torn})
        if damage is not None:
            _log.error("the audit log is damaged", extra=known(why=damage))
            await self.append("audit_damaged", None, None, {"why": damage})
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._turn:
            os.close(self._descriptor)
        self._thread.shutdown(wait=False)

    async def append(
        self, kind: str, session_id: str | None, turn_id: str | None, body: Mapping[str, Any]
    ) -> Head:
        """Write one entry; returns when it is in the file (on the disk, with `fsync`).

        The caller takes secrets out of `body`. Raises ConfigurationError if it can't be written:
        what was to be audited must not happen then.
        """
        async with self._turn:
            # Seen to its end: a cancellation must not leave the chain between two states.
            said = {"kind": kind, "session_id": session_id, "turn_id": turn_id, "body": dict(body)}
            writing = begin_in(self._thread, self._enter, said)
            try:
                await asyncio.shield(writing)
            except asyncio.CancelledError:
                await asyncio.wait({writing})
                raise
            except OSError as error:
                raise self._failed(error) from error
            self.trouble = None
            return self._head

    def _failed(self, error: OSError) -> ConfigurationError:
        unusable = _unusable(self.path, error)
        self.trouble = unusable.message
        return unusable

    async def page(self, wanted: Wanted, *, before: int | None, limit: int) -> Page:
        """The latest entries with a number below `before`, the last first. Raises OSError."""
        return await asyncio.to_thread(page_before, self.path, wanted, before=before, limit=limit)

    async def examine(self, anchor: Head | None = None) -> Report:
        """Check the whole log; those who ask meanwhile wait for their turn."""
        async with self._checking:
            return await asyncio.to_thread(examine, self.path, key=self._key, anchor=anchor)

    def _enter(self, said: Mapping[str, Any]) -> None:
        now = self._clock.now()
        line, head = self._sealed(now, said)
        if self._is_full(len(line), now) and self._rotate(now):
            line, head = self._sealed(now, said)
        self._write(line, head, now)

    def _sealed(self, now: Instant, said: Mapping[str, Any]) -> tuple[bytes, Head]:
        return seal(self._head, {"ts": to_text(now), **said}, self._key)

    def _write(self, line: bytes, head: Head, now: Instant) -> None:
        size = os.fstat(self._descriptor).st_size
        if os.write(self._descriptor, line) != len(line):
            os.ftruncate(self._descriptor, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self._fsync:
            os.fsync(self._descriptor)
        self._head = head
        self._first = self._first or (head.n, now)
        write_head(self.path, head, self._key, fsync=self._fsync)

    def _is_full(self, more: int, now: Instant) -> bool:
        if self._first is None:
            return False
        most, days = self._rotation.most_bytes, self._rotation.most_days
        size = os.fstat(self._descriptor).st_size
        age = timedelta(seconds=now - self._first[1])
        return (0 < most < size + more) or (days > 0 and timedelta(days=days) < age)

    def _rotate(self, now: Instant) -> bool:
        """Go on in a new file, which begins by naming the full one; whether it could be."""
        assert self._first is not None  # noqa: S101 - an empty file isn't full
        full, fresh = archive_path(self.path, self._first[0]), -1
        try:
            if full.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(full))
            self.path.rename(full)
            fresh = self._opened()
        except OSError as error:
            # Better one file that is too large than nothing that may happen any more.
            _log.warning("the audit log can't be rotated", extra=known(why=str(error.strerror)))
            if fresh < 0 and not self.path.exists() and full.exists():
                full.rename(self.path)
            return False
        os.close(self._descriptor)
        self._descriptor, self._first = fresh, None
        body = {"file": full.name, "entries": self._head.n}
        said = {"kind": "audit_rotated", "session_id": None, "turn_id": None, "body": body}
        self._write(*self._sealed(now, said), now)
        _log.info("audit log rotated", extra=known(file=full.name, head=str(self._head)))
        return True

    def _opened(self) -> int:
        # Not for appending only: a torn line has to be taken off. Not followed: it may lie where
        # others can make symlinks.
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        descriptor = os.open(self.path, flags, 0o600)
        os.fchmod(descriptor, 0o600)
        return descriptor

    def _start(self) -> tuple[bytes, str | None]:
        """Open the file and find the end of the chain: what was torn off, and what is wrong."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        recorded, key = read_head(self.path), read_key(self._key_file)
        unkeyed = key is None
        if unkeyed and self._key_file.exists():
            raise ConfigurationError(
                "the audit log's key can't be read",
                where=str(self._key_file),
                remedy="give the file to the supervisor's user; it holds 64 hexadecimal digits",
            )
        self._key = key or make_key(self._key_file)
        self._descriptor = self._opened()
        size = os.fstat(self._descriptor).st_size
        start = max(0, size - _TAIL)
        whole, end, torn = os.pread(self._descriptor, size - start, start).rpartition(b"\n")
        if torn:
            os.ftruncate(self._descriptor, size - len(torn))
        last = parse(whole[whole.rfind(b"\n") + 1 :] + end) if end else self._last_archived()
        self._first = self._first_entry()
        self._head, damage = _resume(
            last if last is not None and last.sealed else None,
            recorded,
            None if unkeyed else self._key,
            empty=not end and last is None,
        )
        write_head(self.path, self._head, self._key, fsync=self._fsync)
        return torn, damage

    def _last_archived(self) -> Link | None:
        """The last entry of the latest full file: a kill can fall between two files."""
        archives = segments(self.path)[:-1]
        if not archives:
            return None
        with archives[-1].path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _TAIL))
            return parse(file.read().rstrip(b"\n").rpartition(b"\n")[2] + b"\n")

    def _first_entry(self) -> tuple[int, Instant] | None:
        line = os.pread(self._descriptor, _FIRST, 0).partition(b"\n")[0]
        try:
            entry = json.loads(line)
            return int(entry["n"]), Instant(from_text(str(entry["ts"])).timestamp())
        except (ValueError, TypeError, KeyError):
            return (self._head.n, self._clock.now()) if line else None


def _resume(
    last: Link | None, recorded: Recorded | None, key: Key | None, *, empty: bool
) -> tuple[Head, str | None]:
    """Where the chain goes on, given its last line, the head file and the key, and what is wrong.

    `key` is None if there was none until now: a log that is older than its key, or one whose key
    was taken away.
    """
    if recorded is None:
        if empty and key is None:
            return Head(0, GENESIS), None
        return last.head if last else Head(0, GENESIS), "the head file is missing or can't be read"
    head = recorded.head
    if key is None and (recorded.mac or last is not None):
        older = "" if recorded.mac else ", and nothing is signed: older than keys, or written anew"
        return _later(last, head), f"the key is missing; another was made{older}"
    if key is not None and not recorded.is_of(key, "head"):
        return _later(last, head), "the head file isn't signed with the key"
    if last is None:
        return head, "the last line is missing or was changed" if head.n else None
    unsigned = key is not None and not key.signed(last.signed, last.mac)
    faults = (
        (last.head.n < head.n, f"entries {last.head.n + 1} to {head.n} are missing at the end"),
        (last.head.n == head.n and last.head != head, "the last line is not the one written"),
        (last.head.n > head.n + 1, f"lines follow {head.n} that the head file doesn't know"),
        (last.head.n > head.n and unsigned, "the last line isn't signed with the key"),
    )
    damage = next((why for wrong, why in faults if wrong), None)
    return _later(last, head), damage


def _later(last: Link | None, recorded: Head) -> Head:
    return last.head if last is not None and last.head.n > recorded.n else recorded


def _unusable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"the audit log can't be written: {error.strerror}",
        where=str(path),
        remedy="check free space, owner and mode of the file and its folder",
    )
