"""Measures the cage from inside: what the kernel says of this process, and what it refuses.

Nothing here decides whether that is enough; `supervisor/runtimes/container/receipt.py` does. Every
forbidden act is tried for real and reported as the name of the error it met; `DONE` says that it
was possible. What can't be measured is left out, and counts as missing there.
"""

import _socket  # the C half: the wrapper's import costs more than the whole measurement
import ctypes
import errno
import os
import resource
import stat
import time

from runner_image import seal

TYPE_CHECKING = False  # as in typing, whose import costs 5 ms
if TYPE_CHECKING:
    from collections.abc import Callable

TURN_FOLDER = "/run/trustfloor"
DONE = "DONE"
EMPTY = "EMPTY"
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNS = 0x00020000
_PROBE_FILE = ".trustfloor-probe"
_AF_VSOCK = 40
_IO_URING_SETUP = 425


def measure() -> dict[str, object]:
    """All measurements as one JSON object; takes some 10 ms."""
    began = time.perf_counter()
    found: dict[str, object] = {}
    for name, read in MEASUREMENTS.items():
        try:
            found[name] = read()
        except (OSError, ValueError, KeyError, IndexError):
            continue
    found["acts"] = {name: _outcome(act) for name, act in FORBIDDEN.items()}
    found["micros"] = int((time.perf_counter() - began) * 1e6)
    return found


def _outcome(act: "Callable[[], object]") -> str:
    try:
        return EMPTY if act() is EMPTY else DONE
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error.errno))


def _text(path: str, limit: int = 1 << 18) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while limit > 0 and (part := os.read(fd, min(limit, 1 << 16))):
            parts.append(part)
            limit -= len(part)
        return b"".join(parts).decode("utf-8", "backslashreplace")
    finally:
        os.close(fd)


def _status() -> dict[str, str]:
    lines = (line.partition(":") for line in _text("/proc/self/status").splitlines())
    return {name: value.strip() for name, _, value in lines}


def _capabilities() -> dict[str, str]:
    status = _status()
    return {name: status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}


def _mounts() -> list[dict[str, str]]:
    """What is mounted: proc(5), /proc/pid/mountinfo."""
    mounts = []
    for line in _text("/proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        fields = before.split(" ")
        kind, _source, super_options = after.split(" ", 2)
        options = fields[5].split(",")
        mounts.append(
            {
                "target": fields[4],
                "type": kind,
                "mode": "ro" if "ro" in options or "ro" in super_options.split(",") else "rw",
                "options": fields[5],
                "propagation": "private" if len(fields) == 6 else " ".join(fields[6:]),  # noqa: PLR2004
            }
        )
    return mounts


def _interfaces() -> list[str]:
    listed = {line.partition(":")[0].strip() for line in _text("/proc/net/dev").splitlines()[2:]}
    return sorted(listed | set(os.listdir("/sys/class/net")))  # noqa: PTH208


def _routes() -> list[str]:
    routes = [line.split()[0] for line in _text("/proc/net/route").splitlines()[1:]]
    if os.access("/proc/net/ipv6_route", os.R_OK):  # a kernel without IPv6 has no such table
        routes += [line.split()[-1] for line in _text("/proc/net/ipv6_route").splitlines()]
    return sorted({device for device in routes if device != "lo"})


def _limit_in_force(*candidates: str) -> int:
    for path in candidates:
        try:
            return int(_text(path))
        except FileNotFoundError:
            continue
    raise ValueError("no such controller")


def _open(path: str, flags: int) -> None:
    os.close(os.open(path, flags | os.O_CLOEXEC))


def _create_in(folder: str) -> None:
    path = f"{folder}/{_PROBE_FILE}"
    _open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.unlink(path)  # noqa: PTH108


def _make_device() -> None:
    path = f"/tmp/{_PROBE_FILE}"  # noqa: S108  # the cage's own tmpfs
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    os.unlink(path)  # noqa: PTH108


def _read_kernel_memory() -> str | None:
    return None if _text("/proc/kcore", limit=1) else EMPTY


def _socket_of(family: int, kind: int, protocol: int = 0) -> None:
    _socket.socket(family, kind, protocol).close()


def _connect(family: int, address: str) -> None:
    sock = _socket.socket(family, _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK)
    try:
        sock.connect((address, 9))
    except BlockingIOError:
        return  # on its way: there is a route
    finally:
        sock.close()


def _in_child(act: "Callable[[], object]") -> "Callable[[], None]":
    """The same act in a process of its own, so that succeeding does not change this one."""

    def run() -> None:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            code = _outcome(act)
            os.write(writer, code.encode())
            os._exit(0)
        os.close(writer)
        code = os.read(reader, 64).decode()
        os.close(reader)
        os.waitpid(child, 0)
        if code != DONE:
            raise OSError(getattr(errno, code, errno.EIO), code)

    return run


def _make_message_queue() -> None:
    """mq_open(2), by its number: older C libraries keep the function elsewhere."""
    libc = ctypes.CDLL(None, use_errno=True)
    call = seal.MQ_OPEN.get(os.uname().machine)
    if call is None:
        raise OSError(errno.ENOTSUP, "mq_open")
    name = _PROBE_FILE.encode()
    fd = libc.syscall(call, name, os.O_RDWR | os.O_CREAT, 0o600, None)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "mq_open")
    os.close(fd)
    libc.syscall(call + 1, name)


