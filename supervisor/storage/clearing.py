"""Removes a folder whatever is in it: it was an agent's, and may be deeper than programs go.

A recursive removal needs a stack frame and a descriptor for each level; whoever filled the folder
chose how many there are. Here each folder is brought up to the top before it is looked into, so
that there are two levels at any time.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def clear_away(folder: Path) -> bool:
    """Remove a folder with all below it; whether it is gone. No link is followed.

    What can't be removed stays, and with it the folders that it is in.
    """
    try:
        top = os.open(folder, _FOLDER)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        _Clearing(top).all()
    except OSError:
        return False
    finally:
        os.close(top)
    with suppress(OSError):
        folder.rmdir()
    return not folder.exists()


class _Clearing:
    def __init__(self, top: int) -> None:
        self._top = top
        self._brought = 0

    def all(self) -> None:
        names = os.listdir(self._top)  # noqa: PTH208  (a descriptor)
        taken = set(names)
        while names:
            name = names.pop()
            if self._unlinked(self._top, name):
                continue
            brought = self._emptied(name, taken)
            names += brought
            taken.update(brought)
            with suppress(OSError):
                os.rmdir(name, dir_fd=self._top)

    def _emptied(self, name: str, taken: set[str]) -> list[str]:
        """Remove the files of a folder at the top; its folders come to the top, by these names."""
        brought: list[str] = []
        try:
            inner = self._opened(name)
        except OSError:
            return brought
        try:
            for each in os.listdir(inner):  # noqa: PTH208  (as above)
                if self._unlinked(inner, each):
                    continue
                new = self._free(taken)
                with suppress(OSError):
                    os.rename(each, new, src_dir_fd=inner, dst_dir_fd=self._top)
                    brought.append(new)
        finally:
            os.close(inner)
        return brought

    def _free(self, taken: set[str]) -> str:
        """A name that nothing at the top has."""
        while (name := f"brought-{self._brought}") in taken:
            self._brought += 1
        self._brought += 1
        return name

    def _opened(self, name: str) -> int:
        """A folder at the top, opened for reading and writing even if its owner closed it."""
        held = os.open(
            name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._top
        )
        try:
            with suppress(OSError):
                os.chmod(f"/proc/self/fd/{held}", stat.S_IRWXU)  # noqa: PTH101  (a descriptor)
            return os.open(".", _FOLDER, dir_fd=held)
        finally:
            os.close(held)

    @staticmethod
    def _unlinked(folder: int, name: str) -> bool:
        """Remove what isn't a folder; False: it is one."""
        try:
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                return False
            os.unlink(name, dir_fd=folder)
        except OSError:
            return True  # gone, or it stays
        return True
