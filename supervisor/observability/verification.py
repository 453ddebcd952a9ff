"""Checks an audit log from its first entry to its last, over all files, and tells what is wrong.

May be done while the log is written to and rotated. Without the key it is seen that the lines fit
one another and the head file; with it, also that nobody else made them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from supervisor.observability.audit_files import (
    Recorded,
    key_path,
    read_base,
    read_head,
    read_key,
)
from supervisor.observability.audit_lines import lines_of
from supervisor.observability.chain import GENESIS, BadLine, Fault, Head, Key, Link, parse

Signed = Literal["checked", "unchecked", "none"]


class BrokenChain(Exception):
    """A line doesn't fit the ones before it; `bad` says which, and why."""

    def __init__(self, bad: BadLine) -> None:
        super().__init__(f"line {bad.line}: {bad.why}")
        self.bad = bad


@dataclass(frozen=True, slots=True)
class Noted:
    """Damage that a supervisor found at its start: the entry that says so, and what it says."""

    n: int
    why: str


@dataclass(slots=True)
class Report:
    """What was found. Without a `bad` line the entries from `first` to `head` are whole.

    `torn` is the bytes of a half line at the end, which a crash leaves and the next start takes
    off. `unsigned` counts entries that the key at hand didn't sign: older than it.
    """

    entries: int = 0
    first: int = 0
    head: Head = field(default_factory=lambda: Head(0, GENESIS))
    files: dict[str, int] = field(default_factory=dict)
    bad: BadLine | None = None
    torn: int = 0
    noted: list[Noted] = field(default_factory=list)
    signed: Signed = "none"
    unsigned: int = 0

    @property
    def whole(self) -> bool:
        """Whether nothing is wrong, and nothing was at any start."""
        return self.bad is None and not self.noted


