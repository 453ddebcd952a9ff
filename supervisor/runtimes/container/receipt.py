"""The isolation receipt: what a sandbox measured of itself, judged against what it must be.

What the probe says is hostile input like all that comes out of a container: it can make a turn
fail, never more. Whatever is missing, of another type, or not on the list counts as a shortfall.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from supervisor.runtimes.container import spec as cage
from supervisor.runtimes.container.spec import ContainerSpec, ReadOnlyMount, Tmpfs
from supervisor.runtimes.container.verify import shortfalls as engine_shortfalls
from supervisor.runtimes.contract import Receipt
from supervisor.runtimes.receipt_line import receipt_in

MAX_LINE_BYTES: Final = 1 << 16

_REFUSED: Final = frozenset({"EPERM", "EACCES"})
_READ_ONLY: Final = frozenset({"EROFS"})
_UNREACHABLE: Final = frozenset({"ENETUNREACH"})
_NO_CALL: Final = frozenset({"ENOSYS", "EPERM"})
_NO_FAMILY: Final = frozenset({"EAFNOSUPPORT", "EPERM", "EACCES"})

FORBIDDEN_ACTS: Final[Mapping[str, frozenset[str]]] = {
    "write in the vault": _READ_ONLY,
    "write in the turn folder": _READ_ONLY,
    "write at the root": _READ_ONLY,
    "write in /sys": _READ_ONLY | _REFUSED,
    "write a kernel setting": _READ_ONLY | _REFUSED,
    "read kernel memory": _REFUSED | {"ENOENT", "EMPTY"},
    "become root": _REFUSED,
    "change root": _REFUSED,
    "make a device": _REFUSED,
    "mount": _REFUSED,
    "make a user namespace": _REFUSED | {"EINVAL", "ENOSPC", "ENOSYS"},
    "make a mount namespace": _REFUSED,
    "open a raw socket": _REFUSED,
    "open a packet socket": _NO_FAMILY,
    "reach an IPv4 address": _UNREACHABLE,
    "reach an IPv6 address": _UNREACHABLE | {"EADDRNOTAVAIL", "EAFNOSUPPORT"},
    "open a hypervisor socket": _NO_FAMILY,
    "use io_uring": _NO_CALL,
    "make a message queue": _NO_CALL,
    "make a file in /dev/mqueue": _READ_ONLY | _REFUSED | {"EMFILE", "ENOENT"},
    "make a System V queue": _NO_CALL,
}
"""What a sandbox tries and must fail at, and by which errors the kernel may have refused it."""

_CAPABILITY_SETS: Final = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
_SECCOMP_FILTER: Final = 2  # SECCOMP_MODE_FILTER, proc(5)
_PROCESSES: Final = 2  # the entry, and one for a moment

_STREAMS: Final = frozenset({"fd", "stderr", "stdin", "stdout"})
_DEVICES: Final = _STREAMS | {
    "core",
    "console",
    "full",
    "mqueue",
    "null",
    "ptmx",
    "pts",
    "random",
    "shm",
    "tty",
    "urandom",
    "zero",
}
_SYSTEM_MOUNTS: Final[Mapping[str, frozenset[str]]] = {
    "/proc": frozenset({"proc"}),
    "/dev": frozenset({"tmpfs"}),
    "/dev/pts": frozenset({"devpts"}),
    "/dev/mqueue": frozenset({"mqueue"}),
    "/sys/fs/cgroup": frozenset({"tmpfs", "cgroup2"}),
}
"""Mounted by the engine in every container, and not read-only; root's, which nobody is in there."""

_READ_ONLY_FILES: Final = frozenset({"/etc/resolv.conf", "/etc/hostname", "/etc/hosts"})


def parse(line: bytes) -> Mapping[str, Any] | None:
    """The receipt in a sandbox's first line; None: it is none."""
    return receipt_in(line, MAX_LINE_BYTES)


def judge(
    measured: Mapping[str, Any], inspected: Mapping[str, Any], spec: ContainerSpec, nonce: str
) -> tuple[str, ...]:
    """In what the cage is weaker than its level demands; empty: in nothing.

    `inspected` is the engine's report of the created container; `nonce` is what the supervisor
    wrote into the turn folder's marker, so that a cage that saw another folder shows.
    """
    return (*engine_shortfalls(spec, inspected), *measured_shortfalls(measured, spec, nonce))


def receipt_of(
    measured: Mapping[str, Any], inspected: Mapping[str, Any], spec: ContainerSpec, nonce: str
) -> Receipt:
    """The judged receipt, in the form that events carry."""
    host = inspected.get("HostConfig")
    host = host if isinstance(host, Mapping) else {}
    engine = {
        "image": inspected.get("Image"),
        "runtime": host.get("Runtime"),
        "network": host.get("NetworkMode"),
        "capDrop": host.get("CapDrop"),
        "securityOpt": host.get("SecurityOpt"),
        "readOnlyRoot": host.get("ReadonlyRootfs"),
        "memoryBytes": host.get("Memory"),
        "pids": host.get("PidsLimit"),
        "mounts": [f"{mount.target} read-only" for mount in spec.mounts],
    }
    known = {name: value for name, value in measured.items() if name in _FACTS or name == "acts"}
    return Receipt(
        cage="container",
        measured={"engine": engine, "inside": known},
        shortfalls=judge(measured, inspected, spec, nonce),
    )


