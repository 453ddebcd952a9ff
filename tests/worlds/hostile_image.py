"""Runner images that misbehave: the real one with a program of ours in one's place.

Built once for each content, from what is on this machine, without a network. A test chooses what
the program does by the turn's system prompt: `hostile("forged_events")`.
"""

import hashlib
import subprocess
import tempfile
from pathlib import Path

from supervisor.runtimes.container.image import RUNNER_IMAGE
from supervisor.runtimes.container.spec import CLI, ENTRYPOINT

PROGRAM = Path(__file__).with_name("hostile_cli.py")
INTERPRETER = b"#!/usr/bin/python3 -IBS\n"
SECONDS = 300


def hostile(mode: str, **given: str) -> str:
    """The system prompt that makes the program behave so."""
    return " ".join(["hostile:", mode, *(f"{name}={value}" for name, value in given.items())])


def docker(*arguments: str, check: bool = True) -> str:
    """Run the engine's client, bounded; what it printed."""
    done = subprocess.run(
        ["docker", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env={"DOCKER_BUILDKIT": "0", "PATH": "/usr/local/bin:/usr/bin:/bin"},
    )
    if check and done.returncode != 0:
        raise AssertionError(f"docker {arguments[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def hostile_image() -> str:
    """The image whose CLI is `hostile_cli.py`; its name."""
    return _with("hostile", CLI, INTERPRETER + PROGRAM.read_bytes())


def broken_image(entry: str) -> str:
    """An image whose entry program is this text; its name."""
    return _with("broken", ENTRYPOINT[-1], entry.encode())


def _with(kind: str, place: str, program: bytes) -> str:
    """The real image with a program in that place; built if this content isn't there yet."""
    runner = docker("image", "inspect", "--format", "{{.Id}}", RUNNER_IMAGE)
    content = hashlib.sha256(runner.encode() + program).hexdigest()[:16]
    name = f"trustfloor-test/{kind}:{content}"
    if docker("image", "inspect", name, check=False) in ("", "[]"):
        with tempfile.TemporaryDirectory(prefix="trustfloor-test-") as folder:
            file = Path(folder) / "program"
            file.write_bytes(program)
            file.chmod(0o755)
            recipe = f"FROM {RUNNER_IMAGE}\nCOPY program {place}\n"
            file.with_name("Dockerfile").write_text(recipe)
            docker("build", "--network", "none", "--quiet", "--tag", name, folder)
    return name


def tag(image: str, name: str) -> None:
    """Let `name` mean that image from now on."""
    docker("tag", image, name)


def untag(name: str) -> None:
    """Let `name` mean nothing; the image stays, under its other names."""
    docker("image", "rm", "--no-prune", name, check=False)
