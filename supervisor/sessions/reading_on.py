"""What was said in a session from the first message to the last, for who reads all of it.

`history.py` reads pages from the end, as people do. Here no more is held than one record of each
of the session's transcripts, however long they are.
"""

import heapq
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import Final

import orjson

from supervisor.ids import SessionId, is_session_id
from supervisor.sessions.history import MOST_FOLDERS
from supervisor.sessions.memory import transcript_for
from supervisor.sessions.records_back import BLOCK, LONGEST
from supervisor.sessions.spoken import Spoken, spoken
from supervisor.sessions.transcripts import brought_beside
from supervisor.storage.beneath import kept_open, stat_inside
from supervisor.trust.levels import TrustLevel

Mark = tuple[int, int, int]
"""A file's number, when it was changed (ns) and its size (bytes): another one means other words."""

_PROJECTS: Final = PurePosixPath(".claude/projects")


def transcripts_of(pointer: PurePosixPath) -> tuple[PurePosixPath, ...]:
    """All files that hold what was said in a session, whether they are there or not."""
    return (
        transcript_for(pointer, TrustLevel.VAULT),
        transcript_for(pointer, TrustLevel.SANDBOXED),
        brought_beside(pointer),
    )


def marks_of(root: Path, files: tuple[PurePosixPath, ...]) -> tuple[Mark | None, ...]:
    """The files' marks; None for one that isn't there. Blocks."""
    return tuple(_mark(root, each) for each in files)


def read_on(root: Path, files: tuple[PurePosixPath, ...]) -> Iterator[tuple[int, Spoken]]:
    """What was said, part by part in the order of time, each with its message's number from 1.

    Parts of one message have the same number. Damaged lines are passed over. Blocks.
    """
    with ExitStack() as stack:
        ways = [
            _on(descriptor, index)
            for index, path in enumerate(files)
            if (descriptor := kept_open(stack, root, path)) is not None
        ]
        number, before = 0, ("", "")
        for _, _, _, message in heapq.merge(*ways, key=lambda found: found[:3]):
            this = (message.id, message.role)
            if not message.id or this != before:
                number += 1
            before = this
            yield number, message


def transcripts_at_home(home: Path) -> dict[SessionId, PurePosixPath]:
    """The transcripts below `~/.claude/projects` by session, relative to the home. Blocks."""
    found: dict[SessionId, PurePosixPath] = {}
    try:
        folders = sorted(os.listdir(home / _PROJECTS))[:MOST_FOLDERS]  # noqa: PTH208 - names
    except OSError:
        return found
    for folder in folders:
        try:
            names = os.listdir(home / _PROJECTS / folder)  # noqa: PTH208 - as above
        except OSError:
            continue
        for name in names:
            session = name.removesuffix(".jsonl")
            if name.endswith(".jsonl") and is_session_id(session):
                found.setdefault(SessionId(session), _PROJECTS / folder / name)
    return found


def _mark(root: Path, path: PurePosixPath) -> Mark | None:
    try:
        found = stat_inside(root, path)
    except OSError:
        return None
    return None if found is None else (found.st_ino, found.st_mtime_ns, found.st_size)


def _on(descriptor: int, side: int) -> Iterator[tuple[str, int, int, Spoken]]:
    latest, count = "", 0
    for line in _lines(descriptor):
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        message = spoken(record) if isinstance(record, dict) else None
        if message is not None:
            # Within a file its order counts, whatever the clock said.
            latest, count = max(latest, message.timestamp), count + 1
            yield latest, side, count, message


def _lines(descriptor: int) -> Iterator[bytes]:
    """The lines of a file up to its size now; one that is too long is left out."""
    at, size = 0, os.fstat(descriptor).st_size
    held: list[bytes] = []
    length = 0
    while at < size and (block := os.pread(descriptor, min(BLOCK, size - at), at)):
        at += len(block)
        first, *others = block.split(b"\n")
        length += len(first)
        held = [*held, first] if length <= LONGEST else []
        if not others:
            continue
        if length <= LONGEST:
            yield b"".join(held)
        yield from others[:-1]
        held, length = [others[-1]], len(others[-1])
    if held and length <= LONGEST:
        yield b"".join(held)
