"""What the kernel has mounted below a folder, in this process's own view."""

import os
from pathlib import Path


def mount_points_below(vault: str) -> frozenset[str]:
    """The mount points below the vault, relative to it (proc_pid_mountinfo(5)).

    The device number alone doesn't show them: a bind mount of a folder of the same file system has
    the vault's own.
    """
    prefix = os.fsencode(vault.rstrip("/") + "/")
    below: set[str] = set()
    # Not by `splitlines`: a carriage return in a name is written as it is.
    for line in Path("/proc/self/mountinfo").read_bytes().rstrip(b"\n").split(b"\n"):
        point = _unescape(line.split(b" ")[4])
        if point.startswith(prefix) and point != prefix:
            below.add(os.fsdecode(point[len(prefix) :]))
    return frozenset(below)


def _unescape(point: bytes) -> bytes:
    for escaped, plain in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n")):
        point = point.replace(escaped, plain)
    return point.replace(b"\\134", b"\\")
