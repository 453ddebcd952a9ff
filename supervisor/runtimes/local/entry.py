"""The cage's first program: becomes the vault's owner, measures its cage, reports, starts the CLI.

    entry.py UID GID FD PROGRAM ARGUMENT…

From FD it reads, each ended by a NUL: CWD  N absent…  N covered…  N read-only…

It says one line of JSON on standard output and waits for one byte; if the input closes instead, it
ends, and the CLI was never started. Nothing of the supervisor can be imported in the cage, and few
modules are: each costs time in every message. `cage_receipt.py` decides whether what is reported is
enough.

Exit codes: the CLI's own; 64 the arguments make no sense, 71 the CLI could not be started, 0 the
input closed.
"""

# The C halves: the wrappers' imports cost more than all that is measured.
import _signal  # type: ignore[import-not-found]
import _socket
import ctypes
import errno
import os
import sys
import time
from _json import encode_basestring_ascii as quoted

TYPE_CHECKING = False  # as in typing, whose import costs 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable

BAD_ARGUMENTS = 64
CANNOT_START = 71

_CAPABILITY_SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
_PR_CAPBSET_DROP = 24
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_CAPABILITY_VERSION_3 = 0x20080522
_MAX_CAPABILITIES = 64
_LANDLOCK_CREATE, _LANDLOCK_RESTRICT = 444, 446  # the same numbers on every architecture
_LANDLOCK_SCOPES = 6  # the first interface version that has them, landlock(7)
_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2
_NEW_USER = 0x10000000
_IO_URING_SETUP = 425
_AF_VSOCK = 40
_PROBE = ".trustfloor-probe"

_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> int:
    """Do all of it; the exit code, if it doesn't become the CLI."""
    began = time.perf_counter()
    try:
        uid, gid, fd, *command = arguments
        program = command[0]
        cwd, *rest = _words(int(fd))
        absent, rest = _counted(rest)
        covered, rest = _counted(rest)
        read_only, _ = _counted(rest)
    except (ValueError, IndexError):
        return BAD_ARGUMENTS
    if os.geteuid() == 0:
        _become(int(uid), int(gid))
    try:
        os.chdir(cwd)
    except OSError as error:
        return _failed(f"the working directory can't be entered: {error}")
    landlock = _scope()
    receipt = measure(absent, covered, read_only)
    receipt["landlock"] = landlock
    receipt["micros"] = int((time.perf_counter() - began) * 1e6)
    _write_all(1, to_json(receipt).encode() + b"\n")
    if not os.read(0, 1):
        return 0
    # Python ignores these two, and what is ignored stays so over exec: `yes | head` would hang.
    for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
        _signal.signal(number, _signal.SIG_DFL)
    os.closerange(3, 1024)
    try:
        os.execv(program, command)  # noqa: S606  # becoming it is the point
    except OSError as error:
        return _failed(f"the agent CLI can't be started: {error}")


def _failed(why: str) -> int:
    _write_all(2, f"{why}\n".encode(errors="replace"))
    return CANNOT_START


def _words(fd: int) -> list[str]:
    with open(fd, "rb", buffering=0) as file:
        return os.fsdecode(file.readall() or b"").split("\0")


def _counted(words: list[str]) -> tuple[list[str], list[str]]:
    """A list that its length stands before, and what follows it."""
    count = int(words[0])
    if not 0 <= count < len(words):
        raise ValueError(count)
    return words[1 : count + 1], words[count + 1 :]


def _become(uid: int, gid: int) -> None:
    """Give up every right that root has, and then root, unless the vault is root's."""
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    for capability in range(_MAX_CAPABILITIES):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    os.setresuid(uid, uid, uid)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    if _libc.capset(header, nothing) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _scope() -> int:
    """Cut off the host's abstract sockets, which belong to the shared network, not to a folder.

    Gives Landlock's interface version; 0 where the kernel has none, and older ones can't do it.
    """
    version = int(_libc.syscall(_LANDLOCK_CREATE, None, 0, 1))
    if version < _LANDLOCK_SCOPES:
        return max(0, version)
    rules = (ctypes.c_uint64 * 3)(0, 0, _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS)
    ruleset = _libc.syscall(_LANDLOCK_CREATE, rules, ctypes.sizeof(rules), 0)
    if ruleset < 0 or _libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0) != 0:
        return 0
    os.close(ruleset)
    return version