def measured_shortfalls(
    measured: Mapping[str, Any], spec: ContainerSpec, nonce: str
) -> tuple[str, ...]:
    """The part of `judge` that rests on what was measured inside."""
    return (
        *_facts(measured, spec, nonce),
        *_mounts(measured.get("mounts"), spec),
        *_acts(measured.get("acts")),
    )


_FACTS: Final[Mapping[str, Callable[[Any, ContainerSpec, str], bool]]] = {
    "nonce": lambda value, _spec, nonce: bool(nonce) and value == nonce,
    "uids": lambda value, _spec, _nonce: value == [cage.AGENT_ID] * 3,
    "gids": lambda value, _spec, _nonce: value == [cage.AGENT_ID] * 3,
    "groups": lambda value, _spec, _nonce: value in ([], [cage.AGENT_ID]),
    "capabilities": lambda value, _spec, _nonce: (
        set(value) == set(_CAPABILITY_SETS) and all(int(each, 16) == 0 for each in value.values())
    ),
    "noNewPrivileges": lambda value, _spec, _nonce: _is_number(value) and value == 1,
    "seccomp": lambda value, _spec, _nonce: _is_number(value) and value == _SECCOMP_FILTER,
    "interfaces": lambda value, _spec, _nonce: value in (["lo"], []),
    "routes": lambda value, _spec, _nonce: value == [],
    "devices": lambda value, _spec, _nonce: isinstance(value, list) and _DEVICES.issuperset(value),
    "processes": lambda value, _spec, _nonce: _is_number(value) and 0 < value <= _PROCESSES,
    "hostname": lambda value, _spec, _nonce: value == cage.HOSTNAME,
    "environment": lambda value, _spec, _nonce: (
        isinstance(value, list)
        and (cage.environment_names() | {"HOSTNAME", "LC_CTYPE"}).issuperset(value)
    ),
    "memoryBytes": lambda value, spec, _nonce: (
        _is_number(value) and 0 < value <= spec.limits.memory_bytes
    ),
    "pids": lambda value, spec, _nonce: _is_number(value) and 0 < value <= spec.limits.pids,
    "fileBytes": lambda value, spec, _nonce: (
        _is_number(value) and 0 <= value <= spec.limits.file_bytes
    ),
    "coreBytes": lambda value, _spec, _nonce: _is_number(value) and value == 0,
}


def _facts(measured: Mapping[str, Any], spec: ContainerSpec, nonce: str) -> Iterator[str]:
    for name, holds in _FACTS.items():
        if name not in measured:
            yield f"{name} was not measured"
            continue
        value = measured[name]
        try:
            good = holds(value, spec, nonce)
        except (TypeError, ValueError, AttributeError):
            good = False
        if not good:
            # The nonce is compared, never repeated: what came instead may be anything.
            yield f"{name} is wrong" if name == "nonce" else f"{name} is {_short(value)}"


def _mounts(found: Any, spec: ContainerSpec) -> Iterator[str]:
    if not isinstance(found, list):
        yield "mounts were not measured"
        return
    # A target may be mounted over: the last one is what a path leads to, and all must be good.
    seen: set[str] = set()
    for mount in found:
        if not isinstance(mount, Mapping) or not all(
            isinstance(mount.get(key), str) for key in ("target", "type", "mode", "options")
        ):
            yield f"a mount is {_short(mount)}"
            continue
        seen.add(mount["target"])
        if not _is_good_mount(mount, spec):
            yield f"{mount['target'][:80]} is mounted {mount['mode'][:8]} ({mount['type'][:20]})"
    required = {"/", *_targets(spec.mounts), *_targets(spec.tmpfs)}
    for target in sorted(required - seen):
        yield f"{target} is not mounted"


def _is_good_mount(mount: Mapping[str, Any], spec: ContainerSpec) -> bool:
    target, kind, mode = mount["target"], mount["type"], mount["mode"]
    read_only: bool = mode == "ro"
    if target == "/" or target in _READ_ONLY_FILES or target in _targets(spec.mounts):
        return read_only
    if target in _targets(spec.tmpfs):
        return kind == "tmpfs" and {"nosuid", "nodev"} <= set(mount["options"].split(","))
    if target in _SYSTEM_MOUNTS:
        return bool(kind in _SYSTEM_MOUNTS[target])
    if target.startswith("/proc/"):  # paths masked or made read-only
        return (kind == "proc" and read_only) or kind == "tmpfs"
    if target == "/sys" or target.startswith("/sys/"):
        return read_only and kind in {"sysfs", "tmpfs", "cgroup", "cgroup2"}
    return False


def _acts(found: Any) -> Iterator[str]:
    if not isinstance(found, Mapping):
        yield "no forbidden act was tried"
        return
    for act, refusals in FORBIDDEN_ACTS.items():
        outcome = found.get(act)
        if outcome is None:
            yield f"{act}: was not tried"
        elif not isinstance(outcome, str) or outcome not in refusals:
            yield f"{act}: {_short(outcome)}"


def _targets(mounted: Iterable[ReadOnlyMount | Tmpfs]) -> set[str]:
    return {each.target for each in mounted}


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _short(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 120 else text[:117] + "..."  # noqa: PLR2004
