"""Whether the container that the engine made is a cage: its own report against the invariants.

Judged before start. Each fact has its row; a fact that is missing counts against the container, and
so does any host option that is set and not known here: a newer engine's new door is a shortfall
until somebody has looked at it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from supervisor.runtimes.container import spec as cage
from supervisor.runtimes.container.spec import ContainerSpec

_STATE: Final = "State.Status"
MASKED_PATHS: Final = frozenset({"/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"})
READ_ONLY_PATHS: Final = frozenset(
    {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
)


@dataclass(frozen=True, slots=True)
class Check:
    """One fact of the report, by its path, and when it is as it must be.

    `may_be_absent`: the engine leaves it out where nothing was set.
    """

    path: str
    expected: str
    holds: Callable[[ContainerSpec, Any], bool]
    may_be_absent: bool = False


def shortfalls(
    spec: ContainerSpec, inspected: Mapping[str, Any], state: str = "created"
) -> tuple[str, ...]:
    """What the container lacks, in words that name the fact; empty: nothing.

    `state` is the one it has to be in, as the engine calls it.
    """
    wanted = Check(_STATE, state, _exactly(state))
    checks = (wanted if each.path == _STATE else each for each in CHECKS)
    return (*_unmet(checks, spec, inspected), *_unknown_host_options(inspected))


def _unmet(
    checks: Iterable[Check], spec: ContainerSpec, inspected: Mapping[str, Any]
) -> Iterator[str]:
    for check in checks:
        found, value = _look_up(inspected, check.path)
        if not found:
            if not check.may_be_absent:
                yield f"{check.path} is not reported (expected {check.expected})"
        elif not _safely(check, spec, value):
            yield f"{check.path} is {_short(value)}, expected {check.expected}"


def _safely(check: Check, spec: ContainerSpec, value: Any) -> bool:
    """A report of another shape than expected does not hold."""
    try:
        return check.holds(spec, value)
    except (TypeError, AttributeError, KeyError, ValueError):
        return False


def _unknown_host_options(inspected: Mapping[str, Any]) -> Iterator[str]:
    host_config = inspected.get("HostConfig")
    if not isinstance(host_config, Mapping):
        return
    for name, value in host_config.items():
        if name not in _KNOWN_HOST_OPTIONS and not _is_nothing(value):
            yield f"HostConfig.{name} is {_short(value)}, and nobody knows it here"


def _look_up(report: Any, path: str) -> tuple[bool, Any]:
    for part in path.split("."):
        if not isinstance(report, Mapping) or part not in report:
            return False, None
        report = report[part]
    return True, report


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "…"  # noqa: PLR2004


def _is_nothing(value: Any) -> bool:
    """Whether a value says that an option is not used; [0, 0] is how a console's size says so."""
    return not value or (isinstance(value, list) and not any(value))


def _nothing(_spec: ContainerSpec, value: Any) -> bool:
    return _is_nothing(value)


def _exactly(wanted: Any) -> Callable[[ContainerSpec, Any], bool]:
    return lambda _spec, value: type(value) is type(wanted) and value == wanted


def _asked(get: Callable[[ContainerSpec], Any]) -> Callable[[ContainerSpec, Any], bool]:
    return lambda spec, value: bool(value == get(spec))


def _one_of(*wanted: Any) -> Callable[[ContainerSpec, Any], bool]:
    return lambda _spec, value: value in wanted


def _host(spec: ContainerSpec, name: str) -> Any:
    return spec.as_api()["HostConfig"][name]


def _same_host(name: str) -> Callable[[ContainerSpec, Any], bool]:
    return lambda spec, value: bool(value == _host(spec, name))


def _mounted(spec: ContainerSpec, value: Any) -> bool:
    """Ours, each once, a read-only bind from where and as we said; tmpfs are not listed here."""
    wanted = sorted((mount.source, mount.target, mount.propagation) for mount in spec.mounts)
    found = sorted((each["Source"], each["Destination"], each["Propagation"]) for each in value)
    return found == wanted and all(each["Type"] == "bind" and each["RW"] is False for each in value)


def _mounts_asked(spec: ContainerSpec, value: Any) -> bool:
    wanted = {mount.target: mount.as_api() for mount in spec.mounts}
    return len(value) == len(wanted) and {each["Target"]: each for each in value} == wanted


def _ulimits(spec: ContainerSpec, value: Any) -> bool:
    def comparable(limits: Any) -> list[tuple[str, int, int]]:
        return sorted((each["Name"], each["Soft"], each["Hard"]) for each in limits)

    return comparable(value) == comparable(_host(spec, "Ulimits"))


def _tmpfs(spec: ContainerSpec, value: Any) -> bool:
    return {target: set(options.split(",")) for target, options in value.items()} == {
        each.target: set(each.options) for each in spec.tmpfs
    }


def _environment(_spec: ContainerSpec, value: Any) -> bool:
    return sorted(value) == sorted(cage.environment_entries())


def _labels(spec: ContainerSpec, value: Any) -> bool:
    return all(value.get(name) == wanted for name, wanted in spec.labels)


def _covers(wanted: frozenset[str]) -> Callable[[ContainerSpec, Any], bool]:
    return lambda _spec, value: isinstance(value, list) and wanted <= set(value)


CHECKS: Final = (
    # Who it is, and of what
    Check("Image", "the image asked for", _asked(lambda spec: spec.image)),
    Check(_STATE, "created", _exactly("created")),
    Check("Config.User", cage.AGENT_USER, _exactly(cage.AGENT_USER)),
    Check("Config.Entrypoint", "the entry program", _exactly(list(cage.ENTRYPOINT))),
    Check("Config.Cmd", "nothing", _nothing),
    Check("Config.Env", "no variable but its own three", _environment),
    Check("Config.Labels", "our labels", _labels),
    Check("Config.Hostname", cage.HOSTNAME, _exactly(cage.HOSTNAME)),
    Check("Config.WorkingDir", "/", _one_of("/", "")),
    Check("Config.Volumes", "none of the image's", _nothing, may_be_absent=True),
    Check("Config.ExposedPorts", "none", _nothing, may_be_absent=True),
    Check("Config.Healthcheck", "none", _one_of(None, {"Test": ["NONE"]}), may_be_absent=True),
    # How one speaks with it
    Check("Config.Tty", "no terminal", _exactly(False)),
    Check("Config.OpenStdin", "an input", _exactly(True)),
    Check("Config.StdinOnce", "an input that ends with its first reader", _exactly(True)),
    Check("ExecIDs", "nothing else in it", _nothing),
    # Rights
    Check("HostConfig.Privileged", "not privileged", _exactly(False)),
    Check("HostConfig.CapAdd", "no capability", _nothing),
    Check("HostConfig.CapDrop", "ALL", _exactly(["ALL"])),
    Check(
        "HostConfig.SecurityOpt",
        "no-new-privileges and the default profiles",
        _one_of(["no-new-privileges"], ["no-new-privileges:true"]),
    ),
    Check("AppArmorProfile", "not unconfined", lambda _s, v: "unconfined" not in v),
    Check("HostConfig.GroupAdd", "no further group", _nothing),
    Check("HostConfig.Sysctls", "none", _nothing, may_be_absent=True),
    # Namespaces
    Check("HostConfig.NetworkMode", "none", _exactly("none")),
    Check("Config.NetworkDisabled", "disabled", _exactly(True), may_be_absent=True),
    Check(
        "NetworkSettings.Networks",
        "none",
        lambda _s, v: isinstance(v, dict) and set(v) <= {"none"},
    ),
    Check("HostConfig.PidMode", "its own", _exactly("")),
    Check("HostConfig.IpcMode", "none", _exactly("none")),
    Check("HostConfig.UTSMode", "its own", _exactly("")),
    Check("HostConfig.UsernsMode", "the engine's default", _exactly("")),
    Check("HostConfig.CgroupnsMode", "private", _exactly("private")),
    Check("HostConfig.Cgroup", "its own", _nothing, may_be_absent=True),
    Check("HostConfig.CgroupParent", "the engine's default", _nothing),
    # Files
    Check("HostConfig.ReadonlyRootfs", "a read-only root", _exactly(True)),
    Check("Mounts", "the vault view and the turn folder, read-only", _mounted),
    Check("HostConfig.Mounts", "the two mounts asked for", _mounts_asked),
    Check("HostConfig.Binds", "none", _nothing),
    Check("HostConfig.VolumesFrom", "none", _nothing),
    Check("HostConfig.VolumeDriver", "none", _nothing, may_be_absent=True),
    Check("HostConfig.Tmpfs", "two folders in memory, with their limits", _tmpfs),
    Check("HostConfig.MaskedPaths", "the kernel's own secrets", _covers(MASKED_PATHS)),
    Check("HostConfig.ReadonlyPaths", "the kernel's settings", _covers(READ_ONLY_PATHS)),
    Check("HostConfig.LogConfig.Type", "none", _exactly("none")),
    # Devices and the network's doors
    Check("HostConfig.Devices", "none", _nothing),
    Check("HostConfig.DeviceRequests", "none", _nothing),
    Check("HostConfig.DeviceCgroupRules", "none", _nothing),
    Check("HostConfig.PortBindings", "none", _nothing),
    Check("HostConfig.PublishAllPorts", "none", _exactly(False)),
    Check("HostConfig.Links", "none", _nothing),
    Check("HostConfig.ExtraHosts", "none", _nothing),
    # Limits
    Check("HostConfig.Memory", "the memory limit", _same_host("Memory")),
    Check("HostConfig.MemorySwap", "no swap beyond it", _same_host("MemorySwap")),
    Check("HostConfig.OomKillDisable", "not off", _one_of(False, None)),
    Check("HostConfig.PidsLimit", "the limit on processes", _same_host("PidsLimit")),
    Check("HostConfig.NanoCpus", "the limit on processors", _same_host("NanoCpus")),
    Check("HostConfig.Ulimits", "the limits on files", _ulimits),
    # Its end
    Check("HostConfig.RestartPolicy.Name", "never again", _one_of("no", "")),
    Check("HostConfig.AutoRemove", "removed by us, who ask how it died", _exactly(False)),
    Check("HostConfig.Init", "no program but ours", _one_of(False, None), may_be_absent=True),
)

_KNOWN_HOST_OPTIONS: Final = frozenset(
    {check.path.split(".")[1] for check in CHECKS if check.path.startswith("HostConfig.")}
    | {
        "Runtime",  # which of the engine's: its operator's choice; the receipt measures the result
        "ShmSize",  # IpcMode none has no shared memory to size
        "OomScoreAdj",  # who dies first when the machine runs short, not what it may
    }
)
