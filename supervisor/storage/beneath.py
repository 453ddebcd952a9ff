"""Files below a folder, reached without following a link: the folder's owner isn't its only writer.

A vault may come from elsewhere, with links in it that lead out. Each folder on the way is opened
by its parent's descriptor and never through a link, so no link that is there, or is put there
meanwhile, leads a read or an append anywhere else.
"""

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from uuid import uuid4

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


def open_inside(
    root: Path,
    relative: PurePosixPath,
    flags: int,
    mode: int = 0o600,
    *,
    make_folders: bool = False,
) -> int:
    """A descriptor of the regular file `relative` below `root`; the caller closes it.

    `make_folders` makes missing folders on the way, closed to others. Raises OSError: ELOOP for a
    link on the way or at its end, EINVAL for a path that isn't plainly below the root or for what
    is no regular file, and whatever the system says else.
    """
    with _parent(root, relative, make_folders=make_folders) as (folder, name):
        # Without waiting, as a pipe would have us wait for its other end.
        plain = flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(name, plain, mode, dir_fd=folder)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "this is no regular file", str(relative))


def read_inside(root: Path, relative: PurePosixPath) -> BinaryIO:
    """The regular file `relative` below `root`, to be read and closed. Raises OSError as above."""
    return open(open_inside(root, relative, os.O_RDONLY), "rb")


def kept_open(stack: ExitStack, root: Path, relative: PurePosixPath) -> int | None:
    """A descriptor of that file for reading, closed with the stack; None if it can't be opened."""
    try:
        descriptor = open_inside(root, relative, os.O_RDONLY)
    except OSError:
        return None
    stack.callback(os.close, descriptor)
    return descriptor


def replace_inside(
    root: Path,
    relative: PurePosixPath,
    content: bytes,
    mode: int = 0o644,
    *,
    like: os.stat_result | None = None,
) -> None:
    """Put a whole file at that place below `root`, or leave what is there; folders are made.

    Whoever looks sees the one or the other, and after a crash as well. A link at the place itself
    is replaced, not followed. `like`: whose mode and owner it gets, in place of `mode`; the owner
    only where we may give files away. Raises OSError as `open_inside` does.
    """
    with _parent(root, relative, make_folders=True) as (folder, name):
        temporary = f".{uuid4().hex}.part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, mode, dir_fd=folder)
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123  (opened by what follows no link)
                file.write(content)
                file.flush()
                if like is not None:
                    with suppress(PermissionError):
                        os.fchown(file.fileno(), like.st_uid, like.st_gid)
                    os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode))
                os.fsync(file.fileno())
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise
        os.fsync(folder)


def stat_inside(root: Path, relative: PurePosixPath) -> os.stat_result | None:
    """What is at that place, itself and not what a link leads to; None if nothing is there.

    Raises OSError as `open_inside` does, for a link on the way.
    """
    try:
        with _parent(root, relative) as (folder, name):
            return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def inside(root: Path, relative: PurePosixPath) -> bool:
    """Whether the path stays below the root: relative, without `..`, no link on it or at its end.

    What isn't there yet counts as staying.
    """
    try:
        found = stat_inside(root, relative)
    except OSError:
        return False
    return found is None or not stat.S_ISLNK(found.st_mode)


@contextmanager
def _parent(
    root: Path, relative: PurePosixPath, *, make_folders: bool = False
) -> Iterator[tuple[int, str]]:
    if relative.is_absolute() or not relative.parts or ".." in relative.parts:
        raise OSError(errno.EINVAL, "this path isn't below the folder", str(relative))
    folder = os.open(root, _FOLDER)
    try:
        for part in relative.parts[:-1]:
            below = _step(folder, part, relative, make_folders=make_folders)
            os.close(folder)
            folder = below
        yield folder, relative.name
    finally:
        os.close(folder)


def _step(folder: int, part: str, relative: PurePosixPath, *, make_folders: bool) -> int:
    if make_folders:
        with suppress(FileExistsError):
            os.mkdir(part, 0o700, dir_fd=folder)
    try:
        return os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except NotADirectoryError as error:
        # What Linux says of a link here, as the link itself is no folder.
        if stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, "a link is on the way", str(relative)) from error
        raise


def remove_inside(root: Path, relative: PurePosixPath) -> bool:
    """Remove a file, or a folder with all below it; whether there was one. No link is followed.

    Raises OSError as `open_inside` does.
    """
    try:
        with _parent(root, relative) as (folder, name):
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                shutil.rmtree(name, dir_fd=folder)  # by descriptors, where the system has them
            else:
                os.unlink(name, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