def _make_system_v_queue() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    queue = libc.msgget(0, 0o600)
    if queue < 0:
        raise OSError(ctypes.get_errno(), "msgget")
    libc.msgctl(queue, 0, None)


def _libc(name: str, *arguments: object) -> None:
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)


MEASUREMENTS: "dict[str, Callable[[], object]]" = {
    "nonce": lambda: _text(TURN_FOLDER + "/marker", limit=256).strip(),
    "uids": lambda: list(os.getresuid()),
    "gids": lambda: list(os.getresgid()),
    "groups": os.getgroups,
    "capabilities": _capabilities,
    "noNewPrivileges": lambda: int(_status()["NoNewPrivs"]),
    "seccomp": lambda: int(_status()["Seccomp"]),
    "mounts": _mounts,
    "interfaces": _interfaces,
    "routes": _routes,
    "devices": lambda: sorted(os.listdir("/dev")),  # noqa: PTH208
    "processes": lambda: sum(name.isdigit() for name in os.listdir("/proc")),  # noqa: PTH208
    "hostname": lambda: os.uname().nodename,
    "environment": lambda: sorted(os.environ),
    "memoryBytes": lambda: _limit_in_force(
        "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory.max"
    ),
    "pids": lambda: _limit_in_force("/sys/fs/cgroup/pids/pids.max", "/sys/fs/cgroup/pids.max"),
    "fileBytes": lambda: resource.getrlimit(resource.RLIMIT_FSIZE)[1],
    "coreBytes": lambda: resource.getrlimit(resource.RLIMIT_CORE)[1],
}

FORBIDDEN: "dict[str, Callable[[], object]]" = {
    "write in the vault": lambda: _create_in("/vault"),
    "write in the turn folder": lambda: _create_in(TURN_FOLDER),
    "write at the root": lambda: _create_in(""),
    "write in /sys": lambda: _create_in("/sys"),
    "write a kernel setting": lambda: _open("/proc/sys/kernel/hostname", os.O_WRONLY),
    "read kernel memory": _read_kernel_memory,
    "become root": lambda: os.setuid(0),
    "change root": _in_child(lambda: os.chroot("/tmp")),  # noqa: S108
    "make a device": _make_device,
    "mount": _in_child(lambda: _libc("mount", b"none", b"/tmp", b"tmpfs", 0, None)),
    "make a user namespace": _in_child(lambda: _libc("unshare", _CLONE_NEWUSER)),
    "make a mount namespace": _in_child(lambda: _libc("unshare", _CLONE_NEWNS)),
    "open a raw socket": lambda: _socket_of(_socket.AF_INET, _socket.SOCK_RAW, 1),
    "open a packet socket": lambda: _socket_of(_socket.AF_PACKET, _socket.SOCK_RAW),
    "reach an IPv4 address": lambda: _connect(_socket.AF_INET, "192.0.2.1"),
    "reach an IPv6 address": lambda: _connect(_socket.AF_INET6, "2001:db8::1"),
    "open a hypervisor socket": lambda: _socket_of(_AF_VSOCK, _socket.SOCK_STREAM),
    "use io_uring": lambda: _libc("syscall", _IO_URING_SETUP, 1, None),
    "make a message queue": _make_message_queue,
    "make a file in /dev/mqueue": lambda: _create_in("/dev/mqueue"),
    "make a System V queue": _make_system_v_queue,
}
