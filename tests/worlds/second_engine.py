"""A second engine, a registry, and disks of a test's own: nothing in them is anyone else's."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.worlds.waiting import A_WHILE

PROGRAMS = "/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin"
SECONDS = 120

needs_an_engine_of_its_own = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("dockerd", path=PROGRAMS) is None,
    reason="only root can start an engine, and only where its program is",
)


@dataclass(frozen=True)
class SmallDisk:
    """A file system of a few megabytes in memory."""

    folder: Path

    def fill(self, leave: int = 0) -> None:
        """Take all of its room but so many bytes."""
        self.free()
        room = os.statvfs(self.folder)
        with self._filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, room.f_bavail * room.f_frsize - leave)

    def free(self) -> None:
        """Give back what `fill` took."""
        self._filler.unlink(missing_ok=True)

    @property
    def _filler(self) -> Path:
        return self.folder / "filler"


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[SmallDisk]:
    """A disk of that size at the folder, which is made; gone afterwards. Only for root."""
    folder.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "trustfloor-test", str(folder))
    subprocess.run(mount, check=True)
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(("umount", "--lazy", str(folder)), check=True)


@dataclass(frozen=True)
class SecondEngine:
    """An engine that nobody else uses; it has no network of its own."""

    socket: Path

    def docker(self, *arguments: str, given: bytes | None = None, check: bool = True) -> str:
        """Run the client on it; what it printed."""
        done = subprocess.run(
            ("docker", "--host", f"unix://{self.socket}", *arguments),
            input=given,
            capture_output=True,
            check=False,
            timeout=SECONDS,
        )
        assert done.returncode == 0 or not check, done.stderr.decode()
        return done.stdout.decode().strip()

    def take_over(self, image: str) -> None:
        """Take over an image of the machine's engine."""
        loading = ("docker", "--host", f"unix://{self.socket}", "load")
        with subprocess.Popen(("docker", "save", image), stdout=subprocess.PIPE) as saved:
            subprocess.run(
                loading, stdin=saved.stdout, check=True, capture_output=True, timeout=SECONDS
            )
        assert saved.returncode == 0

    def forget(self, *images: str) -> None:
        """Remove images and what only they were made of."""
        self.docker("image", "rm", "--force", *images, check=False)


@contextmanager
def second_engine(
    folder: Path, root: Path, *options: str, environment: Mapping[str, str] | None = None
) -> Iterator[SecondEngine]:
    """A real engine that keeps what it has in `root`; `folder` has a short name, for the socket."""
    with (
        _own_bridge() as bridge,
        _started(folder, root, bridge, options, environment or {}) as engine,
    ):
        yield engine


@contextmanager
def _own_bridge() -> Iterator[str]:
    """A bridge that leads nowhere: told to have none, an engine removes the machine's own."""
    name = f"tft{os.getpid()}"
    subprocess.run(("ip", "link", "add", name, "type", "bridge"), check=True)
    try:
        address = f"10.213.{os.getpid() >> 6 & 255}.{(os.getpid() & 63) << 2 | 1}/30"
        subprocess.run(("ip", "address", "add", address, "dev", name), check=True)
        yield name
    finally:
        subprocess.run(("ip", "link", "delete", name), check=True)


@contextmanager
def _started(
    folder: Path, root: Path, bridge: str, options: Sequence[str], environment: Mapping[str, str]
) -> Iterator[SecondEngine]:
    config = folder / "engine.json"
    config.write_text("{}")  # not the machine's
    engine = SecondEngine(folder / "engine.sock")
    log = (folder / "engine.log").open("wb")
    program = shutil.which("dockerd", path=PROGRAMS)
    assert program is not None
    process = subprocess.Popen(
        (
            program, "--config-file", str(config), "--host", f"unix://{engine.socket}",
            "--data-root", str(root), "--exec-root", str(folder / "exec"),
            "--pidfile", str(folder / "engine.pid"), "--bridge", bridge,
            "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false",
            *options,
        ),
        stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    try:
        _until_it_answers(process, engine.socket, folder / "engine.log")
        yield engine
    finally:
        process.terminate()
        process.wait(SECONDS)
        log.close()
        _let_go_of(folder)


def _until_it_answers(process: subprocess.Popen[bytes], path: Path, log: Path) -> None:
    until = time.monotonic() + A_WHILE
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()
        with closing(socket.socket(socket.AF_UNIX)) as knock:
            if knock.connect_ex(str(path)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(log.read_text())


def _let_go_of(folder: Path) -> None:
    """Unmount what an engine leaves mounted below the folder."""
    mounted = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for place in sorted(mounted, reverse=True):
        if place.startswith(f"{folder}/exec/"):
            subprocess.run(("umount", "--lazy", place), check=True)


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder with a short name."""
    with tempfile.TemporaryDirectory(prefix="tf-", dir="/tmp", ignore_cleanup_errors=True) as name:
        yield Path(name)


def free_port() -> int:
    """A port on loopback that nobody listens on now."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def registry(folder: Path, port: int) -> Iterator[None]:
    """The distribution's registry on loopback, over the folder."""
    program = shutil.which("docker-registry", path=PROGRAMS)
    assert program, "docker-registry is needed: apt-get install docker-registry"
    folder.mkdir(exist_ok=True)
    config = folder / "registry.yml"
    config.write_text(
        "version: 0.1\nlog: {level: error}\n"
        f"storage: {{filesystem: {{rootdirectory: '{folder}'}}}}\n"
        f"http: {{addr: '127.0.0.1:{port}'}}\n"
    )
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            (program, "serve", str(config)), stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        until = time.monotonic() + A_WHILE
        while time.monotonic() < until:
            assert process.poll() is None, (folder / "log").read_text()
            with closing(socket.socket()) as knock:
                if knock.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.02)
        yield
    finally:
        process.terminate()
        process.wait(SECONDS)
