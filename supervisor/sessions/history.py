"""What was said in a session, page by page from the end: both sides' transcripts as one.

A sandboxed turn writes into a transcript of its own (`memory.py` says why), and what the session
brought along lies in a third file (`brought.py`); here they are merged by time. Reading changes
nothing, and a damaged line costs that line.
"""

import heapq
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from supervisor.errors import InvalidRequest
from supervisor.ids import SessionId
from supervisor.sessions.memory import transcript_for
from supervisor.sessions.records_back import records_back
from supervisor.sessions.spoken import Spoken, are_one, spoken, whole
from supervisor.sessions.transcripts import brought_beside
from supervisor.storage.beneath import kept_open
from supervisor.trust.levels import TrustLevel

MOST_MESSAGES: Final = 500
"""Messages of a page."""
LARGEST_PAGE: Final = 8 * 1024 * 1024
"""Bytes of the records of a page, the first one aside. A message that is longer, as a sandbox may
make one, is begun in the page before."""
MOST_FOLDERS: Final = 10_000
"""Folders that are looked through for a transcript outside of the vault."""
_CURSOR: Final = re.compile(r"(\d{1,15}|e)\.(\d{1,15}|e)\.(\d{1,15}|e)\Z")
_END: Final = "e"
TORN: Final = "torn_last_line"
UNREADABLE: Final = "unreadable_lines"


@dataclass(frozen=True, slots=True)
class Page:
    """Messages in the order of time. `before` is the cursor of the page before, None at the start.

    `notes` say what couldn't be read, by code.
    """

    messages: tuple[Spoken, ...] = ()
    before: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Side:
    """One transcript on the way backwards: `at` is where the last record that was taken begins."""

    at: int | None
    torn: bool = False
    unreadable: int = 0
    ended: bool = False


@dataclass(order=True, slots=True)
class _Found:
    key: tuple[str, int]
    side: int = field(compare=False)
    start: int = field(compare=False)
    size: int = field(compare=False)
    message: Spoken = field(compare=False)


def read_history(  # noqa: PLR0913  (where it lies, and which page)
    vault: Path,
    pointer: PurePosixPath,
    session_id: SessionId,
    *,
    limit: int = 100,
    before: str | None = None,
    home: Path | None = None,
) -> Page:
    """The last `limit` messages before a cursor. Blocks. Raises InvalidRequest for a bad cursor.

    Fewer where they are large: it is `before` that tells whether there are more.

    Where the vault has no transcript, the one of `home` (`~/.claude`) is read, if there is one.
    """
    sides = [_Side(at) for at in _starts(before)]
    with ExitStack() as stack:
        files = [
            kept_open(stack, vault, path)
            for path in (
                transcript_for(pointer, TrustLevel.VAULT),
                transcript_for(pointer, TrustLevel.SANDBOXED),
                brought_beside(pointer),
            )
        ]
        if files == [None, None, None] and home is not None:
            files[0] = _at_home(stack, home, session_id)
        ways = [
            _back(descriptor, side, index)
            for index, (descriptor, side) in enumerate(zip(files, sides, strict=True))
            if descriptor is not None
        ]
        # A message more than is asked for tells whether there is a page before.
        taken: list[list[Spoken]] = []
        size = 0
        for found in heapq.merge(*ways, reverse=True):
            goes_on = bool(taken) and are_one(taken[-1][-1], found.message)
            size += found.size
            is_full = len(taken) == limit and not goes_on
            if is_full or (taken and size > LARGEST_PAGE):
                return Page(_messages(taken), _cursor(sides), _notes(sides))
            if goes_on:
                taken[-1].append(found.message)
            else:
                taken.append([found.message])
            sides[found.side].at = found.start
    return Page(_messages(taken), None, _notes(sides))


def _messages(taken: list[list[Spoken]]) -> tuple[Spoken, ...]:
    return tuple(whole(parts) for parts in reversed(taken))


def _back(descriptor: int, side: _Side, index: int) -> Iterator[_Found]:
    later = "9999"
    for line in records_back(descriptor, side.at):
        if line.record is None:
            side.torn = side.torn or line.torn
            side.unreadable += not line.torn
            continue
        message = spoken(line.record)
        if message is not None:
            # Within a file its order counts, whatever the clock said.
            later = min(message.timestamp or later, later)
            yield _Found((later, line.start), index, line.start, line.size, message)


def _at_home(stack: ExitStack, home: Path, session_id: SessionId) -> int | None:
    projects = home / ".claude" / "projects"
    try:
        folders = sorted(os.listdir(projects))[:MOST_FOLDERS]  # noqa: PTH208  (names, in bulk)
    except OSError:
        return None
    for folder in folders:
        found = kept_open(stack, projects, PurePosixPath(folder) / f"{session_id}.jsonl")
        if found is not None:
            return found
    return None


def _starts(before: str | None) -> list[int | None]:
    if before is None:
        return [None, None, None]
    found = _CURSOR.match(before)
    if found is None:
        raise InvalidRequest(
            "this is no cursor", where="before", remedy="take `before` from the page that you have"
        )
    return [None if each == _END else int(each) for each in found.groups()]


def _cursor(sides: list[_Side]) -> str:
    return ".".join(_END if side.at is None else str(side.at) for side in sides)


def _notes(sides: list[_Side]) -> tuple[str, ...]:
    notes = [TORN] if any(side.torn for side in sides) else []
    return (*notes, *([UNREADABLE] if any(side.unreadable for side in sides) else []))
