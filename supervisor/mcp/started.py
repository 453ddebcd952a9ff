"""A server that is started here for a moment: bounded in what it says, and ended for certain."""

import asyncio
import contextlib
import json
import math
import os
import re
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from supervisor.ids import TurnId, new_turn_id
from supervisor.mcp.dialogue import LONGEST_TEXT, ServerFailed, plain

LONGEST_LINE: Final = 1024 * 1024
"""Bytes of one message."""
MOST_BYTES: Final = 16 * 1024 * 1024
"""Bytes that a server says in all."""

MOST_VALUES: Final = 65_536
"""Of one message, by its brackets and commas: three bytes of JSON can become seventy of memory."""

_LONE_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_CHUNK: Final = 64 * 1024
_TAIL: Final = 4 * 1024
_EXIT_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Bench:
    """Where servers are started for trial: with what environment, and how they are found again.

    `marks` is what a process and all it starts carry, `end` ends everything that carries it
    (blocks); `living` are the marks that are in use.
    """

    folder: Path
    environment: Mapping[str, str]
    marks: Callable[[TurnId], Mapping[str, str]]
    end: Callable[[TurnId], object]
    living: set[TurnId] = field(default_factory=set)


class StartedServer:
    """A server that speaks over its standard streams."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._bytes = 0
        self._tail = b""

    @property
    def complaint(self) -> str:
        """The last that it wrote to its standard error."""
        lines = self._tail.decode("utf-8", "replace").splitlines()
        return plain(next((line for line in reversed(lines) if line.strip()), ""), LONGEST_TEXT)

    async def send(self, message: Mapping[str, Any]) -> None:
        """Write one line."""
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101  (started with a pipe)
        try:
            stdin.write(json.dumps(message).encode() + b"\n")
            await stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise await self._ended() from None

    async def receive(self) -> Mapping[str, Any]:
        """Read lines up to one that is a message."""
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101  (started with a pipe)
        while self._bytes < MOST_BYTES:
            try:
                line = await stdout.readline()
            except ValueError:
                raise ServerFailed(f"it wrote a line of more than {LONGEST_LINE} bytes") from None
            if not line:
                raise await self._ended()
            self._bytes += len(line)
            message = parsed(line)
            if message is not None:
                return message
        raise ServerFailed(f"it wrote more than {MOST_BYTES} bytes")

    def agreed(self, version: str) -> None:
        """Nothing depends on it here."""

    async def drain(self) -> None:
        """Keep its standard error from filling up."""
        stderr = self._process.stderr
        assert stderr is not None  # noqa: S101  (started with a pipe)
        while chunk := await stderr.read(_CHUNK):
            self._tail = (self._tail + chunk)[-_TAIL:]

    async def _ended(self) -> ServerFailed:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_SECONDS):
                status = await self._process.wait()
                how = f"with status {status}" if status >= 0 else f"by signal {-status}"
                return ServerFailed(f"it ended {how} before it answered")
        return ServerFailed("it closed its output before it answered")


def parsed(line: bytes) -> Mapping[str, Any] | None:
    """A message; None for a line that is none, that is too large in memory, or nested too deeply.

    What it holds can be written as JSON in UTF-8 again: no infinite number, no half of a character.
    """
    if sum(map(line.count, (b",", b"[", b"{"))) > MOST_VALUES:
        return None
    text = line.decode("utf-8", "replace")
    try:
        found = _loaded(text)
        if "\\u" in text:
            whole = json.dumps(found, ensure_ascii=False)
            found = _loaded(_LONE_SURROGATES.sub("\N{REPLACEMENT CHARACTER}", whole))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _loaded(text: str) -> Any:
    return json.loads(text, parse_float=_finite, parse_int=_whole, parse_constant=_finite)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("no number of JSON's")
    return number


def _whole(text: str) -> int:
    _finite(text)
    return int(text)


@asynccontextmanager
async def started(given: Mapping[str, Any], bench: Bench) -> AsyncIterator[StartedServer]:
    """Start a server; leaving the block ends it and all that it started. Raises ServerFailed."""
    mark = new_turn_id()
    environment = {**bench.environment, **given["env"], **bench.marks(mark)}
    bench.living.add(mark)
    try:
        try:
            process = await asyncio.create_subprocess_exec(
                given["command"],
                *given["args"],
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=environment,
                cwd=bench.folder,
                start_new_session=True,
                limit=LONGEST_LINE,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "its command can't be run"
            raise ServerFailed(f"it can't be started: {why}") from None
        except asyncio.CancelledError:  # it may have been started all the same
            bench.living.discard(mark)
            await asyncio.to_thread(bench.end, mark)
            raise
        server = StartedServer(process)
        draining = asyncio.create_task(server.drain())
        try:
            yield server
        finally:
            if process.stdin is not None:
                process.stdin.close()
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            # What left the process group carries the mark.
            bench.living.discard(mark)
            await asyncio.to_thread(bench.end, mark)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_EXIT_SECONDS):
                    await process.wait()
            draining.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await draining
    finally:
        bench.living.discard(mark)
