"""A pseudo terminal with one of our commands on its other side, as a person sits before it."""

import asyncio
import contextlib
import fcntl
import os
import pty
import sys
import termios
from collections.abc import AsyncIterator

from tests.worlds.api import TOKEN, ApiWorld
from tests.worlds.server import environment
from tests.worlds.waiting import A_WHILE


class Terminal:
    """What the command shows, and the keys that are typed to it."""

    def __init__(self, process: asyncio.subprocess.Process, descriptor: int) -> None:
        self.process = process
        self.whole = ""
        self._descriptor = descriptor
        self._bytes = b""
        self._from = 0
        self._arrived = asyncio.Event()

    def read(self) -> None:
        """Take in what it has shown."""
        with contextlib.suppress(OSError):  # the other side has closed
            self._bytes += os.read(self._descriptor, 65_536)
        self.whole = self._bytes.decode(errors="ignore")
        self._arrived.set()

    def type(self, keys: str | bytes) -> None:
        """Type these keys."""
        os.write(self._descriptor, keys.encode() if isinstance(keys, str) else keys)

    async def until(self, words: str) -> None:
        """Wait until these words are shown, after what was waited for before."""
        async with asyncio.timeout(A_WHILE):
            while (at := self.whole.find(words, self._from)) < 0:
                self._arrived.clear()
                await self._arrived.wait()
        self._from = at + len(words)

    async def until_all(self, *words: str) -> None:
        """The same for several, in whatever order: answers come beside what is asked next."""
        begin, end = self._from, self._from
        for each in words:
            self._from = begin
            await self.until(each)
            end = max(end, self._from)
        self._from = end

    async def ended(self) -> int:
        """Wait for the command's end; its exit status."""
        async with asyncio.timeout(A_WHILE):
            return await self.process.wait()


def _sit_before_it() -> None:
    """The terminal is the session's own, so that its Ctrl-C reaches the command."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextlib.asynccontextmanager
async def terminal(world: ApiWorld, *words: str, kind: str = "dumb") -> AsyncIterator[Terminal]:
    """`trustfloor` with these words on a terminal of its own; killed if it hasn't ended."""
    ours, theirs = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "supervisor", *words),
        env=environment(
            world.parts.settings.vault.parent,
            {"TRUSTFLOOR_URL": world.at.url, "TRUSTFLOOR_TOKEN": TOKEN, "TERM": kind},
        ),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=_sit_before_it,
    )
    os.close(theirs)
    made = Terminal(process, ours)
    asyncio.get_running_loop().add_reader(ours, made.read)
    try:
        yield made
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        if process.returncode is None:
            process.kill()
        await process.wait()
        os.close(ours)
