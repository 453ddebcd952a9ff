"""Reads an audit log forwards over all its files, also while it is written to and rotated."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final

from supervisor.observability.audit_files import Segment, segments

_TRIES: Final = 40
_PAUSE: Final = 0.002
"""Seconds; a line that is being written is whole after a few of these."""


def lines_of(path: Path, *, alone: bool = False) -> Iterator[tuple[Path, int, bytes]]:
    """Each line in order, with its file and its position there; only the last may be a half one.

    `alone`: of this file only, whatever lies beside it.
    """
    done: set[int] = set()
    while True:
        with ExitStack() as opened:
            current = _opened(path, opened)
            # Listed after it was opened: what was rotated before then is in the list.
            for segment in [] if alone else segments(path)[:-1]:
                yield from _archived(segment, done)
            if current is None:
                return
            here = os.fstat(current.fileno()).st_ino
            if here not in done:
                position = 0
                for position, line in enumerate(_whole(current), 1):
                    yield path, position, line
                if _is_still(path, here):
                    return
                done.add(here)
                for later, line in enumerate(current, position + 1):
                    yield path, later, line
            elif _is_still(path, here):
                return


def _opened(path: Path, stack: ExitStack) -> BinaryIO | None:
    try:
        return stack.enter_context(path.open("rb"))
    except FileNotFoundError:
        return None


def _archived(segment: Segment, done: set[int]) -> Iterator[tuple[Path, int, bytes]]:
    with segment.path.open("rb") as file:
        here = os.fstat(file.fileno()).st_ino
        if here in done:
            return
        done.add(here)
        for position, line in enumerate(file, 1):
            yield segment.path, position, line


def _is_still(path: Path, inode: int) -> bool:
    try:
        return path.stat().st_ino == inode
    except FileNotFoundError:
        return False


def _whole(file: BinaryIO) -> Iterator[bytes]:
    """The file's lines; a half one at the end is looked at again, as it may be being written."""
    for line in file:
        whole = line
        for _ in range(_TRIES):
            if whole.endswith(b"\n"):
                break
            time.sleep(_PAUSE)
            whole += file.readline()
        yield whole
