"""Lines from standard input that can be waited for, and given up, while a turn's events go on."""

import asyncio
import os
import termios
from collections import deque


class Keyboard:
    """Reads a file descriptor by lines; a wait that is cancelled takes no line away."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._partial = b""
        self._lines: deque[str] = deque()
        self._ended = False

    async def line(self) -> str | None:
        """The next line without its end; None when there are no more."""
        while not self._lines and not self._ended:
            await self._readable()
            self._take(os.read(self._descriptor, 65_536))
        return self._lines.popleft() if self._lines else None

    def forget(self) -> None:
        """On a terminal, drop what was typed so far: typed before a question, it answers none.

        A pipe's lines stay; who writes into one has decided beforehand.
        """
        if os.isatty(self._descriptor):
            termios.tcflush(self._descriptor, termios.TCIFLUSH)
            self._lines.clear()
            self._partial = b""

    def _take(self, read: bytes) -> None:
        self._ended = not read
        *whole, self._partial = (self._partial + read).split(b"\n")
        if self._ended and self._partial:
            whole, self._partial = [*whole, self._partial], b""
        self._lines.extend(line.decode(errors="replace").rstrip("\r") for line in whole)

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        try:
            loop.add_reader(self._descriptor, ready.set)
        except PermissionError:  # a plain file or /dev/null: reading it never waits
            return
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self._descriptor)
