"""The system calls that a cage at `vault` refuses, as a filter program. Pure: it is data.

Refused is what lets a process out of its view or into parts of the kernel that no program of an
agent's needs: user namespaces (in one of its own it would have all rights over mounts), io_uring
(it makes sockets unseen by a filter), kernel keyrings (shared with the supervisor's session), bpf,
perf, userfaultfd, and sockets of odd families, which no network namespace confines.
"""

import errno
import struct
from dataclasses import dataclass
from typing import Final

ALLOWED_FAMILIES: Final = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_NEW_USER: Final = 0x10000000  # CLONE_NEWUSER
_CLONE3: Final = 435  # its flags lie in memory, which a filter can't read: libraries fall back
_SAME_EVERYWHERE: Final = (425, 426, 427, _CLONE3)  # io_uring_*, and clone3


@dataclass(frozen=True, slots=True)
class _Machine:
    """Numbers of one architecture: its audit id, then system calls."""

    audit: int
    socket: int
    clone: int
    unshare: int
    setns: int
    refused: tuple[int, ...]
    """bpf, perf_event_open, userfaultfd, add_key, request_key, keyctl."""


_MACHINES: Final = {
    "x86_64": _Machine(0xC000003E, 41, 56, 272, 308, (321, 298, 323, 248, 249, 250)),
    "aarch64": _Machine(0xC00000B7, 198, 220, 97, 268, (280, 241, 282, 217, 218, 219)),
}
_X32_CALLS: Final = 0x40000000

_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF
_AT_CALL, _AT_ARCHITECTURE, _AT_FIRST_ARGUMENT = 0, 4, 16  # struct seccomp_data


def program(machine: str) -> bytes:
    """The filter for a machine of that name, as uname(2) gives it. Raises KeyError for others."""
    numbers = _MACHINES[machine]
    no_call = _ERRNO | errno.ENOSYS
    steps = [
        (_LOAD, 0, 0, _AT_ARCHITECTURE),
        (_IF_EQUAL, 1, 0, numbers.audit),
        (_RETURN, 0, 0, no_call),  # another architecture's numbers mean other calls
        (_LOAD, 0, 0, _AT_CALL),
        (_IF_AT_LEAST, 0, 1, _X32_CALLS),
        (_RETURN, 0, 0, no_call),
    ]
    for call in (*_SAME_EVERYWHERE, *numbers.refused):
        steps += [(_IF_EQUAL, 0, 1, call), (_RETURN, 0, 0, no_call)]
    steps += [(_IF_EQUAL, 0, 1, numbers.setns), (_RETURN, 0, 0, _ERRNO | errno.EPERM)]
    for call in (numbers.clone, numbers.unshare):
        steps += [
            (_IF_EQUAL, 0, 4, call),
            (_LOAD, 0, 0, _AT_FIRST_ARGUMENT),
            (_IF_ANY_BIT, 0, 1, _NEW_USER),
            (_RETURN, 0, 0, _ERRNO | errno.EPERM),
            (_RETURN, 0, 0, _ALLOW),
        ]
    steps += [
        (_IF_EQUAL, 1, 0, numbers.socket),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _AT_FIRST_ARGUMENT),
    ]
    for family in ALLOWED_FAMILIES:
        steps += [(_IF_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW)]
    steps.append((_RETURN, 0, 0, _ERRNO | errno.EAFNOSUPPORT))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
