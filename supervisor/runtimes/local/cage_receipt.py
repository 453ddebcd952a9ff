"""What a cage at `vault` measured of itself, judged against what it must be. Pure.

Its first program is ours, and nobody ran in the cage before it; still, whatever is missing or of
another form counts as a shortfall, and each one keeps the message from being handed over.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from supervisor.runtimes.local.bubblewrap import CageSpec
from supervisor.runtimes.receipt_line import receipt_in

MAX_LINE_BYTES: Final = 1 << 20

_REFUSED: Final = frozenset({"EPERM", "EACCES"})
_READ_ONLY: Final = frozenset({"EROFS", "EACCES", "EPERM"})

FORBIDDEN_ACTS: Final[Mapping[str, frozenset[str]]] = {
    "write at the root": _READ_ONLY,
    "write in /usr": _READ_ONLY,
    "write in /etc": _READ_ONLY | {"ENOENT"},
    "write a kernel setting": _READ_ONLY,
    "read the shadow file": frozenset({"ENOENT"}),
    "mount": _REFUSED,
    "unmount": _REFUSED,
    "change root": _REFUSED,
    "make a device": _REFUSED,
    "make a setuid file": frozenset({"EPERM"}),
    "make a user namespace": _REFUSED | {"ENOSPC"},
    "open a raw socket": _REFUSED,
    "open a hypervisor socket": frozenset({"EAFNOSUPPORT"}),
    "use io_uring": frozenset({"ENOSYS"}),
}
"""What a cage tries and must fail at, and by which errors the kernel may have refused it."""

_SECCOMP_FILTER: Final = 2  # SECCOMP_MODE_FILTER, proc(5)
_PROCESSES: Final = 2  # bubblewrap's own, and the entry
_HELD: Final = frozenset({"CapInh", "CapPrm", "CapEff", "CapAmb"})
_BOUND: Final = "CapBnd"
_OWN_WRITABLE: Final = ("/dev", "/proc")
"""Made for the cage: devices that do nothing, and the processes it has itself."""


@dataclass(frozen=True, slots=True)
class Demands:
    """What is measured is held against this.

    `masks` are the identities (device:inode) of what stands at each cover, in the spec's order;
    `environment` the names that were handed in.
    """

    spec: CageSpec
    masks: tuple[str, ...]
    environment: Collection[str]


def parse(line: bytes) -> Mapping[str, Any] | None:
    """The receipt in a cage's first line; None: it is none."""
    return receipt_in(line, MAX_LINE_BYTES)


def shortfalls(measured: Mapping[str, Any], demands: Demands) -> tuple[str, ...]:
    """In what the cage is weaker than it must be; empty: in nothing."""
    return (
        *_facts(measured, demands),
        *_places(measured, demands),
        *_mounts(measured.get("writableMounts"), demands.spec),
        *_acts(measured.get("acts")),
    )


def summary(measured: Mapping[str, Any], demands: Demands) -> dict[str, Any]:
    """What of it an event carries: the facts, and of the places how many there are."""
    facts = {name: measured[name] for name in (*_FACTS, "landlock", "micros") if name in measured}
    spec = demands.spec
    return {
        **facts,
        "network": "the host's" if spec.network else "none",
        "covered": len(spec.covers),
        "readOnly": len(spec.read_only),
        "absent": len(spec.absent),
        "acts": measured.get("acts"),
    }


_FACTS: Final[Mapping[str, Callable[[Any, Demands], bool]]] = {
    "uids": lambda value, demands: value == [demands.spec.uid] * 3,
    "gids": lambda value, demands: value == [demands.spec.gid] * 3,
    "groups": lambda value, demands: not demands.spec.by_root or value == [],
    "capabilities": lambda value, demands: _no_rights(value, by_root=demands.spec.by_root),
    "noNewPrivileges": lambda value, _demands: value == 1,
    "seccomp": lambda value, _demands: value == _SECCOMP_FILTER,
    "processes": lambda value, _demands: 0 < value <= _PROCESSES,
    "environment": lambda value, demands: set(value) <= {*demands.environment, "PWD", "LC_CTYPE"},
    "interfaces": lambda value, demands: demands.spec.network or value in (["lo"], []),
}


def _no_rights(value: Mapping[str, str], *, by_root: bool) -> bool:
    """Nobody but root can give up the bound; with no-new-privileges set it bounds nothing more."""
    asked = _HELD | {_BOUND} if by_root else _HELD
    return set(value) == _HELD | {_BOUND} and all(int(value[name], 16) == 0 for name in asked)


def _facts(measured: Mapping[str, Any], demands: Demands) -> Iterator[str]:
    for name, holds in _FACTS.items():
        if name not in measured:
            yield f"{name} was not measured"
            continue
        try:
            good = holds(measured[name], demands)
        except (TypeError, ValueError, AttributeError, KeyError):
            good = False
        if not good:
            yield f"{name} is {_short(measured[name])}"


def _places(measured: Mapping[str, Any], demands: Demands) -> Iterator[str]:
    spec = demands.spec
    covers = tuple(bind.target for bind in spec.covers)
    # Where root looked into a folder that the agent can't enter, it can't enter what lies in it.
    closed = frozenset({"EACCES"}) if spec.by_root else frozenset()
    for name, places, good, unless, what in (
        ("absent", spec.absent, ["ENOENT"] * len(spec.absent), {"EACCES"}, "is in the cage"),
        ("covered", covers, demands.masks, closed, "isn't masked"),
        ("readOnly", spec.read_only, ["ro"] * len(spec.read_only), closed, "can be written"),
    ):
        found = measured.get(name)
        if not isinstance(found, list) or len(found) != len(good):
            yield f"{name} was not measured"
            continue
        for place, is_so, should in zip(places, found, good, strict=True):
            if is_so != should and not (isinstance(is_so, str) and is_so in unless):
                yield f"{_short(place)} {what}"


def _mounts(found: Any, spec: CageSpec) -> Iterator[str]:
    if not isinstance(found, list):
        yield "mounts were not measured"
        return
    expected = spec.writable
    for target in found:
        place = _unescape(target) if isinstance(target, str) else ""
        own = any(place == each or place.startswith(each + "/") for each in _OWN_WRITABLE)
        if place not in expected and not own:
            yield f"{_short(place)} is mounted writable"


def _acts(found: Any) -> Iterator[str]:
    if not isinstance(found, Mapping):
        yield "no forbidden act was tried"
        return
    for act, refusals in FORBIDDEN_ACTS.items():
        outcome = found.get(act)
        if outcome not in refusals:
            yield f"{act}: {_short(outcome)}"


def _unescape(place: str) -> str:
    for escaped, plain in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n")):
        place = place.replace(escaped, plain)
    return place.replace("\\134", "\\")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else ascii(value)
    text = text.encode("ascii", "backslashreplace").decode()
    return text if len(text) <= 120 else text[:117] + "..."  # noqa: PLR2004
