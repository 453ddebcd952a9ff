"""The system calls that a cage at `vault` refuses, as a filter program. Pure: it is data.

Refused is what lets a process out of its view or into parts of the kernel that no program of an
agent's needs: user namespaces (in one of its own it would have all rights over mounts), io_uring
(it makes sockets unseen by a filter), kernel keyrings (shared with the supervisor's session), bpf,
perf, userfaultfd, and sockets of odd families, which no network namespace confines. Nor is a file
made that runs as its owner or group (setuid, setgid): the cage's mounts run none as such, but the
vault is the host's, and there any user could run it.
"""

import errno
import struct
from dataclasses import dataclass
from typing import Final

ALLOWED_FAMILIES: Final = (1, 2, 10, 16)  # AF_UNIX, AF_INET, AF_INET6, AF_NETLINK
_NEW_USER: Final = 0x10000000  # CLONE_NEWUSER
_CLONE3: Final = 435  # its flags lie in memory, which a filter can't read: libraries fall back
_OPENAT2: Final = 437  # so does the mode of what it makes
_SAME_EVERYWHERE: Final = (425, 426, 427, _CLONE3, _OPENAT2)  # io_uring_* and these
_SET_ID: Final = 0o6000  # S_ISUID | S_ISGID
_MAKES: Final = 0x400040  # O_CREAT | __O_TMPFILE: else there is no mode
_FCHMODAT2: Final = (452, 2)


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
    modes: tuple[tuple[int, int], ...]
    """chmod, fchmod, fchmodat, mknod, mknodat, creat as far as they are there: which argument is
    the mode."""
    opens: tuple[tuple[int, int], ...]
    """open and openat: which argument is the flags; the mode comes next."""


_MACHINES: Final = {
    "x86_64": _Machine(
        *(0xC000003E, 41, 56, 272, 308),
        refused=(321, 298, 323, 248, 249, 250),
        modes=((90, 1), (91, 1), (268, 2), (133, 1), (259, 2), (85, 1)),
        opens=((2, 1), (257, 2)),
    ),
    "aarch64": _Machine(
        *(0xC00000B7, 198, 220, 97, 268),
        refused=(280, 241, 282, 217, 218, 219),
        modes=((52, 1), (53, 2), (33, 2)),
        opens=((56, 2),),
    ),
}
_X32_CALLS: Final = 0x40000000

_ALLOW: Final = 0x7FFF0000
_ERRNO: Final = 0x00050000
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF
_AT_CALL, _AT_ARCHITECTURE, _AT_FIRST_ARGUMENT = 0, 4, 16  # struct seccomp_data

_Step = tuple[int, int, int, int]


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
        steps += [(_IF_EQUAL, 0, 4, call), *_unless(0, _NEW_USER)]
    for call, mode in (*numbers.modes, _FCHMODAT2):
        steps += [(_IF_EQUAL, 0, 4, call), *_unless(mode, _SET_ID)]
    for call, flags in numbers.opens:
        steps += [
            (_IF_EQUAL, 0, 6, call),
            (_LOAD, 0, 0, _argument(flags)),
            (_IF_ANY_BIT, 0, 3, _MAKES),
            *_unless(flags + 1, _SET_ID),
        ]
    steps += [
        (_IF_EQUAL, 1, 0, numbers.socket),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _argument(0)),
    ]
    for family in ALLOWED_FAMILIES:
        steps += [(_IF_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW)]
    steps.append((_RETURN, 0, 0, _ERRNO | errno.EAFNOSUPPORT))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _argument(number: int) -> int:
    """Where an argument's lower half is; both machines put it first."""
    return _AT_FIRST_ARGUMENT + 8 * number


def _unless(number: int, bits: int) -> tuple[_Step, _Step, _Step, _Step]:
    """Allow the call unless this argument has one of these bits."""
    return (
        (_LOAD, 0, 0, _argument(number)),
        (_IF_ANY_BIT, 0, 1, bits),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_RETURN, 0, 0, _ALLOW),
    )
