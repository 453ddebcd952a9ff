"""Opening files and folders of a vault that others use: quietly, and never through links."""

import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from supervisor.errors import VaultUnavailable

OWNER_MAY_ENTER = stat.S_IRUSR | stat.S_IXUSR
"""What a folder's mode must have for its owner to see what is in it."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NONBLOCK
_SHORTAGES = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EROFS}
)


def raise_shortage(error: OSError) -> None:
    """Raise again what is a shortage of the machine's, and not a property of the one file."""
    if error.errno in _SHORTAGES:
        raise error


@contextmanager
def trouble_with_one() -> Iterator[None]:
    """Go on after trouble with one file or folder; a shortage of the machine's still raises."""
    try:
        yield
    except OSError as error:
        raise_shortage(error)


def why_left_out(error: OSError) -> str:
    """The word under which the report counts it; raises what is a shortage of the machine's."""
    raise_shortage(error)
    if error.errno == errno.ENOENT:
        return "vanished"
    return "changed" if error.errno in (errno.ELOOP, errno.ENOTDIR) else "unreadable"


def open_quietly(path: str | Path, flags: int, dir_fd: int | None = None) -> int:
    """Open without touching the access time where we may (owner or root), else plainly."""
    try:
        return os.open(path, flags | os.O_NOATIME, dir_fd=dir_fd)
    except PermissionError:
        return os.open(path, flags, dir_fd=dir_fd)


@contextmanager
def opened_folder(
    name: str | Path, dir_fd: int | None = None, *, follow: bool = False
) -> Iterator[int]:
    """A descriptor of a folder for the length of the block; follows a link only if told to."""
    fd = open_quietly(name, _FOLDER if follow else _FOLDER | os.O_NOFOLLOW, dir_fd)
    try:
        yield fd
    finally:
        os.close(fd)


def check_stop(stop: threading.Event | None) -> None:
    """Raise if the making of the view was called off."""
    if stop is not None and stop.is_set():
        raise VaultUnavailable("The vault's view was called off.", remedy="send the message again")
