"""The kernel's word on changes in folders: inotify(7), as thin as it can be."""

import ctypes
import errno
import fcntl
import os
import struct
import termios
from array import array
from collections.abc import Iterator
from typing import Final, NamedTuple

CREATE: Final = 0x100
MOVED_FROM: Final = 0x40
MOVED_TO: Final = 0x80
DELETE: Final = 0x200
OVERFLOW: Final = 0x4000
IGNORED: Final = 0x8000
IS_FOLDER: Final = 0x40000000

_ONLY_FOLDERS: Final = 0x01000000
_BESIDES: Final = 0x20000000  # IN_MASK_ADD
_WATCHED: Final = CREATE | MOVED_FROM | MOVED_TO | _ONLY_FOLDERS
_HEAD: Final = struct.Struct("iIII")
_READ_BYTES: Final = 256 * 1024

_libc = ctypes.CDLL(None, use_errno=True)


class Change(NamedTuple):
    """One entry of a watched folder that came, moved, went, or (`OVERFLOW`) too many to tell."""

    watch: int
    mask: int
    name: str
    cookie: int
    """The same for both halves of a move."""

    @property
    def is_folder(self) -> bool:
        """Whether the entry is a folder."""
        return bool(self.mask & IS_FOLDER)


class Inotify:
    """A queue of changes in the folders that were added. Raises OSError as the kernel says."""

    def __init__(self) -> None:
        self.fd: int = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        self.taken = 0
        """Bytes that were read so far."""

    def add(self, folder_fd: int, *, removals: bool = False) -> int:
        """Watch an open folder; its number in what is told. Twice the same folder: one number.

        With `removals`, what is removed in it is told besides (`DELETE`).
        """
        events = _WATCHED | _BESIDES | (DELETE if removals else 0)
        path = f"/proc/self/fd/{folder_fd}".encode()
        watch: int = _libc.inotify_add_watch(self.fd, path, events)
        if watch < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return watch

    def remove(self, watch: int) -> None:
        """Watch it no more; one that is gone is no error."""
        _libc.inotify_rm_watch(self.fd, watch)

    def changes(self) -> Iterator[Change]:
        """What the kernel has told and nobody has read yet; doesn't wait."""
        try:
            data = os.read(self.fd, _READ_BYTES)
        except OSError as error:
            if error.errno == errno.EAGAIN:
                return
            raise
        self.taken += len(data)
        at = 0
        while at < len(data):
            watch, mask, cookie, length = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            yield Change(watch, mask, os.fsdecode(data[at : at + length].rstrip(b"\0")), cookie)
            at += length

    def told(self) -> int:
        """What `taken` will be when all is read that the kernel has told by now."""
        waiting = array("i", [0])
        fcntl.ioctl(self.fd, termios.FIONREAD, waiting)
        return self.taken + waiting[0]

    def close(self) -> None:
        """End all watches."""
        os.close(self.fd)
