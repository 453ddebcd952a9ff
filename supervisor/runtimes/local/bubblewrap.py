"""The command line that makes a cage of bubblewrap (0.6 or newer), out of a spec that is data.

All that an agent at `vault` can see is named here or in the spec: what isn't bound isn't there.
Facts this rests on (bubblewrap 0.8.0): it always sets no-new-privileges; a mount hides what is at
its place until the file there is replaced on the host; `--cap-drop ALL` leaves root's user id, and
with it files of /proc that only mode bits protect, so those are bound read-only here (bubblewrap
means to, and misses folders that root without rights may not write, such as /proc/sys).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

HOSTNAME: Final = "vault"
ENTRY: Final = "/run/trustfloor/entry.py"
"""Where the cage's first program is, inside."""
MAX_MOUNTS: Final = 1_500
"""Masks, read-only and kept places of one cage. Each costs a look through all mounts there are."""

TMP_BYTES: Final = 1 << 30
HOME_BYTES: Final = 256 << 20

ETC: Final = (
    "alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf", "debian_version",
    "default/locale", "fonts", "gai.conf", "group", "host.conf", "hosts", "inputrc",
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "locale.alias", "locale.conf", "localtime",
    "magic", "mime.types", "nsswitch.conf", "os-release", "passwd", "perl", "pki/ca-trust",
    "pki/tls/cert.pem", "pki/tls/certs", "profile", "profile.d", "protocols", "resolv.conf",
    "services", "shells", "ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone",
)  # fmt: skip
"""What is shown of /etc: what programs need to start, to find names and to check certificates.

No accounts' passwords, no keys, no services' settings.
"""

ROOT_FOLDERS: Final = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Beside /usr, which they lead into on a merged system."""

GUARDED_PROC: Final = ("acpi", "bus", "driver", "fs", "irq", "mtrr", "scsi", "sys", "sysrq-trigger")
"""Of /proc: what root may write by mode bits alone. proc(5)."""

SWITCHING: Final = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
"""What the entry needs to become the vault's owner, and gives up with it."""


@dataclass(frozen=True, slots=True)
class Bind:
    """A file or folder of the host, shown at `target`."""

    source: str
    target: str
    writable: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link in the cage."""

    text: str
    target: str


@dataclass(frozen=True, slots=True)
class Emptied:
    """A folder that is shown with `kept` in it and nothing else; nothing can be added to it."""

    target: str
    kept: tuple[Bind | Link, ...] = ()


@dataclass(frozen=True, slots=True)
class CageSpec:
    """All that one cage is. Paths are absolute and, in the vault, the same inside and outside.

    `covers` and `emptied` hide, `read_only` are targets that are shown and can't be changed,
    `kept_names` are folders that can't be renamed or removed.
    `uid` and `gid` are who the agent is; `by_root` says that bubblewrap is started by root.
    `absent` are places that must not be there.
    """

    vault: str
    cwd: str
    home: str
    system: tuple[Bind | Link, ...]
    programs: tuple[Bind, ...]
    turn: tuple[Bind, ...]
    uid: int
    gid: int
    by_root: bool
    covers: tuple[Bind, ...] = ()
    read_only: tuple[str, ...] = ()
    emptied: tuple[Emptied, ...] = ()
    kept_names: tuple[str, ...] = ()
    network: bool = True
    absent: tuple[str, ...] = ()

    @property
    def mounts(self) -> int:
        """How many masks and read-only places there are."""
        kept = sum(len(each.kept) for each in self.emptied)
        plain = (self.covers, self.read_only, self.emptied, self.kept_names)
        return sum(map(len, plain)) + kept

    @property
    def writable(self) -> frozenset[str]:
        """Where files can be made that stay or are the cage's own."""
        kept = {
            bind.target
            for each in self.emptied
            for bind in each.kept
            if isinstance(bind, Bind) and bind.writable
        }
        turn = {bind.target for bind in self.turn if bind.writable}
        own = {self.vault, self.home, "/tmp"}  # noqa: S108
        return frozenset({*own, *turn, *kept, *self.kept_names})


