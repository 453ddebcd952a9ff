"""What the sandbox's image is built on: pulled from a real registry, else made of packages.

On an engine of the test's own, for which a registry on loopback stands for the public one; no
other can be reached from it. The agent's CLI is a small script, and what makes packages into a base
copies one that was made before: how they do it is not in question here.
"""

import os
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.worlds.base_images import (
    RUNNER,
    for_another_machine,
    good_base,
    tar_of,
    with_an_old_python,
)
from tests.worlds.engine_image import tools_archive
from tests.worlds.registries import empty, nobody, refusing, registry_behind_a_slow_line, silent
from tests.worlds.second_engine import (
    SecondEngine,
    free_port,
    needs_an_engine_of_its_own,
    registry,
    second_engine,
    short_folder,
    small_disk,
)

pytestmark = [pytest.mark.engine, needs_an_engine_of_its_own]

ROOT = Path(__file__).parents[2]
PUBLIC, LOCAL = "debian:bookworm-slim", "trustfloor/base:local"
STILL_SECONDS = 2


@dataclass
class World:
    """An engine, the port of its registry, and a base that is good, as a tar file."""

    engine: SecondEngine
    port: int
    folder: Path
    base: Path

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [ROOT / "scripts" / script],
            env={
                **{name: value for name, value in os.environ.items() if name != "TRUSTFLOOR_BASE"},
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
                "TRUSTFLOOR_ENGINE_SOCKET": str(self.engine.socket),
                "TRUSTFLOOR_CLI": str(self.folder / "bin" / "claude"),
                "TRUSTFLOOR_PULL_SECONDS": str(STILL_SECONDS),
                **variables,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def has(self, image: str) -> bool:
        return bool(self.engine.docker("image", "ls", "--quiet", image))

    def label(self, image: str, name: str) -> str:
        wanted = f'{{{{index .Config.Labels "{name}"}}}}'
        return self.engine.docker("image", "inspect", "--format", wanted, image)

    def forget_all(self) -> None:
        if images := self.engine.docker("image", "ls", "--all", "--quiet").split():
            self.engine.forget(*images)

    def here(self, name: str) -> str:
        """The name of an image in the registry on loopback."""
        return f"127.0.0.1:{self.port}/library/{name}"


@pytest.fixture(name="world", scope="module")
def world_fixture() -> Iterator[World]:
    """Everything but a registry that runs."""
    with short_folder() as folder:
        port = free_port()
        _programs(folder / "bin", folder / "base.tar")
        base = folder / "base.tar"
        good_base(base)
        # No way out, so that a machine with the real registry in reach finds what others find.
        nowhere = {"HTTPS_PROXY": "http://127.0.0.1:1", "NO_PROXY": "127.0.0.1"}
        mirror = f"--registry-mirror=http://127.0.0.1:{port}"
        with (
            small_disk(folder / "disk", 2048) as disk,  # in memory, as it is quicker
            second_engine(folder, disk.folder / "root", mirror, environment=nowhere) as engine,
        ):
            yield World(engine, port, folder, base)


@pytest.fixture(autouse=True)
def nothing_there(world: World) -> None:
    world.forget_all()


@pytest.fixture(name="stocked", scope="module")
def stocked_fixture(world: World) -> str:
    """The digest of the good base, as the registry's storage has it from now on."""
    with registry(world.folder / "registry", world.port):
        name = world.here(PUBLIC)
        world.engine.docker("import", str(world.base), name)
        world.engine.docker("push", name)
        told = world.engine.docker("image", "inspect", "--format", "{{index .RepoDigests 0}}", name)
        world.engine.forget(name)
    return told


@contextmanager
def stocked_registry(world: World) -> Iterator[None]:
    with registry(world.folder / "registry", world.port):
        yield


def _programs(folder: Path, base: Path) -> None:
    folder.mkdir()
    programs = {
        "claude": '[ -z "$FAILS" ] && [ ! -e /fails ] && echo "1.0 (a test)"',
        "mmdebstrap": f'for each; do case "$each" in */base.tar) cp {base} "$each" ;; esac; done',
        "dpkg-query": "echo installed",
    }
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)


