"""The audit log: append-only, hash-chained, continued over restarts.

It shows that and where it was changed, not by whom; who can write both its files can make them
anew. The chain itself is `chain.py`.
"""

import asyncio
import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from supervisor.clock import Clock
from supervisor.errors import ConfigurationError
from supervisor.observability.chain import GENESIS, BadLine, Head, parse, read_head, seal, verify
from supervisor.observability.chain import write_head as record_head
from supervisor.storage.timestamp import SystemClock, to_text

__all__ = ["AuditLog", "BadLine", "verify"]

_TAIL = 16 << 20
"""How far back the last line is looked for, in bytes."""


class AuditLog:
    """Appends to one audit file (mode 0600), open while the `async with` lasts; one holder a file.

    A half line that a power cut left is taken off, and told in an `audit_recovered` entry. Lines
    found missing or changed at the start are not papered over: an `audit_damaged` entry follows,
    and numbering goes on where the head file says, so that `verify` shows the hole for ever.
    """

    def __init__(self, path: Path, *, fsync: bool = False, clock: Clock | None = None) -> None:
        self.path = path
        self._fsync = fsync
        self._clock = clock or SystemClock()
        self._turn = asyncio.Lock()
        self._head = Head(0, GENESIS)
        self._descriptor = -1

    async def __aenter__(self) -> Self:
        try:
            torn, damage = await asyncio.to_thread(self._start)
        except OSError as error:
            raise _unusable(self.path, error) from error
        if torn:
            await self.append("audit_recovered", None, None, {"dropped": torn})
        if damage is not None:
            await self.append("audit_damaged", None, None, {"why": damage})
        return self

    async def __aexit__(self, *_: object) -> None:
        async with self._turn:
            os.close(self._descriptor)

    async def append(
        self, kind: str, session_id: str | None, turn_id: str | None, body: Mapping[str, Any]
    ) -> Head:
        """Write one entry; returns when it is in the file (on the disk, with `fsync`).

        The caller takes secrets out of `body`. Raises ConfigurationError if it can't be written:
        what was to be audited must not happen then.
        """
        async with self._turn:
            fields = {
                "ts": to_text(self._clock.now()),
                "kind": kind,
                "session_id": session_id,
                "turn_id": turn_id,
                "body": dict(body),
            }
            line, head = seal(self._head, fields)
            # Seen to its end: a cancellation must not leave the chain between two states.
            writing = asyncio.ensure_future(asyncio.to_thread(self._write, line, head))
            try:
                await asyncio.shield(writing)
            except asyncio.CancelledError:
                await asyncio.wait({writing})
                raise
            except OSError as error:
                raise _unusable(self.path, error) from error
            return head

    def _write(self, line: bytes, head: Head) -> None:
        size = os.fstat(self._descriptor).st_size
        if os.write(self._descriptor, line) != len(line):
            os.ftruncate(self._descriptor, size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self._fsync:
            os.fsync(self._descriptor)
        self._head = head
        record_head(self.path, head, fsync=self._fsync)

    def _start(self) -> tuple[bytes, str | None]:
        """Open the file and find the end of the chain: what was torn off, and what is wrong."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Not for appending only: a torn line has to be taken off. Not followed: it may lie where
        # others can make symlinks.
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        self._descriptor = os.open(self.path, flags, 0o600)
        os.fchmod(self._descriptor, 0o600)
        size = os.fstat(self._descriptor).st_size
        start = max(0, size - _TAIL)
        whole, end, torn = os.pread(self._descriptor, size - start, start).rpartition(b"\n")
        if torn:
            os.ftruncate(self._descriptor, size - len(torn))
        last = parse(whole[whole.rfind(b"\n") + 1 :] + end) if end else None
        self._head, damage = _resume(
            last.head if last is not None and last.sealed else None,
            read_head(self.path),
            empty=not end,
        )
        return torn, damage


def _resume(last: Head | None, recorded: Head | None, *, empty: bool) -> tuple[Head, str | None]:
    """Where the chain goes on, given its last line and the head file, and what is wrong."""
    if recorded is None:
        if empty:
            return Head(0, GENESIS), None
        return last or Head(0, GENESIS), "the head file is missing or can't be read"
    if last is None:
        return recorded, "the last line is missing or was changed" if recorded.n else None
    faults = (
        (last.n < recorded.n, f"lines {last.n + 1} to {recorded.n} are missing at the end"),
        (last.n == recorded.n and last != recorded, "the last line is not the one written"),
        (last.n > recorded.n + 1, f"lines follow {recorded.n} that the head file doesn't know"),
    )
    damage = next((why for wrong, why in faults if wrong), None)
    return (last if last.n > recorded.n else recorded), damage


def _unusable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(
        f"the audit log can't be written: {error.strerror}",
        where=str(path),
        remedy="check free space, owner and mode of the file and its folder",
    )
