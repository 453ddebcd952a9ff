"""The supervisor's copy of a session's transcript: append-only, one JSON object a line."""

import asyncio
import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from supervisor.storage.beneath import open_inside


class TranscriptFile:
    """Appends to `{session}.jsonl` in the vault, and to sub-agents' files below `{session}/`.

    A running agent's words only ever reach the end of these files: what stands there already can't
    be altered from inside a cage. No link on the way is followed: a vault may come from elsewhere.
    """

    def __init__(self, vault: Path, relative: PurePosixPath) -> None:
        self._vault = vault
        self._relative = relative

    async def append(self, entries: Iterable[Mapping[str, Any]], subagent: str | None) -> None:
        """Add entries; `subagent` is a validated relative name of a sub-agent's transcript.

        Raises OSError if the disk refuses, or a link is on the way.
        """
        target = self._relative
        if subagent is not None:
            target = target.with_suffix("") / f"{subagent}.jsonl"
        data = b"".join(orjson.dumps(entry) + b"\n" for entry in entries)
        await asyncio.to_thread(_append, self._vault, target, data)


def _append(vault: Path, target: PurePosixPath, data: bytes) -> None:
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    with open(open_inside(vault, target, flags, make_folders=True), "ab") as file:  # noqa: PTH123
        size = os.fstat(file.fileno()).st_size
        if size and os.pread(file.fileno(), 1, size - 1) != b"\n":
            # A torn last line of a crash stays one bad line instead of spoiling the next.
            file.write(b"\n")
        file.write(data)
