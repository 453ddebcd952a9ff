"""A world with an audit log of several files, and one who can write all of them but not sign."""

import asyncio
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from supervisor.observability.audit import AuditLog, Rotation
from supervisor.observability.audit_files import head_path, key_path, read_key, segments
from supervisor.observability.chain import GENESIS, Head, Key, seal
from supervisor.observability.verification import Report, examine

NAME = "audit.jsonl"


def entries_in(
    data: Path, kind: str, session: str | None = None, turn: str | None = None
) -> list[dict[str, Any]]:
    """The bodies of a log's entries of a kind (of that session, that turn), the oldest first."""
    whole, _, _ = (data / NAME).read_text().rpartition("\n")  # behind it: what is being written
    return [
        entry["body"]
        for entry in map(json.loads, whole.splitlines())
        if entry["kind"] == kind
        and session in (None, entry["session_id"])
        and turn in (None, entry["turn_id"])
    ]


@dataclass(frozen=True)
class LogCopy:
    """A log's files in a folder of their own, to be tampered with."""

    path: Path

    @property
    def files(self) -> list[Path]:
        """Those with entries, in their order."""
        return [each.path for each in segments(self.path) if each.path.exists()]

    def key(self) -> Key:
        key = read_key(key_path(self.path))
        assert key is not None
        return key

    def lines(self, file: int) -> list[bytes]:
        return self.files[file].read_bytes().splitlines(keepends=True)

    def put(self, file: int, lines: Sequence[bytes]) -> None:
        self.files[file].write_bytes(b"".join(lines))

    def examine(self, *, anchor: Head | None = None, signed: bool = True) -> Report:
        """What is found with the key, or by one who looks at hashes only."""
        return examine(self.path, key=self.key() if signed else None, anchor=anchor)

    def make_anew(self, entries: Sequence[dict[str, Any]], key: Key | None = None) -> None:
        """One file with these entries, chained from the first, and a head that fits them."""
        head, made = Head(0, GENESIS), []
        for entry in entries:
            said = {each: entry[each] for each in ("ts", "kind", "session_id", "turn_id", "body")}
            line, head = seal(head, said, key)
            made.append(line)
        for file in self.files:
            file.unlink()
        self.path.write_bytes(b"".join(made))
        head_path(self.path).write_text(json.dumps({"n": head.n, "hash": head.hash, "mac": "x"}))

    def entries(self) -> list[dict[str, Any]]:
        return [json.loads(line) for at in range(len(self.files)) for line in self.lines(at)]


def forged(before: Head, **body: Any) -> bytes:
    """A line that fits behind `before`, by one who has no key."""
    said = {"ts": "2026-03-01T10:00:00.000000+00:00", "kind": "grant"}
    return seal(before, {**said, "session_id": None, "turn_id": None, "body": body})[0]


def head_of(line: bytes) -> Head:
    entry = json.loads(line)
    return Head(entry["n"], entry["hash"])


def written(folder: Path, *, count: int = 20, most_bytes: int = 2_000) -> LogCopy:
    """A log of `count` entries besides those about its rotation, over several files."""
    path = folder / NAME

    async def write() -> None:
        async with AuditLog(path, rotation=Rotation(most_bytes)) as log:
            for number in range(count):
                await log.append("decision", "s", f"turn_{number}", {"number": number})

    asyncio.run(write())
    return LogCopy(path)


def copied(log: LogCopy, folder: Path) -> LogCopy:
    """The same log once more; what was in the folder is gone."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(log.path.parent, folder)
    return LogCopy(folder / NAME)