class Walk:
    """One way through a log. Iterated, it gives each entry's number and line once they are checked.

    Raises BrokenChain at the first line that doesn't fit. `alone`: the file is a part that was
    exported or moved away, and begins with whatever entry it has.
    """

    def __init__(
        self,
        path: Path,
        *,
        key: Key | None = None,
        anchor: Head | None = None,
        alone: bool = False,
    ) -> None:
        self.report = Report()
        self._path = path
        self._key = key
        self._anchor = anchor
        self._alone = alone
        self._recorded: Recorded | None = None
        self._known: Head | None = None
        self._base: Recorded | None = None
        self._before = Head(0, GENESIS)
        self._chain = Head(0, GENESIS)
        self._keyed = False
        self._place = self._last = (path, 0)
        self._last_signed = False

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        if not self._alone:
            self._look()
            self._base = read_base(self._path)
        lines = lines_of(self._path, alone=self._alone)
        for file, position, line in lines:
            self._place = (file, position)
            if not line.endswith(b"\n") and file == self._path:
                self.report.torn = len(line)
                break
            link = parse(line)
            if not self.report.entries:
                self._begin(link)
            if self._doubted(link) is not None:
                self._look()
                bad = self._doubted(link)
                if bad is not None:
                    raise BrokenChain(self._told(bad, link, lines))
            assert link is not None  # noqa: S101 - what is none is doubted
            self._accept(link, line)
            yield link.head.n, line
        self._end()

    def _begin(self, link: Link | None) -> None:
        """Where the chain begins: with its first entry, or behind what was moved away."""
        if link is None:
            return
        before = Head(link.head.n - 1, link.prev)
        if self._alone or (self._base is not None and before.n <= self._base.head.n):
            self._chain = self._before = before

    def _accept(self, link: Link, line: bytes) -> None:
        report, file = self.report, self._place[0].name
        report.entries += 1
        report.first = report.first or link.head.n
        report.files[file] = report.files.get(file, 0) + 1
        self._before, self._chain = self._chain, link.head
        report.head = link.head
        self._last = self._place
        self._last_signed = self._key is not None and link.key_name == self._key.name
        if self._last_signed:
            self._keyed = True
        else:
            report.unsigned += 1
        if b'"kind":"audit_damaged"' in line:
            entry = json.loads(line)
            if entry.get("kind") == "audit_damaged":
                report.noted.append(Noted(link.head.n, str((entry.get("body") or {}).get("why"))))
        if link.mac:
            report.signed = "checked" if self._key is not None else "unchecked"

    def _doubted(self, link: Link | None) -> tuple[Fault, str] | None:
        if link is None:
            return Fault.NOT_AN_ENTRY, "not an entry, or a torn one"
        here, expected = link.head, self._chain.n + 1
        known = self._known
        base = self._base.head if self._base is not None else None
        faults: tuple[tuple[bool, Fault, str], ...] = (
            (not link.sealed, Fault.EDITED, "changed: its hash is another"),
            (here.n != expected, Fault.MISSING, f"number {here.n} where {expected} belongs"),
            (
                link.prev != self._chain.hash,
                Fault.FORGED,
                "it does not follow the line before: one of the two was made anew",
            ),
            (not self._is_ours(link), Fault.FORGED, "changed: it isn't signed with the key"),
            (
                known is not None and here.n == known.n and here != known,
                Fault.HEAD,
                "the head file has another hash for it",
            ),
            (
                known is not None and here.n > known.n + 1,
                Fault.INSERTED,
                "it lies beyond what the head file knows",
            ),
            (
                base is not None
                and base.n in {here.n, here.n - 1}
                and base.hash != (here.hash if base.n == here.n else link.prev),
                Fault.HEAD,
                "the base file has another hash for the end of what was moved away",
            ),
            (
                self._anchor is not None and here.n == self._anchor.n and here != self._anchor,
                Fault.ANCHOR,
                "it isn't the entry that was noted down elsewhere",
            ),
        )
        return next(((kind, why) for wrong, kind, why in faults if wrong), None)

    def _look(self) -> None:
        """Read the head file; one that may not be believed counts for nothing until the end."""
        recorded = self._recorded = None if self._alone else read_head(self._path)
        believed = recorded is not None and self._may_be_believed(recorded, "head")
        self._known = recorded.head if recorded is not None and believed else None

    def _may_be_believed(self, recorded: Recorded, what: str) -> bool:
        return self._key is None or recorded.is_of(self._key, what)

    def _is_ours(self, link: Link) -> bool:
        """Whether the key signed it, or the entry is older than the key."""
        if self._key is None:
            return True
        if link.key_name == self._key.name:
            return self._key.signed(link.signed, link.mac)
        known = self._known
        return not self._keyed and (known is None or link.head.n <= known.n)

    def _told(
        self,
        bad: tuple[Fault, str],
        link: Link | None,
        rest: Iterator[tuple[Path, int, bytes]],
    ) -> BadLine:
        """The fault by its kind: what comes after it tells whether a line moved or came in."""
        (kind, why), (file, position) = bad, self._place
        expected = self._chain.n + 1
        if link is None or not link.sealed:
            return BadLine(position, why, kind, file.name, expected)
        here, before, chain = link.head, self._before, self._chain
        if kind is Fault.FORGED and link.prev != chain.hash and self._blames_the_last(link):
            file, position = self._last
            why = "changed: the signed line after it follows another"
            return BadLine(position, why, kind, file.name, chain.n)
        later = [parse(line) for _, _, line in rest]
        true = [each for each in later if each is not None and each.sealed and self._is_ours(each)]
        if here.n > expected:
            if any(each.head.n == expected and each.prev == chain.hash for each in true):
                why = f"{why}, which comes later: the order was changed"
                kind = Fault.REORDERED
            else:
                why = f"{why}: {_entries(expected, here.n - 1)} missing"
        elif here.n < expected:
            kind = Fault.INSERTED
            if (
                here.n == chain.n
                and here != chain
                and link.prev == before.hash
                and _goes_on(here, later)
            ):
                position -= 1
                why = f"it was put in: the chain goes on with another entry {here.n}"
            else:
                why = f"{why}: it was put in, or is there twice"
        elif kind is Fault.FORGED and any(
            each.head.n == here.n and each.prev == chain.hash for each in true
        ):
            kind, why = Fault.INSERTED, f"it was put in: another entry {here.n} follows"
        return BadLine(position, why, kind, file.name, expected)

    def _blames_the_last(self, link: Link) -> bool:
        """Whether the key signed this line, and not the one before it, which it doesn't follow."""
        signed = self._key is not None and self._key.signed(link.signed, link.mac)
        return signed and not self._last_signed and self.report.entries > 0

    def _end(self) -> None:
        """Look at the head file and the anchor, once all lines are known to fit."""
        report, (file, position) = self.report, self._place
        wrong = None if self._alone else self._amiss()
        anchor = self._anchor
        if wrong is None and anchor is not None and self._chain.n < anchor.n:
            wrong = Fault.TRUNCATED, f"entry {anchor.n}, noted down elsewhere, is missing"
        if wrong is not None:
            kind, why = wrong
            line = 1 if file != self._path else position
            if kind is Fault.TRUNCATED and file == self._path and not report.torn:
                line += 1
            raise BrokenChain(BadLine(max(line, 1), why, kind, self._path.name, self._chain.n + 1))
        if self._recorded is not None and self._recorded.mac:
            report.signed = "checked" if self._key is not None else "unchecked"

    def _amiss(self) -> tuple[Fault, str] | None:
        recorded, base = self._recorded, self._base
        if recorded is None:
            if not self.report.entries and self._key is None:
                return None
            return Fault.HEAD, "the head file is missing or can't be read"
        if not self._may_be_believed(recorded, "head"):
            return Fault.HEAD, "the head file isn't signed with the key"
        if base is not None and not self._may_be_believed(base, "base"):
            return Fault.HEAD, "the base file isn't signed with the key"
        if self._chain.n < recorded.head.n:
            missing = _entries(self._chain.n + 1, recorded.head.n)
            return Fault.TRUNCATED, f"{missing} missing at the end"
        return None


def verified(path: Path, key: Key | None = None) -> Iterator[tuple[int, bytes]]:
    """Each entry's number and line, over all files, once it is known to fit those before it.

    Raises BrokenChain at the first that was edited, moved, removed or added. The log may be one
    line ahead of the head file, as a kill can fall between the two writes; and it may grow while it
    is read.
    """
    yield from Walk(path, key=key or read_key(key_path(path)))


def examine(
    path: Path, *, key: Key | None = None, anchor: Head | None = None, alone: bool = False
) -> Report:
    """All that can be said of the log's state."""
    walk = Walk(path, key=key, anchor=anchor, alone=alone)
    try:
        for _ in walk:
            pass
    except BrokenChain as broken:
        walk.report.bad = broken.bad
    return walk.report


def verify(path: Path, key: Key | None = None) -> BadLine | None:
    """The first line that was edited, moved, removed or added; None if the chain is whole."""
    return examine(path, key=key or read_key(key_path(path))).bad


def _entries(first: int, last: int) -> str:
    return f"entry {last} is" if first == last else f"entries {first} to {last} are"


def _goes_on(head: Head, later: list[Link | None]) -> bool:
    """Whether the chain goes on behind this entry, or ends with it."""
    return not later or (later[0] is not None and later[0].prev == head.hash)