def measure(absent: list[str], covered: list[str], read_only: list[str]) -> "dict[str, object]":
    """What the kernel says of this process and its places, and what it refuses."""
    status = _status()
    return {
        "trustfloor": "receipt",
        "uids": list(os.getresuid()),
        "gids": list(os.getresgid()),
        "groups": os.getgroups(),
        "capabilities": {name: status[name] for name in _CAPABILITY_SETS},
        "noNewPrivileges": int(status["NoNewPrivs"]),
        "seccomp": int(status["Seccomp"]),
        "processes": sum(name.isdigit() for name in os.listdir("/proc")),  # noqa: PTH208
        "environment": sorted(os.environ),
        "interfaces": _interfaces(),
        "writableMounts": _writable_mounts(),
        "absent": [_outcome(_lookup(path)) for path in absent],
        "covered": [_identity(path) for path in covered],
        "readOnly": [_protection(path) for path in read_only],
        "acts": {name: _outcome(act) for name, act in FORBIDDEN.items()},
    }


def _outcome(act: "Callable[[], object]") -> str:
    try:
        act()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error.errno))
    return "DONE"


def _lookup(path: str) -> "Callable[[], object]":
    return lambda: os.lstat(path)


def _identity(path: str) -> str:
    try:
        found = os.stat(path)  # noqa: PTH116  # pathlib costs 8 ms
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error.errno))
    return f"{found.st_dev}:{found.st_ino}"


def _protection(path: str) -> str:
    try:
        return "ro" if os.statvfs(path).f_flag & os.ST_RDONLY else "rw"
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error.errno))


def _text(path: str) -> str:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123
        return (file.readall() or b"").decode("utf-8", "surrogateescape")


def _status() -> "dict[str, str]":
    lines = (line.partition(":") for line in _text("/proc/self/status").splitlines())
    return {name: value.strip() for name, _, value in lines}


def _interfaces() -> "list[str]":
    return sorted(
        line.partition(":")[0].strip() for line in _text("/proc/net/dev").splitlines()[2:]
    )


def _writable_mounts() -> "list[str]":
    """Where something is mounted that can be written: proc_pid_mountinfo(5)."""
    lines = _text("/proc/self/mountinfo").rstrip("\n").split("\n")  # a place may hold a form feed
    fields = [line.split(" ") for line in lines]
    return sorted({each[4] for each in fields if "ro" not in each[5].split(",")})


def _create_in(folder: str) -> None:
    path = f"{folder}/{_PROBE}"
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC))
    os.unlink(path)  # noqa: PTH108


def _open(path: str, flags: int) -> None:
    os.close(os.open(path, flags | os.O_CLOEXEC))


def _call(name: str, *arguments: object) -> None:
    if getattr(_libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def _make_setuid() -> None:
    path = "/tmp/" + _PROBE  # noqa: S108
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o4700))
    os.unlink(path)  # noqa: PTH108


def _make_device() -> None:
    os.mknod("/tmp/" + _PROBE, 0o600 | 0o020000, os.makedev(1, 3))  # noqa: S108


FORBIDDEN: "dict[str, Callable[[], object]]" = {
    "write at the root": lambda: _create_in(""),
    "write in /usr": lambda: _create_in("/usr"),
    "write in /etc": lambda: _create_in("/etc"),
    "write a kernel setting": lambda: _open("/proc/sys/kernel/hostname", os.O_WRONLY),
    "read the shadow file": lambda: _open("/etc/shadow", os.O_RDONLY),
    "mount": lambda: _call("mount", b"none", b"/tmp", b"tmpfs", 0, None),
    "unmount": lambda: _call("umount2", b"/tmp", 2),
    "change root": lambda: os.chroot("/tmp"),  # noqa: S108
    "make a device": _make_device,
    "make a setuid file": _make_setuid,
    "make a user namespace": lambda: _call("unshare", _NEW_USER),
    "open a raw socket": lambda: _socket.socket(_socket.AF_INET, _socket.SOCK_RAW, 1),
    "open a hypervisor socket": lambda: _socket.socket(_AF_VSOCK, _socket.SOCK_STREAM),
    "use io_uring": lambda: _call("syscall", _IO_URING_SETUP, 1, None),
}
"""Each is tried for real, and must be refused: if one succeeds, the message isn't handed over."""


def to_json(value: object) -> str:
    """JSON of objects, lists, strings and whole numbers."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(k)}:{to_json(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(to_json, value)) + "]"
    raise TypeError(type(value).__name__)


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
