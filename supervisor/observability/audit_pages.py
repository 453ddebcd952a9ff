"""Reads an audit log backwards, a page at a time, whatever its size. Nothing is checked here."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Final

from supervisor.observability.audit_files import segments
from supervisor.storage.timestamp import from_text

LARGEST_READ: Final = 16 << 20
"""Bytes that are read for one page; a page of a rare kind may be short, and goes on by `next`."""

_BLOCK: Final = 64 << 10
_NUMBER: Final = re.compile(rb'\{"n":(\d{1,18}),')
_SLACK: Final = timedelta(days=1)
"""How far a clock may have been set back; entries older than that aren't looked behind."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which entries: None lets all through. `rule` is that of a decision, or what it first said.

    `session_beginning`: of sessions whose id begins so.
    """

    kind: str | None = None
    session_id: str | None = None
    turn_id: str | None = None
    rule: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    session_beginning: str | None = None

    def holds(self, entry: dict[str, Any]) -> bool:
        """Whether the entry is one of these."""
        body = entry.get("body")
        rules = {body.get("rule"), body.get("saidRule")} if isinstance(body, dict) else set()
        return (
            self.kind in (None, entry.get("kind"))
            and self.session_id in (None, entry.get("session_id"))
            and _begins(entry.get("session_id"), self.session_beginning)
            and self.turn_id in (None, entry.get("turn_id"))
            and (self.rule is None or self.rule in rules)
            and (self.since is None or self.since <= moment(entry))
            and (self.until is None or moment(entry) < self.until)
        )

    def is_over(self, entry: dict[str, Any]) -> bool:
        """Whether nothing before this entry can be one of these."""
        return self.since is not None and moment(entry) < self.since - _SLACK


def _begins(session_id: object, said: str | None) -> bool:
    return said is None or (isinstance(session_id, str) and session_id.startswith(said))


@dataclass(slots=True)
class Page:
    """Entries, the last first. `next` is the `before` of the following page; None: that was all.

    `damaged` counts lines that aren't entries.
    """

    entries: list[dict[str, Any]] = field(default_factory=list)
    next: int | None = None
    damaged: int = 0


def moment(entry: dict[str, Any]) -> datetime:
    """When the entry was made; the beginning of time if it doesn't say so."""
    try:
        return from_text(str(entry.get("ts")))
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)


def page_before(path: Path, wanted: Wanted, *, before: int | None, limit: int) -> Page:
    """The latest `limit` entries with a number below `before`. Raises OSError."""
    page, read, last = Page(), 0, before
    for line in _backwards(path, before):
        read += len(line)
        try:
            entry = json.loads(line)
            number = int(entry["n"])
        except (ValueError, TypeError, KeyError, RecursionError):
            page.damaged += 1
            continue
        if before is not None and number >= before:
            continue
        if wanted.is_over(entry):
            return page
        if len(page.entries) == limit or read > LARGEST_READ:
            page.next = last
            return page
        last = number
        if wanted.holds(entry):
            page.entries.append(entry)
    return page


def _backwards(path: Path, before: int | None) -> Iterator[bytes]:
    """The lines of all files, the last first, from about the entry `before` on."""
    with ExitStack() as opened:
        # Opened before the others are listed: what is rotated meanwhile is read once, not never.
        files = [_opened(path, opened)]
        files += (
            _opened(segment.path, opened)
            for segment in reversed(segments(path)[:-1])
            if before is None or segment.first < before
        )
        done: set[int] = set()
        for file in filter(None, files):
            about = os.fstat(file.fileno())
            if about.st_ino not in done:
                done.add(about.st_ino)
                size = about.st_size
                end = size if before is None else _end_before(file, size, before)
                yield from _lines_backwards(file, end)


def _opened(path: Path, stack: ExitStack) -> BinaryIO | None:
    try:
        return stack.enter_context(path.open("rb"))
    except FileNotFoundError:
        return None


def _end_before(file: BinaryIO, size: int, before: int) -> int:
    """A place behind the entry before `before`, and not far behind: by halving, as they ascend."""
    low, high = 0, size
    while high - low > _BLOCK:
        middle = (low + high) // 2
        file.seek(middle)
        file.readline()
        start = file.tell()
        line = file.readline()
        found = _NUMBER.match(line)
        if start >= high or found is None or int(found[1]) >= before:
            high = middle
        else:
            low = start
    file.seek(high)
    file.readline()
    return file.tell()


def _lines_backwards(file: BinaryIO, end: int) -> Iterator[bytes]:
    """The whole lines up to `end`, the last first; a half one at the end is left out."""
    rest = b""
    position, is_last = end, True
    while position > 0:
        start = max(0, position - _BLOCK)
        file.seek(start)
        block = file.read(position - start) + rest
        position = start
        rest, *lines = block.split(b"\n")
        if is_last and lines:
            is_last = False
            lines.pop()
        yield from (line for line in reversed(lines) if line)
    if rest and not is_last:
        yield rest
