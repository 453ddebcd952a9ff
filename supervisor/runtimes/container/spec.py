"""All that the engine is told of a sandbox, in one place and as data.

There is no door for extra options: what is not a field here can't be asked of the engine. Whoever
reviews the cage reads `as_api`, and `verify.py` for what must be found in the engine's answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, Final

from supervisor.ids import InstanceId, SessionId, TurnId

AGENT_ID: Final = 10001
"""User and group of everything in a sandbox: no account of the host's."""

AGENT_USER: Final = f"{AGENT_ID}:{AGENT_ID}"
HOME: Final = "/home/agent"
VAULT: Final = "/vault"
TURN_FOLDER: Final = "/run/trustfloor"
CLI: Final = "/opt/trustfloor/claude"
HOSTNAME: Final = "sandbox"

ENTRYPOINT: Final = (
    "/usr/bin/python3",
    "-I",
    "-S",
    "-B",
    "/opt/trustfloor/runner_image/entry.py",
)

ENVIRONMENT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "HOME": HOME,
        "LANG": "C.UTF-8",
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    }
)
"""The container's own environment, and what the CLI's begins with; the rest of that comes later, in
the start line. What stands here is in `docker inspect` and in /proc/1/environ: nothing that is
worth hiding may."""

LABEL_INSTANCE: Final = "trustfloor.instance"
LABEL_TURN: Final = "trustfloor.turn"
LABEL_SESSION: Final = "trustfloor.session"
LABEL_STARTED: Final = "trustfloor.started"

_MIB: Final = 1 << 20
_OPEN_FILES: Final = 8192


@dataclass(frozen=True, slots=True)
class Limits:
    """What a sandbox may use. Bytes; processes and threads together; processor cores.

    Memory is all there is: swap is off, and both tmpfs count towards it. `file_bytes` bounds any
    single file.
    """

    memory_bytes: int = 1024 * _MIB
    pids: int = 256
    cpus: float = 2.0
    tmp_bytes: int = 256 * _MIB
    home_bytes: int = 256 * _MIB
    file_bytes: int = 256 * _MIB

    def fitting(self, processors: int) -> "Limits":
        """These limits on a machine with so many processors: an engine refuses more than it has."""
        return Limits(
            memory_bytes=self.memory_bytes,
            pids=self.pids,
            cpus=min(self.cpus, float(processors)),
            tmp_bytes=self.tmp_bytes,
            home_bytes=self.home_bytes,
            file_bytes=self.file_bytes,
        )


@dataclass(frozen=True, slots=True)
class ReadOnlyMount:
    """A folder of the host's, shown read-only: itself, without what is mounted below it.

    `propagation` is `rprivate` wherever the engine takes that (mount_namespaces(7)).
    """

    source: str
    target: str
    propagation: str = "rprivate"

    def as_api(self) -> dict[str, Any]:
        """The engine's long form: the short one splits at colons and makes missing folders.

        NonRecursive, because `ReadOnly` does not reach mounts below the source.
        """
        return {
            "Type": "bind",
            "Source": self.source,
            "Target": self.target,
            "ReadOnly": True,
            "BindOptions": {"Propagation": self.propagation, "NonRecursive": True},
        }


