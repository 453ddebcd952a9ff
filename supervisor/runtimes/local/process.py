"""A CLI as a child process in a process group of its own; ended together with all it started."""

import asyncio
import contextlib
import errno
import os
import signal
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from supervisor.errors import AgentProcessFailed, TurnFailed
from supervisor.runtimes.display import last_line
from supervisor.runtimes.local.system import interpreter

KEEPER: Final = str(Path(__file__).with_name("keeper.py"))

_CHUNK: Final = 64 * 1024
_STDERR_TAIL: Final = 16 * 1024
_GRACE_SECONDS: Final = 2.0
_EXIT_SECONDS: Final = 5.0


class ProcessChannel:
    """A child's standard streams as a channel. Standard error is drained into a short tail."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._stderr_tail = b""
        self.stderr_bytes = 0
        """How much it has written to its standard error."""

    @property
    def pid(self) -> int:
        """The child's number."""
        return self._process.pid

    async def first_line(self) -> bytes:
        """Its output's first line, before `chunks` is begun; empty if there is none.

        Raises ValueError if it is longer than the limit it was started with.
        """
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101  (started with a pipe)
        return await stdout.readline()

    async def chunks(self) -> AsyncIterator[bytes]:
        """Its output, until it closes."""
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101  (started with a pipe)
        while chunk := await stdout.read(_CHUNK):
            yield chunk

    async def write(self, data: bytes) -> None:
        """Send to its input."""
        stdin = self._process.stdin
        assert stdin is not None  # noqa: S101  (started with a pipe)
        if stdin.is_closing():
            raise AgentProcessFailed(
                "the agent process takes no more input", remedy="send the message again"
            )
        try:
            stdin.write(data)
            await stdin.drain()
        except (BrokenPipeError, ConnectionResetError) as error:
            raise AgentProcessFailed(
                "the agent process closed its input", remedy="send the message again"
            ) from error

    async def close_input(self) -> None:
        """Close its input."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def cause_of_death(self) -> TurnFailed | None:
        """Why it ended, from its exit status and the last thing it complained about."""
        try:
            async with asyncio.timeout(_EXIT_SECONDS):
                status = await self._process.wait()
        except TimeoutError:
            return AgentProcessFailed(
                "the agent process closed its output and runs on", remedy="send the message again"
            )
        if status == 0:
            return None
        if status < 0:
            name = signal.Signals(-status).name
            what = f"the agent process was ended from outside by {name}"
        else:
            what = f"the agent process ended with status {status}"
        complaint = last_line(self._stderr_tail)
        return AgentProcessFailed(
            f"{what}: {complaint}" if complaint else what, remedy="send the message again"
        )

    async def drain_stderr(self) -> None:
        """Keep standard error from filling up; ends with the process."""
        stderr = self._process.stderr
        assert stderr is not None  # noqa: S101  (started with a pipe)
        while chunk := await stderr.read(_CHUNK):
            self.stderr_bytes += len(chunk)
            self._stderr_tail = (self._stderr_tail + chunk)[-_STDERR_TAIL:]


@asynccontextmanager
async def local_process(  # noqa: PLR0913  (how it is started)
    command: Sequence[str],
    environment: Mapping[str, str],
    cwd: PurePosixPath,
    *,
    pass_fds: Collection[int] = (),
    line_bytes: int = _CHUNK,
    keep: bool = False,
) -> AsyncIterator[ProcessChannel]:
    """Start a child in its own session; leaving the block ends its whole process group.

    `pass_fds` are descriptors that it gets under the same numbers. `keep`: what it starts and lets
    go of is ended as well, whatever became of it (`keeper.py`). Raises AgentProcessFailed if it
    can't be started.
    """
    try:
        command = _kept(command) if keep else command
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=dict(environment),
            cwd=str(cwd),
            start_new_session=True,
            pass_fds=tuple(pass_fds),
            limit=line_bytes,
        )
    except OSError as error:
        raise AgentProcessFailed(
            f"the agent process can't be started: {error.strerror}",
            where=error.filename,
            remedy="run: trustfloor doctor",
        ) from error
    channel = ProcessChannel(process)
    draining = asyncio.create_task(channel.drain_stderr())
    try:
        yield channel
    finally:
        await _end(process, by=signal.SIGTERM if keep else signal.SIGKILL)
        draining.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await draining


def _kept(command: Sequence[str]) -> list[str]:
    """The command under a keeper. Raises OSError for a program that can't be started."""
    if not os.access(command[0], os.X_OK):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    return [interpreter(), "-I", "-S", KEEPER, str(os.getpid()), *command]


async def _end(process: asyncio.subprocess.Process, by: signal.Signals) -> None:
    """Give it a moment to leave by itself, then end its process group; every wait is bounded.

    `by` the word that a keeper needs to end the others first, or at once.
    """
    if process.stdin is not None:
        process.stdin.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_GRACE_SECONDS):
            await process.wait()
    if by is not signal.SIGKILL and process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(by)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_EXIT_SECONDS):
                await process.wait()
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_EXIT_SECONDS):
            await process.wait()
