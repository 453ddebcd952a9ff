"""Invariant 15: a cage that is weaker shows, in the engine's report or in what is measured inside.

Each case saws through one bar, for real, and names where it must show. What only the engine's
report can know, or only the probe, is seen by that one alone; most show in both.
"""

import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.container.receipt import measured_shortfalls
from supervisor.runtimes.container.verify import shortfalls
from tests.worlds import engine as world

pytestmark = pytest.mark.engine

Weaken = Callable[[dict[str, Any]], None]


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with world.real_engine() as engine:
        yield engine


def host(**changes: Any) -> Weaken:
    return lambda api: api["HostConfig"].update(changes)


def writable(target: str) -> Weaken:
    def weaken(api: dict[str, Any]) -> None:
        for mount in api["HostConfig"]["Mounts"]:
            if mount["Target"] == target:
                mount["ReadOnly"] = False

    return weaken


def one_more_mount(api: dict[str, Any]) -> None:
    first = api["HostConfig"]["Mounts"][0]
    api["HostConfig"]["Mounts"].append({**first, "Target": "/more"})


def as_root(api: dict[str, Any]) -> None:
    api["User"] = "0:0"


def a_secret(api: dict[str, Any]) -> None:
    api["Env"].append("ANTHROPIC_API_KEY=not-a-real-one")


def on_the_hosts_network(api: dict[str, Any]) -> None:
    api["HostConfig"]["NetworkMode"] = "host"
    api.pop("Hostname")
    api.pop("NetworkDisabled")


WEAKER: list[tuple[str, Weaken, str | None, str | None]] = [
    ("the host's network", on_the_hosts_network, "HostConfig.NetworkMode", "interfaces"),
    ("root", as_root, "Config.User", "uids"),
    ("privileged", host(Privileged=True, CapDrop=[]), "HostConfig.Privileged", "devices"),
    ("capabilities", host(CapDrop=[]), "HostConfig.CapDrop", "capabilities"),
    ("a capability", host(CapAdd=["SYS_PTRACE"]), "HostConfig.CapAdd", "capabilities"),
    (
        "no seccomp",
        host(SecurityOpt=["no-new-privileges", "seccomp=unconfined"]),
        "HostConfig.SecurityOpt",
        "make a user namespace",
    ),
    ("new privileges", host(SecurityOpt=[]), "HostConfig.SecurityOpt", "noNewPrivileges"),
    ("a writable vault", writable("/vault"), "Mounts", "/vault is mounted rw"),
    (
        "a writable turn folder",
        writable("/run/trustfloor"),
        "Mounts",
        "/run/trustfloor is mounted rw",
    ),
    ("one mount more", one_more_mount, "Mounts", "/more is mounted"),
    ("a writable root", host(ReadonlyRootfs=False), "HostConfig.ReadonlyRootfs", "/ is mounted rw"),
    ("the host's processes", host(PidMode="host"), "HostConfig.PidMode", "processes"),
    ("the host's memory", host(IpcMode="host"), "HostConfig.IpcMode", "/dev/shm is mounted"),
    (
        "a device",
        host(
            Devices=[
                {
                    "PathOnHost": "/dev/zero",
                    "PathInContainer": "/dev/sda",
                    "CgroupPermissions": "r",
                }
            ]
        ),
        "HostConfig.Devices",
        "devices",
    ),
    ("more memory", host(Memory=1 << 30, MemorySwap=1 << 30), "HostConfig.Memory", "memoryBytes"),
    ("more processes", host(PidsLimit=4096), "HostConfig.PidsLimit", "pids"),
    ("no limit on files", host(Ulimits=[]), "HostConfig.Ulimits", "fileBytes"),
    ("a secret", a_secret, "Config.Env", "environment"),
    ("a group", host(GroupAdd=["999"]), "HostConfig.GroupAdd", "groups"),
    ("no masks", host(MaskedPaths=[]), "HostConfig.MaskedPaths", None),
    ("a log on the host", host(LogConfig={"Type": "json-file"}), "HostConfig.LogConfig", None),
    ("again after its end", host(RestartPolicy={"Name": "always"}), "HostConfig.Restart", None),
    ("swap", host(MemorySwap=-1), "HostConfig.MemorySwap", None),
]


async def test_control_an_untouched_cage_has_no_shortfall(engine: Engine) -> None:
    async with world.box(engine) as box:
        assert shortfalls(box.spec, await box.inspected()) == ()
        async with box.started() as channel:
            assert measured_shortfalls(await box.measured(channel), box.spec, box.nonce) == ()


@pytest.mark.parametrize(
    ("weaken", "reported", "measured"),
    [case[1:] for case in WEAKER],
    ids=[case[0] for case in WEAKER],
)
async def test_a_weaker_cage_is_refused_by(
    engine: Engine, weaken: Any, reported: Any, measured: Any
) -> None:
    async with world.box(engine, weaken=weaken) as box:
        engine_says = shortfalls(box.spec, await box.inspected())
        assert any(each.startswith(reported) for each in engine_says), engine_says
        if measured is None:
            return
        async with box.started() as channel:
            inside = measured_shortfalls(await box.measured(channel), box.spec, box.nonce)
        assert any(each.startswith(measured) for each in inside), inside


async def test_another_turns_folder_shows(engine: Engine) -> None:
    async with world.box(engine) as box, box.started() as channel:
        measured = await box.measured(channel)
        assert measured_shortfalls(measured, box.spec, "the nonce of another turn") == (
            "nonce is wrong",
        )


async def test_a_volume_that_the_image_brings_shows(engine: Engine) -> None:
    async with world.box(engine, weaken=lambda api: api.update(Volumes={"/data": {}})) as box:
        engine_says = shortfalls(box.spec, await box.inspected())
        assert any(each.startswith("Config.Volumes") for each in engine_says)
        assert any(each.startswith("Mounts") for each in engine_says)


@contextmanager
def mounted_below(vault: Path) -> Iterator[None]:
    """A writable folder in memory, mounted in the test's own vault."""
    below = vault / "below"
    below.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=777", "below", str(below)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(below)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
@pytest.mark.parametrize("recursive", [False, True], ids=["ours", "control: recursive"])
async def test_what_is_mounted_below_the_vault_on_the_host_stays_out(
    engine: Engine, recursive: Any
) -> None:
    """The engine's `ReadOnly` does not reach such a mount; not bringing it is what holds."""
    with world.folders() as (vault, _, _), mounted_below(vault):

        def show_it(api: dict[str, Any]) -> None:
            mount = api["HostConfig"]["Mounts"][0]
            mount["Source"] = str(vault)
            mount["BindOptions"]["NonRecursive"] = not recursive

        async with (
            world.box(engine, weaken=show_it) as box,
            box.started() as channel,
        ):
            measured = await box.measured(channel)
            below = [
                each["target"]
                for each in measured["mounts"]
                if each["target"].startswith("/vault/")
            ]
            inside = measured_shortfalls(measured, box.spec, box.nonce)
    if recursive:
        assert below == ["/vault/below"]
        assert any(each.startswith("/vault/below is mounted rw") for each in inside)
    else:
        assert below == []
        assert inside == ()
