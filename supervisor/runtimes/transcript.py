"""The supervisor's copy of a session's transcript: append-only, one JSON object a line."""

import asyncio
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson


class TranscriptFile:
    """Appends to `{folder}/{session}.jsonl`, and to sub-agents' files below `{folder}/{session}/`.

    A running agent's words only ever reach the end of these files: what stands there already can't
    be altered from inside a cage.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def exists(self) -> bool:
        """Whether an earlier turn left something to take up."""
        try:
            return self.path.stat().st_size > 0
        except FileNotFoundError:
            return False

    async def append(self, entries: Iterable[Mapping[str, Any]], subagent: str | None) -> None:
        """Add entries; `subagent` is a validated relative name of a sub-agent's transcript.

        Raises OSError if the disk refuses.
        """
        target = self.path if subagent is None else self.path.with_suffix("") / f"{subagent}.jsonl"
        data = b"".join(orjson.dumps(entry) + b"\n" for entry in entries)
        await asyncio.to_thread(_append, target, data)


def _append(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(target, flags, 0o600), "ab") as file:  # noqa: PTH123  (a descriptor)
        if os.fstat(file.fileno()).st_size and not _ends_with_newline(target):
            # A torn last line of a crash stays one bad line instead of spoiling the next.
            file.write(b"\n")
        file.write(data)


def _ends_with_newline(target: Path) -> bool:
    with target.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