def test_the_public_base_is_pulled_and_what_it_was_is_written_down(
    world: World, stocked: str
) -> None:
    with stocked_registry(world):
        made = world.run("images")
    assert made.returncode == 0, made.stderr
    assert f"pulling {PUBLIC}" in made.stderr
    digest = stocked.split("@")[1]
    assert world.label(RUNNER, "trustfloor.base") == PUBLIC
    assert world.label(RUNNER, "trustfloor.base.exactly") == f"debian@{digest}"
    assert f"which is debian@{digest}" in made.stderr
    again = world.run("images")
    assert "is up to date" in again.stderr
    # The other image is built on the same, also where one that could be made is there as well.
    world.engine.docker("tag", PUBLIC, LOCAL)
    assert world.run("find-base").stdout == f"{PUBLIC}\n"


def test_a_base_pinned_by_its_digest_is_that_content_and_no_other(
    world: World, stocked: str
) -> None:
    with stocked_registry(world):
        found = world.run("find-base", TRUSTFLOOR_BASE=stocked)
        assert (found.returncode, found.stdout) == (0, f"{stocked}\n"), found.stderr
        world.forget_all()
        other = stocked[:-8] + "00000000"
        told = world.run("images", TRUSTFLOOR_BASE=other)
    assert told.returncode == 1
    assert (
        f"the base image {other} (TRUSTFLOOR_BASE) is not here and can't be pulled" in told.stderr
    )
    assert "manifest unknown" in told.stderr
    assert not world.has(RUNNER)
    assert not world.has(LOCAL)


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        (nobody, "can't be pulled: "),
        (empty, "can't be pulled: "),
        (refusing, "can't be pulled: "),
        (silent, f"can't be pulled: nothing came of it for {STILL_SECONDS} s"),
    ],
)
def test_where_the_public_base_cannot_be_pulled_that_is_told_and_one_is_made(
    world: World, condition: Callable[[Path, int], AbstractContextManager[None]], why: str
) -> None:
    with condition(world.folder, world.port):
        found = world.run("find-base")
    assert (found.returncode, found.stdout) == (0, f"{LOCAL}\n"), found.stderr
    assert f"find-base: {PUBLIC} {why}" in found.stderr
    assert f"made {LOCAL}" in found.stderr


def test_a_slow_registry_that_goes_on_gets_its_time(world: World) -> None:
    with registry(world.folder / "registry", world.port):
        name = world.here("small:1")
        world.engine.docker("import", "-", name, given=tar_of({"x": os.urandom(1 << 20)}))
        world.engine.docker("push", name)
        world.forget_all()
    with registry_behind_a_slow_line(world.folder, world.port, bytes_a_second=1 << 18):
        began = time.monotonic()
        told = world.run("find-base", TRUSTFLOOR_BASE=name)
        took = time.monotonic() - began
    # It came, and then was found to be no base: the pull was longer than what it may stand still.
    assert "can't be used" in told.stderr, told.stderr
    assert took > STILL_SECONDS


def test_a_base_that_cannot_be_used_is_told_with_the_reason(world: World) -> None:
    foreign, bare, old = "foreign:1", "bare:1", "old:1"
    world.engine.docker("load", given=for_another_machine(foreign))
    world.engine.docker("import", "-", bare, given=tools_archive())
    world.engine.docker("import", "-", old, given=with_an_old_python())
    for image, why in (
        (foreign, "it is made for linux/s390x, and this engine runs linux/"),
        (bare, "it lacks python3 git rg less ps, and has no apt-get"),
        (old, "its Python 3.7.3 is too old: Python 3.10 is needed"),
    ):
        told = world.run("images", TRUSTFLOOR_BASE=image)
        assert told.returncode == 1
        assert f"the base image {image} (TRUSTFLOOR_BASE) can't be used: {why}" in told.stderr
    # The public one under the same fault: one is made, and that is told.
    world.engine.docker("tag", foreign, PUBLIC)
    found = world.run("find-base")
    assert (found.returncode, found.stdout) == (0, f"{LOCAL}\n"), found.stderr
    assert f"{PUBLIC} can't be used: it is made for linux/s390x" in found.stderr


def test_an_image_in_which_the_cli_does_not_run_never_gets_our_name(world: World) -> None:
    with tarfile.open(world.base, "a") as archive:
        archive.addfile(tarfile.TarInfo("fails"))
    world.engine.docker("import", str(world.base), "odd:1")
    told = world.run("images", TRUSTFLOOR_BASE="odd:1")
    assert told.returncode == 1
    assert "the agent's CLI doesn't run on odd:1" in told.stderr
    assert not world.has("trustfloor/runner")