def arguments(spec: CageSpec, seccomp_fd: int) -> list[str]:
    """Bubblewrap's arguments, without the command; later mounts lie over earlier ones."""
    return [
        *_namespaces(spec),
        *_system(spec),
        *_folders_to(spec),
        *("--bind", spec.vault, spec.vault),
        *(word for bind in spec.programs for word in _mount(bind)),
        *_hidden(spec),
        *(word for bind in spec.turn for word in _mount(bind)),
        *(word for each in spec.emptied for word in ("--remount-ro", each.target)),
        *("--remount-ro", "/"),
        *("--chdir", "/"),  # the vault may be closed to all but its owner, which the entry becomes
        *("--seccomp", str(seccomp_fd)),
    ]


def entry_command(
    spec: CageSpec, interpreter: str, looks_fd: int, command: tuple[str, ...]
) -> list[str]:
    """What runs in the cage: the entry, then the CLI's own command."""
    who = (str(spec.uid), str(spec.gid))
    return [interpreter, "-I", "-S", ENTRY, *who, str(looks_fd), *command]


def looks(spec: CageSpec) -> list[str]:
    """Where the entry goes, and what it looks at.

    By a descriptor, as any process in the cage can read a command line.
    """
    lists = (spec.absent, tuple(bind.target for bind in spec.covers), spec.read_only)
    return [spec.cwd, *(word for each in lists for word in (str(len(each)), *each))]


def _namespaces(spec: CageSpec) -> Iterator[str]:
    yield from ("--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try")
    if not spec.network:
        yield "--unshare-net"
    if not spec.by_root:
        yield from ("--unshare-user", "--disable-userns")
    yield from ("--hostname", HOSTNAME, "--new-session", "--die-with-parent")
    yield from ("--cap-drop", "ALL")
    if spec.by_root:
        for capability in SWITCHING:
            yield from ("--cap-add", capability)


def _system(spec: CageSpec) -> Iterator[str]:
    for each in spec.system:
        yield from _mount(each)
    # Bubblewrap closes the folders that it makes by itself to all but root.
    for folder in _parents(each.target for each in spec.system):
        yield from ("--chmod", "0755", folder)
    yield from ("--proc", "/proc")
    for name in GUARDED_PROC:
        yield from ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")
    yield from ("--dev", "/dev")
    yield from ("--perms", "1777", "--size", str(TMP_BYTES), "--tmpfs", "/tmp")  # noqa: S108
    yield from ("--perms", "1777", "--size", str(HOME_BYTES), "--tmpfs", spec.home)


def _folders_to(spec: CageSpec) -> Iterator[str]:
    """The folders above what is bound, open to the cage's user; those that are there stay so."""
    bound = (spec.vault, *(bind.target for bind in (*spec.programs, *spec.turn)))
    for folder in _parents(bound):
        if not folder.startswith((spec.vault + "/", "/usr/")):
            yield from ("--dir", folder)


def _parents(targets: Iterable[str]) -> list[str]:
    """All folders above these, each once, the upper ones first; without the root."""
    found: dict[str, None] = {}
    for target in targets:
        parts = target.split("/")[1:-1]
        for depth in range(1, len(parts) + 1):
            found["/" + "/".join(parts[:depth])] = None
    return list(found)


def _hidden(spec: CageSpec) -> Iterator[str]:
    """What is masked or kept from being written; folders before what is in them."""
    steps: list[tuple[str, list[str]]] = [
        *((bind.target, list(_mount(bind))) for bind in spec.covers),
        *((target, ["--ro-bind", target, target]) for target in spec.read_only),
        # Onto itself: nothing that something is mounted on can be renamed.
        *((target, ["--bind", target, target]) for target in spec.kept_names),
        *((each.target, list(_emptied(each))) for each in spec.emptied),
    ]
    for _target, words in sorted(steps, key=lambda step: step[0].count("/")):
        yield from words


def _emptied(each: Emptied) -> Iterator[str]:
    yield from ("--perms", "0755", "--tmpfs", each.target)
    for kept in each.kept:
        yield from _mount(kept)


def _mount(each: Bind | Link) -> tuple[str, str, str]:
    if isinstance(each, Link):
        return "--symlink", each.text, each.target
    return "--bind" if each.writable else "--ro-bind", each.source, each.target
