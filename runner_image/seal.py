"""Closes what the engine's default seccomp profile leaves open: odd sockets, io_uring, IPC queues.

An empty network namespace doesn't confine AF_VSOCK: on a virtual machine it reaches the hypervisor.
Newer engines' profiles refuse it, older ones don't. io_uring makes sockets without the system call
that a filter sees, so it goes too. Message queues, and System V's semaphores and shared memory, are
places to write in that no read-only mount stands in the way of. Filters only ever add up:
seccomp(2), and this one holds for all that comes after, since pid 1 itself puts it on.

/dev/mqueue, which the engine mounts writable, makes queues by open(2) as well, which a filter can't
tell from other files. Their memory is counted against a limit of its own, which is set to nothing.
"""

import ctypes
import errno
import os
import resource
import struct

ALLOWED_FAMILIES = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK (of an empty namespace)
IO_URING = (425, 426, 427)  # the same numbers on every architecture
_ARCHITECTURES = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}  # audit id, socket(2)
MQ_OPEN = {"x86_64": 240, "aarch64": 180}
IPC = {
    "x86_64": (*range(240, 246), *range(29, 32), *range(64, 72), 220),
    "aarch64": (*range(180, 186), *range(186, 198)),
}
"""Calls of POSIX message queues, and of System V's queues, semaphores and shared memory."""
_X32_CALLS = 0x40000000

_RLIMIT_MSGQUEUE = 12  # resource has the name on Linux alone; bytes, and EMFILE beyond them
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000

_LOAD, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # BPF operations
_AT_CALL, _AT_ARCHITECTURE, _AT_FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data


def program(machine: str) -> bytes:
    """The filter for a machine of that name, as uname(2) gives it; raises KeyError for others."""
    architecture, socket_call = _ARCHITECTURES[machine]
    refused_family = _ERRNO | errno.EAFNOSUPPORT
    refused_call = _ERRNO | errno.ENOSYS
    steps = [
        (_LOAD, 0, 0, _AT_ARCHITECTURE),
        (_IF_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, refused_call),  # another architecture's numbers mean other calls
        (_LOAD, 0, 0, _AT_CALL),
        (_IF_AT_LEAST, 0, 1, _X32_CALLS),
        (_RETURN, 0, 0, refused_call),
    ]
    for call in (*IO_URING, *IPC[machine]):
        steps += [(_IF_EQUAL, 0, 1, call), (_RETURN, 0, 0, refused_call)]
    steps += [
        (_IF_EQUAL, 1, 0, socket_call),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _AT_FIRST_ARGUMENT),
    ]
    for family in ALLOWED_FAMILIES:
        steps += [(_IF_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW)]
    steps.append((_RETURN, 0, 0, refused_family))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def close() -> None:
    """Put filter and limit on this process and all that come from it. Raises OSError, KeyError."""
    code = program(os.uname().machine)
    buffer = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_SECCOMP)")
    resource.setrlimit(_RLIMIT_MSGQUEUE, (0, 0))
