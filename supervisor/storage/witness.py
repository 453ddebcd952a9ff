"""How we left each database of ours, kept in the data folder, so that a changed one is noticed.

A seal can be copied together with the file it is in: whoever has had a copy can send it back
altered. After an orderly end the file's digest is known; while a supervisor runs, and after it was
killed, which file and which write-ahead log were its own.
"""

import hashlib
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FOLDER: Final = "databases"
_LOGS: Final = ("-wal", "-journal")
"""Files beside a database that SQLite would apply to it."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A database's files at one moment: their inodes (None: not there), the main one's digest.

    Of logs as they are found only those with something in them count: whoever looks into the
    database read-only leaves an empty one.
    """

    inode: int | None
    logs: tuple[int | None, ...]
    digest: str | None


def sight(path: Path) -> Sighting:
    """Look at the files. Only while this process has the database not open.

    Closing any descriptor of the file would drop SQLite's locks on it. Raises OSError.
    """
    digest = None
    if path.exists():
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Sighting(_inode(path), _logs(path, at_least=1), digest)


class Witness:
    """What one data folder remembers of the databases it has sealed, by their ids."""

    def __init__(self, data: Path) -> None:
        self._folder = data / FOLDER

    def agrees(self, database_id: str, seen: Sighting) -> bool:
        """Whether these are the files that we left."""
        left = self._left(database_id)
        if left is None:
            return False
        if left.digest is not None:
            # After an orderly end there is no log: one that is there now isn't ours.
            return left.digest == seen.digest and not any(seen.logs)
        same_logs = all(
            log is None or log == ours for log, ours in zip(seen.logs, left.logs, strict=True)
        )
        return left.inode is not None and left.inode == seen.inode and same_logs

    def opened(self, database_id: str, path: Path) -> None:
        """Remember the files that we work on from now on. Raises OSError."""
        self._remember(database_id, Sighting(_inode(path), _logs(path, at_least=0), None))

    def closed(self, database_id: str, path: Path) -> None:
        """Remember what we leave, unless it isn't what we worked on. Raises OSError."""
        left = self._left(database_id)
        if left is None or left.inode != _inode(path) or any(_logs(path, at_least=1)):
            return
        self._remember(database_id, sight(path))

    def _left(self, database_id: str) -> Sighting | None:
        try:
            left = json.loads((self._folder / f"{database_id}.json").read_text("ascii"))
            return Sighting(left["inode"], tuple(left["logs"]), left["digest"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _remember(self, database_id: str, sighting: Sighting) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        target = self._folder / f"{database_id}.json"
        draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
        content = {
            "inode": sighting.inode,
            "logs": sighting.logs,
            "digest": sighting.digest,
        }
        try:
            with draft.open("x", encoding="ascii") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)


def _logs(path: Path, *, at_least: int) -> tuple[int | None, ...]:
    logs = [path.with_name(path.name + end) for end in _LOGS]
    return tuple(_inode(log, at_least) for log in logs)


def _inode(path: Path, at_least: int = 0) -> int | None:
    """The inode, or None if there is no file of that many bytes."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    return found.st_ino if found.st_size >= at_least else None
