"""The files of an audit log: its head, its key, its archives, and where an archive was taken away.

`audit.jsonl` is written to. When it is full it becomes `audit.000000000001.jsonl`, by the number of
its first entry, and a new one goes on with the same chain. `audit.jsonl.head` has the last number
and hash; `audit.jsonl.base`, if there is one, the last entry of the archives that were moved away.
Both are signed with the key in `audit.jsonl.key`, or wherever it is kept.
"""

import contextlib
import json
import os
import re
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from supervisor.observability.chain import Head, Key
from supervisor.storage import json_line

_KEY_BYTES: Final = 32
_NUMBER: Final = "{:012d}"


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a head or base file says; `mac` is empty in one that was made before there was a key."""

    head: Head
    mac: str = ""

    def is_of(self, key: Key, what: str) -> bool:
        """Whether this key signed it as such a file."""
        return key.signed(_said(what, self.head), self.mac)


@dataclass(frozen=True, slots=True)
class Segment:
    """One file of the log. `first` is its first entry's number by its name; 0: the open file."""

    path: Path
    first: int = 0


def segments(path: Path) -> list[Segment]:
    """The log's files in the order of their entries; the last is the one that is written to."""
    pattern = re.compile(rf"{re.escape(path.stem)}\.(\d{{12}}){re.escape(path.suffix)}")
    names = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
    archives = [
        Segment(path.with_name(name), int(match[1]))
        for name in names
        if (match := pattern.fullmatch(name)) is not None
    ]
    return [*sorted(archives, key=lambda each: each.first), Segment(path)]


def archive_path(path: Path, first: int) -> Path:
    """What the open file is called once it is full."""
    return path.with_name(f"{path.stem}.{_NUMBER.format(first)}{path.suffix}")


def head_path(path: Path) -> Path:
    """The head file of a log."""
    return path.with_name(path.name + ".head")


def base_path(path: Path) -> Path:
    """The file that says up to where archives were moved away."""
    return path.with_name(path.name + ".base")


def key_path(path: Path) -> Path:
    """Where the key is unless it is kept elsewhere."""
    return path.with_name(path.name + ".key")


def read_key(file: Path) -> Key | None:
    """The key in the file; None where there is none that can be read."""
    try:
        secret = bytes.fromhex(file.read_text("ascii").strip())
    except (OSError, ValueError):
        return None
    return Key(secret) if len(secret) >= _KEY_BYTES else None


def make_key(file: Path) -> Key:
    """A new key, in a file that is nobody else's. Raises FileExistsError if there is one."""
    secret = secrets.token_bytes(_KEY_BYTES)
    _write(file, secret.hex().encode() + b"\n", os.O_EXCL, fsync=True)
    return Key(secret)


def read_head(path: Path) -> Recorded | None:
    """The recorded end of the chain, or None where there is none that can be read."""
    return _read(head_path(path))


def read_base(path: Path) -> Recorded | None:
    """Where the chain that is here begins, if archives were moved away."""
    return _read(base_path(path))


def write_head(path: Path, head: Head, key: Key, *, fsync: bool) -> None:
    """Record the end of the chain, whole or not at all."""
    _record(head_path(path), "head", head, key, fsync=fsync)


def write_base(path: Path, head: Head, key: Key) -> None:
    """Record the last entry that isn't here any more."""
    _record(base_path(path), "base", head, key, fsync=True)


def _said(what: str, head: Head) -> bytes:
    return f"trustfloor audit {what}\0{head}".encode()


def _read(file: Path) -> Recorded | None:
    try:
        said = json.loads(file.read_bytes())
        return Recorded(Head(int(said["n"]), str(said["hash"])), str(said.get("mac", "")))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _record(target: Path, what: str, head: Head, key: Key, *, fsync: bool) -> None:
    fresh = target.with_name(target.name + ".new")
    said = {**asdict(head), "mac": key.sign(_said(what, head))}
    _write(fresh, json_line.dump(said) + b"\n", os.O_TRUNC, fsync=fsync)
    fresh.replace(target)


def _write(file: Path, content: bytes, how: int, *, fsync: bool) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | how, 0o600)
    try:
        os.write(descriptor, content)
        if fsync:
            os.fsync(descriptor)
    except OSError:
        with contextlib.suppress(OSError):
            file.unlink()
        raise
    finally:
        os.close(descriptor)
