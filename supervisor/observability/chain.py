"""Lines that are each sealed with the hash of the one before: how they are made and checked.

A line is `{"n":…,"ts":…,"kind":…,"session_id":…,"turn_id":…,"body":…,"prev":…,"hash":…}`; its hash
is SHA-256 over the same line without the `hash` member, byte for byte. A head file `{name}.head`
beside the log has the last `n` and `hash`, so that lines missing at the end show as well.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from supervisor.storage import json_line

GENESIS = "0" * 64
"""What the first line gives as the hash of the one before."""

_SEAL = b',"hash":"%b"}\n'
_SEAL_LENGTH = len(_SEAL) - len(b"%b") + len(GENESIS)


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain: number and hash of its last line; 0 and GENESIS while it is empty."""

    n: int
    hash: str


@dataclass(frozen=True, slots=True)
class BadLine:
    """The first line, counted from 1, that doesn't fit, and why."""

    line: int
    why: str


@dataclass(frozen=True, slots=True)
class Link:
    """What a line says of its place in the chain; `sealed` is whether its own hash is right."""

    head: Head
    prev: str
    sealed: bool


def seal(head: Head, fields: Mapping[str, Any]) -> tuple[bytes, Head]:
    """The next line after `head`, and the head that it makes."""
    n = head.n + 1
    unsealed = json_line.dump({"n": n, **fields, "prev": head.hash})
    digest = hashlib.sha256(unsealed).hexdigest()
    return unsealed[:-1] + _SEAL % digest.encode(), Head(n, digest)


def parse(line: bytes) -> Link | None:
    """What the line says of its place, or None if it isn't one of a chain."""
    body, tail = line[:-_SEAL_LENGTH] + b"}", line[-_SEAL_LENGTH:]
    digest = hashlib.sha256(body).hexdigest()
    try:
        entry = json.loads(line)
        claimed = str(entry["hash"])
        if tail != _SEAL % claimed.encode("ascii"):
            return None
        return Link(Head(int(entry["n"]), claimed), str(entry["prev"]), sealed=digest == claimed)
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def head_path(path: Path) -> Path:
    """The head file of a log."""
    return path.with_name(path.name + ".head")


def read_head(path: Path) -> Head | None:
    """The recorded end of the chain, or None where there is none that can be read."""
    try:
        recorded = json.loads(head_path(path).read_bytes())
        return Head(int(recorded["n"]), str(recorded["hash"]))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_head(path: Path, head: Head, *, fsync: bool) -> None:
    """Record the end of the chain, whole or not at all."""
    target = head_path(path)
    fresh = target.with_name(target.name + ".new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    descriptor = os.open(fresh, flags, 0o600)
    try:
        os.write(descriptor, json_line.dump(asdict(head)) + b"\n")
        if fsync:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
    fresh.replace(target)


class BrokenChain(Exception):
    """A line doesn't fit the ones before it; `bad` says which, and why."""

    def __init__(self, bad: BadLine) -> None:
        super().__init__(f"line {bad.line}: {bad.why}")
        self.bad = bad


def verified(path: Path) -> Iterator[tuple[int, bytes]]:
    """Each line with its position, counted from 1, once it is known to fit those before it.

    Raises BrokenChain at the first that was edited, moved, removed or added. The log may be one
    line ahead of the head file, as a kill can fall between the two writes; and it may grow while it
    is read.
    """
    recorded, chain, position = read_head(path), Head(0, GENESIS), 0
    if path.exists():
        with path.open("rb") as lines:
            for position, line in enumerate(lines, 1):
                link = parse(line)
                why = _mismatch(link, chain, recorded)
                if why is not None:
                    recorded = read_head(path)
                    why = _mismatch(link, chain, recorded)
                if why is not None or link is None:
                    raise BrokenChain(BadLine(position, why or "not an entry"))
                chain = link.head
                yield position, line
    if recorded is None and position:
        raise BrokenChain(BadLine(position, "the head file is missing or can't be read"))
    if recorded is not None and chain.n < recorded.n:
        missing = f"lines {chain.n + 1} to {recorded.n} are missing at the end"
        raise BrokenChain(BadLine(position + 1, missing))


def verify(path: Path) -> BadLine | None:
    """The first line that was edited, moved, removed or added; None if the chain is whole."""
    try:
        for _ in verified(path):
            pass
    except BrokenChain as broken:
        return broken.bad
    return None


def _mismatch(link: Link | None, chain: Head, recorded: Head | None) -> str | None:
    if link is None:
        return "not an entry, or a torn one"
    here, known = link.head, recorded or link.head
    faults = (
        (not link.sealed, "changed: its hash is another"),
        (here.n != chain.n + 1, f"number {here.n} where {chain.n + 1} belongs"),
        (link.prev != chain.hash, "it does not follow the line before"),
        (here.n == known.n and here != known, "the head file has another hash for it"),
        (here.n > known.n + 1, "it lies beyond what the head file knows"),
    )
    return next((why for wrong, why in faults if wrong), None)