@dataclass(frozen=True, slots=True)
class Tmpfs:
    """A writable folder in memory."""

    target: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """One sandbox. `image` is an image id (`sha256:…`), so that a moved tag changes nothing."""

    name: str
    image: str
    limits: Limits
    mounts: tuple[ReadOnlyMount, ...]
    tmpfs: tuple[Tmpfs, ...]
    labels: tuple[tuple[str, str], ...]

    def as_api(self) -> dict[str, Any]:
        """The body of the engine's `POST /containers/create`."""
        return {
            "Image": self.image,
            "Entrypoint": list(ENTRYPOINT),
            "Cmd": [],
            "User": AGENT_USER,
            "Hostname": HOSTNAME,
            "WorkingDir": "/",
            "Env": environment_entries(),
            "Labels": dict(self.labels),
            "OpenStdin": True,
            "StdinOnce": True,
            "AttachStdin": True,
            "AttachStdout": True,
            "AttachStderr": True,
            "Tty": False,
            # With no network at all the kernel's own empty namespace is enough: the engine would
            # otherwise set one up by a program of its own, half of a start's time.
            "NetworkDisabled": True,
            "StopSignal": "SIGKILL",
            "StopTimeout": 0,
            "Healthcheck": {"Test": ["NONE"]},
            "HostConfig": self._host_config(),
        }

    def _host_config(self) -> dict[str, Any]:
        limits = self.limits
        return {
            "NetworkMode": "none",
            "ReadonlyRootfs": True,
            "Privileged": False,
            "CapAdd": [],
            "CapDrop": ["ALL"],
            # No `seccomp=`: the engine's default profile. Naming one could only be a way out of it.
            "SecurityOpt": ["no-new-privileges"],
            # An own init of the engine's would run under the agent's user and outside the seal that
            # the entry program puts on; the entry is pid 1 itself and collects the dead.
            "Init": False,
            "IpcMode": "none",
            "PidMode": "",
            "UTSMode": "",
            "UsernsMode": "",
            "CgroupnsMode": "private",
            "LogConfig": {"Type": "none", "Config": {}},
            "RestartPolicy": {"Name": "no", "MaximumRetryCount": 0},
            "AutoRemove": False,
            "PublishAllPorts": False,
            "Mounts": [mount.as_api() for mount in self.mounts],
            "Tmpfs": {each.target: ",".join(each.options) for each in self.tmpfs},
            "PidsLimit": limits.pids,
            "Memory": limits.memory_bytes,
            "MemorySwap": limits.memory_bytes,
            "NanoCpus": int(limits.cpus * 1e9),
            "Ulimits": [
                {"Name": "core", "Soft": 0, "Hard": 0},
                {"Name": "fsize", "Soft": limits.file_bytes, "Hard": limits.file_bytes},
                {"Name": "nofile", "Soft": _OPEN_FILES, "Hard": _OPEN_FILES},
            ],
        }


def container_spec(  # noqa: PLR0913  # the turn, and where its things are
    *,
    image: str,
    instance: InstanceId,
    session: SessionId | None,
    turn: TurnId,
    started: float,
    vault_view: PurePosixPath,
    turn_folder: PurePosixPath,
    limits: Limits,
    engine_root: PurePosixPath | None = None,
) -> ContainerSpec:
    """The sandbox of one turn; `session` None: of any, as that isn't known yet.

    `engine_root` is where the engine keeps its volumes; None: nothing of ours lies there.

    `vault_view` and `turn_folder` are absolute paths as the engine's host has them. `started` is in
    seconds since the epoch, for people who look at leftovers; nothing is decided by it.
    """
    return ContainerSpec(
        name=f"trustfloor-{turn}",
        image=image,
        limits=limits,
        mounts=(
            ReadOnlyMount(str(vault_view), VAULT, _propagation(vault_view, engine_root)),
            ReadOnlyMount(str(turn_folder), TURN_FOLDER, _propagation(turn_folder, engine_root)),
        ),
        # `exec` on purpose: agents run what they write, and an interpreter is there anyway.
        tmpfs=(
            Tmpfs("/tmp", _writable(limits.tmp_bytes, "mode=1777")),  # noqa: S108  # in the sandbox
            Tmpfs(
                HOME,
                _writable(limits.home_bytes, "mode=0700", f"uid={AGENT_ID}", f"gid={AGENT_ID}"),
            ),
        ),
        labels=labels(instance, session, turn, started),
    )


def labels(
    instance: InstanceId, session: SessionId | None, turn: TurnId, started: float
) -> tuple[tuple[str, str], ...]:
    """What marks a container as ours: the reaper goes by these, never by a name."""
    return (
        (LABEL_INSTANCE, instance),
        *(() if session is None else ((LABEL_SESSION, session),)),
        (LABEL_STARTED, str(int(started))),
        (LABEL_TURN, turn),
    )


def environment_entries() -> list[str]:
    """The container's environment as the engine takes it and reports it."""
    return [f"{name}={value}" for name, value in ENVIRONMENT.items()]


def environment_names() -> frozenset[str]:
    """The variables that a sandbox may have before the CLI is started."""
    return frozenset(ENVIRONMENT)


def _propagation(source: PurePosixPath, engine_root: PurePosixPath | None) -> str:
    """The engine binds nothing privately out of its own root, lest its volumes couldn't be removed.

    What the host's root mounts below such a source shows in the sandbox as well; nobody else can.
    """
    inside = engine_root is not None and source.is_relative_to(engine_root)
    return "rslave" if inside else "rprivate"


def _writable(size: int, *options: str) -> tuple[str, ...]:
    return ("rw", "exec", "nosuid", "nodev", f"size={size}", *options)
