"""Moves full files of an audit log elsewhere, and signs where what stays begins."""

import os
import shutil
from collections import deque
from pathlib import Path

from supervisor.errors import ConfigurationError
from supervisor.observability.audit_files import segments, write_base
from supervisor.observability.chain import Key, parse
from supervisor.observability.verification import examine


def move_archives(path: Path, folder: Path, key: Key) -> list[Path]:
    """Move every full file into the folder; where they are now.

    Raises ConfigurationError if the log isn't whole, or a file of that name is there already, and
    OSError. Copied and on the disk first, so that a kill loses none.
    """
    report = examine(path, key=key)
    if report.bad is not None:
        raise ConfigurationError(
            f"the log isn't whole: {report.bad.why}",
            where=f"{report.bad.file}, line {report.bad.line}",
            remedy="trustfloor audit verify; keep all its files as they are",
        )
    full = segments(path)[:-1]
    if not full:
        return []
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    moved = [folder / each.path.name for each in full]
    taken = next((each for each in moved if each.exists()), None)
    if taken is not None:
        raise ConfigurationError(
            "a file of this name is there already", where=str(taken), remedy="name another folder"
        )
    for each, target in zip(full, moved, strict=True):
        _copy(each.path, target)
    last = parse(_last_line(full[-1].path))
    assert last is not None  # noqa: S101 - it was checked above
    write_base(path, last.head, key)
    for each in full:
        each.path.unlink()
    return moved


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as given, target.open("xb") as copy:
        os.fchmod(copy.fileno(), 0o600)
        shutil.copyfileobj(given, copy)
        copy.flush()
        os.fsync(copy.fileno())


def _last_line(path: Path) -> bytes:
    with path.open("rb") as lines:
        return deque(lines, maxlen=1).pop()
