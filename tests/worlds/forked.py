"""Processes of `trustfloor` as `asyncio.create_subprocess_exec` gives them, but begun at once.

Each worker has one process that has loaded everything (`forking.py`); what is asked for here is
forked from it. Where the start itself is looked at (who it runs as, what it was given, what is
hidden from its environment), a test starts `python -m supervisor` instead.
"""

import asyncio
import atexit
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import IO, Final

from tests.worlds.waiting import A_WHILE

ROOT: Final = Path(__file__).parents[2]
PIPE: Final = subprocess.PIPE
STDOUT: Final = subprocess.STDOUT
DEVNULL: Final = subprocess.DEVNULL


class Typing:
    """The other end of a process's input; the part of `asyncio.StreamWriter` that tests need."""

    def __init__(self, descriptor: int) -> None:
        self._file = os.fdopen(descriptor, "wb", buffering=0)

    def write(self, data: bytes) -> None:
        """Type it: a few lines, for which a pipe has room."""
        self._file.write(data)

    def close(self) -> None:
        """Type no more."""
        self._file.close()


class Forked:
    """A process that was forked; the part of `asyncio.subprocess.Process` that tests need."""

    def __init__(
        self,
        pid: int,
        end: asyncio.StreamReader,
        stdin: Typing | None,
        stdout: asyncio.StreamReader | None,
        stderr: asyncio.StreamReader | None,
    ) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        try:
            self._held: int | None = os.pidfd_open(pid)
        except ProcessLookupError:  # it has ended already, which `end` tells of
            self._held = None
        self._ending = asyncio.create_task(self._ended(end))

    async def _ended(self, end: asyncio.StreamReader) -> int:
        try:
            self.returncode = int(await end.readline())
        finally:
            if self._held is not None:
                os.close(self._held)
            if self.stdin is not None:
                self.stdin.close()
        await end.read()
        return self.returncode

    async def wait(self) -> int:
        """Wait for its end; the exit status, a signal's number negated."""
        return await asyncio.shield(self._ending)

    async def communicate(self) -> tuple[bytes, bytes]:
        """All that it says, up to its end."""
        said = await asyncio.gather(
            *(each.read() if each else _nothing() for each in (self.stdout, self.stderr))
        )
        await self.wait()
        return said[0], said[1]

    def send_signal(self, which: int) -> None:
        """Send it a signal. Raises ProcessLookupError if it has ended."""
        if self.returncode is not None or self._held is None:
            raise ProcessLookupError
        signal.pidfd_send_signal(self._held, which)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        with contextlib.suppress(ProcessLookupError):
            self.send_signal(signal.SIGKILL)


async def end_of(process: Forked) -> tuple[int, str, str]:
    """Wait for the end of a process that must end by itself; its status, and all that it said."""
    try:
        async with asyncio.timeout(A_WHILE):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def _nothing() -> bytes:
    return b""


async def trustfloor(
    *arguments: str,
    env: Mapping[str, str],
    stdin: int = DEVNULL,
    stdout: int | IO[bytes] = PIPE,
    stderr: int | IO[bytes] | None = None,
) -> Forked:
    """Start `trustfloor` with these arguments and exactly this environment.

    `stdout` and `stderr` are as for a subprocess; None: our own. `stdin` is a pipe or nothing.
    """
    async with contextlib.AsyncExitStack() as given:
        read, typing = os.pipe() if stdin == PIPE else (os.open(os.devnull, os.O_RDONLY), None)
        given.callback(os.close, read)
        heard, told = await _pipe(given)
        said, out = await _stream(given, stdout)
        complained, err = (None, out) if stderr == STDOUT else await _stream(given, stderr)
        asked = {"arguments": arguments, "environment": dict(env), "folder": str(Path.cwd())}
        socket.send_fds(_forking(), [json.dumps(asked).encode()], [read, out, err, told])
    async with asyncio.timeout(A_WHILE):
        pid = int(await heard.readline())
    return Forked(pid, heard, None if typing is None else Typing(typing), said, complained)


async def _stream(
    given: contextlib.AsyncExitStack, wanted: int | IO[bytes] | None
) -> tuple[asyncio.StreamReader | None, int]:
    if wanted == PIPE:
        return await _pipe(given)
    if wanted is None:
        return None, 2
    assert not isinstance(wanted, int)
    return None, wanted.fileno()


async def _pipe(given: contextlib.AsyncExitStack) -> tuple[asyncio.StreamReader, int]:
    """A pipe: its end for us, and the other's, which we keep only until it has been given away."""
    ours, theirs = os.pipe()
    given.callback(os.close, theirs)
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours, "rb", buffering=0)
    )
    return reader, theirs


@cache
def _forking() -> socket.socket:
    """The one that forks for this worker; it ends with the worker."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.worlds.forking", str(theirs.fileno())],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours
