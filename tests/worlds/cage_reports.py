"""A spec of no real turn, and the reports that a good engine and a good probe would give of it."""

import copy
from pathlib import PurePosixPath
from typing import Any

from supervisor.ids import InstanceId, SessionId, TurnId
from supervisor.runtimes.container.receipt import FORBIDDEN_ACTS
from supervisor.runtimes.container.spec import ContainerSpec, Limits, container_spec

NONCE = "0123456789abcdef"
IMAGE = "sha256:" + "a" * 64


def a_spec(**changes: Any) -> ContainerSpec:
    return container_spec(
        **{
            "image": IMAGE,
            "instance": InstanceId("i" * 32),
            "session": SessionId("00000000-0000-4000-8000-000000000000"),
            "turn": TurnId("turn_1"),
            "started": 1_800_000_000.5,
            "vault_view": PurePosixPath("/srv/views/turn_1"),
            "turn_folder": PurePosixPath("/srv/turns/turn_1/run"),
            "limits": Limits(),
            **changes,
        }
    )


def a_report(spec: ContainerSpec) -> dict[str, Any]:
    """What engine 20.10 answers to an inspect of the created container, as far as it is judged."""
    asked = copy.deepcopy(spec.as_api())
    host = asked.pop("HostConfig")
    return {
        "Image": spec.image,
        "State": {"Status": "created", "Running": False, "OOMKilled": False, "ExitCode": 0},
        "AppArmorProfile": "",
        "ExecIDs": None,
        "Config": {**asked, "Volumes": None, "OnBuild": None},
        "NetworkSettings": {"Networks": {"none": {"NetworkID": ""}}},
        "Mounts": [
            {
                "Type": "bind",
                "Source": mount.source,
                "Destination": mount.target,
                "Mode": "",
                "RW": False,
                "Propagation": "rprivate",
            }
            for mount in spec.mounts
        ],
        "HostConfig": {
            **host,
            "Binds": None,
            "ContainerIDFile": "",
            "PortBindings": None,
            "VolumeDriver": "",
            "VolumesFrom": None,
            "Dns": None,
            "ExtraHosts": None,
            "GroupAdd": None,
            "Cgroup": "",
            "Links": None,
            "OomScoreAdj": 0,
            "ShmSize": 67108864,
            "Runtime": "runc",
            "ConsoleSize": [0, 0],
            "CgroupParent": "",
            "Devices": None,
            "DeviceCgroupRules": None,
            "DeviceRequests": None,
            "OomKillDisable": False,
            "MaskedPaths": [
                "/proc/acpi",
                "/proc/kcore",
                "/proc/keys",
                "/proc/timer_list",
                "/sys/firmware",
            ],
            "ReadonlyPaths": [
                "/proc/bus",
                "/proc/fs",
                "/proc/irq",
                "/proc/sys",
                "/proc/sysrq-trigger",
            ],
        },
    }


def a_measurement(spec: ContainerSpec) -> dict[str, Any]:
    """What the probe prints in a good cage."""
    none = "0" * 16
    return {
        "trustfloor": "receipt",
        "nonce": NONCE,
        "uids": [10001, 10001, 10001],
        "gids": [10001, 10001, 10001],
        "groups": [10001],
        "capabilities": dict.fromkeys(("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"), none),
        "noNewPrivileges": 1,
        "seccomp": 2,
        "mounts": [
            _mount("/", "overlay", "ro"),
            _mount("/proc", "proc", "rw"),
            _mount("/dev", "tmpfs", "rw"),
            _mount("/dev/pts", "devpts", "rw"),
            _mount("/dev/mqueue", "mqueue", "rw"),
            _mount("/sys", "sysfs", "ro"),
            _mount("/sys/fs/cgroup", "tmpfs", "rw"),
            _mount("/sys/fs/cgroup/pids", "cgroup", "ro"),
            _mount("/vault", "ext4", "ro"),
            _mount("/run/trustfloor", "ext4", "ro"),
            _mount("/tmp", "tmpfs", "rw"),
            _mount("/home/agent", "tmpfs", "rw"),
            _mount("/etc/hosts", "ext4", "ro"),
            _mount("/proc/sys", "proc", "ro"),
            _mount("/proc/keys", "tmpfs", "rw"),
            _mount("/sys/firmware", "tmpfs", "ro"),
        ],
        "interfaces": ["lo"],
        "routes": [],
        "devices": ["fd", "full", "null", "ptmx", "pts", "random", "tty", "urandom", "zero"],
        "processes": 1,
        "hostname": "sandbox",
        "environment": ["HOME", "HOSTNAME", "LANG", "PATH"],
        "memoryBytes": spec.limits.memory_bytes,
        "pids": spec.limits.pids,
        "fileBytes": spec.limits.file_bytes,
        "coreBytes": 0,
        "acts": {act: min(refusals) for act, refusals in FORBIDDEN_ACTS.items()},
        "micros": 5000,
    }


def _mount(target: str, kind: str, mode: str) -> dict[str, str]:
    return {
        "target": target,
        "type": kind,
        "mode": mode,
        "options": f"{mode},nosuid,nodev,noexec",
        "propagation": "private",
    }
