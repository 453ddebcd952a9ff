"""Binds and removes Unix sockets, also at paths that are longer than the kernel's 107 bytes."""

import contextlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BACKLOG = 128


@contextmanager
def short_path(path: Path) -> Iterator[str]:
    """The same path through an open descriptor of its folder: short, however deep the folder is.

    Linux: `sun_path` holds 107 bytes (unix(7)), `/proc/self/fd/N/NAME` stays below for any NAME of
    ours. Raises OSError if the folder isn't there.
    """
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


@contextmanager
def bound_socket(path: Path, mode: int) -> Iterator[socket.socket]:
    """A bound Unix socket, not yet listening; afterwards it is closed and unlinked.

    Only the socket that was made here is unlinked. Raises OSError, also if the path is taken.
    """
    with short_path(path) as short, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as bound:
        bound.setblocking(False)
        bound.bind(short)
        ours = os.lstat(short)
        try:
            os.chmod(short, mode)  # noqa: PTH101 - a path through a descriptor, not one to resolve
            yield bound
        finally:
            with contextlib.suppress(FileNotFoundError):
                there = os.lstat(short)
                if (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino):
                    os.unlink(short)  # noqa: PTH108
