"""A tiny image with a shell and a few tools, made from this machine's own programs; no download."""

import io
import re
import shutil
import subprocess
import tarfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

IMAGE = "trustfloor-test/tools:1"
TOOLS = ("sh", "cat", "ls", "find", "stat", "id", "ln", "sleep", "head", "mkdir", "chmod", "touch")
RUNNER_UID = 10001
SECONDS = 60


def docker(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    """Run the engine's client; bounded."""
    return subprocess.run(["docker", *arguments], capture_output=True, check=check, timeout=SECONDS)


def engine_answers() -> bool:
    """Whether there is an engine to test with."""
    return shutil.which("docker") is not None and docker("version", check=False).returncode == 0


def tools_archive() -> bytes:
    """A tar of the tools, under /bin, and the libraries they load, where they expect them."""
    needed: dict[str, Path] = {}
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found is not None, f"this machine has no {tool}"
        program = Path(found).resolve()
        needed[f"bin/{tool}"] = program
        loaded = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
        for library in re.findall(r"(/\S+) \(0x", loaded.stdout):
            needed[library.lstrip("/")] = Path(library).resolve()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, path in sorted(needed.items()):
            member = tarfile.TarInfo(name)
            content = path.read_bytes()
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture(name="tools_image", scope="session")
def tools_image_fixture() -> str:
    """The image's name; made once a machine."""
    if not engine_answers():
        pytest.skip("no container engine answers")
    if docker("image", "inspect", IMAGE, check=False).returncode != 0:
        subprocess.run(
            ["docker", "import", "-", IMAGE],
            input=tools_archive(),
            capture_output=True,
            check=True,
            timeout=SECONDS,
        )
    return IMAGE


@dataclass(frozen=True)
class Cage:
    """A hardened container that waits, as the runner's user, with the vault mounted at /vault."""

    name: str

    def run(self, *command: str) -> str:
        """What a command in the container prints, errors included; never fails."""
        done = docker("exec", self.name, *command, check=False)
        return (done.stdout + done.stderr).decode("utf-8", "surrogateescape")

    def read_everything(self) -> str:
        """The names below /vault, and the content of every file that can be read there."""
        return self.run("find", "/vault") + self.run(
            "find", "/vault", "-follow", "-type", "f", "-exec", "cat", "{}", "+"
        )


@contextmanager
def cage(image: str, *mounts: str) -> Iterator[Cage]:
    """A hardened container for the length of the block; `mounts` are the engine's own options."""
    name = f"trustfloor-test-{uuid.uuid4().hex}"
    docker(
        "run", "--detach", "--interactive", "--name", name,
        "--network", "none", "--read-only", "--cap-drop", "ALL",
        "--security-opt", "no-new-privileges", "--pids-limit", "64",
        "--memory", "256m", "--memory-swap", "256m", "--user", f"{RUNNER_UID}:{RUNNER_UID}",
        "--init", "--log-driver", "none", *mounts, image, "cat",
    )  # fmt: skip
    try:
        yield Cage(name)
    finally:
        docker("rm", "--force", "--volumes", name)
