"""Invariant 5: a sandbox reaches nothing; each attack works where the guard is off."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.container.start_line import StartLine, encode
from tests.worlds import engine as world

pytestmark = pytest.mark.engine

ATTACK = r"""
import ctypes, errno, json, os, socket

def tried(act):
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "DONE"

def connect(family, address):
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.connect(address)

def listen():
    with socket.socket() as server, socket.socket() as client:
        server.bind(("127.0.0.1", 0))
        server.listen()
        client.connect(server.getsockname())

def from_pid_1():
    # What pid 1 may do, one who controls it may: its filters are what counts.
    found = dict(line.split(":\t") for line in open("/proc/1/status").read().splitlines())
    if int(found["Seccomp_filters"]) < 2:
        return
    raise OSError(errno.EPERM, "sealed")

libc = ctypes.CDLL(None, use_errno=True)

def io_uring():
    if libc.syscall(425, 1, None) < 0:
        raise OSError(ctypes.get_errno(), "io_uring_setup")

print(json.dumps({
    "interfaces": sorted(os.listdir("/sys/class/net")),
    "address": tried(lambda: connect(socket.AF_INET, ("192.0.2.1", 53))),
    "metadata": tried(lambda: connect(socket.AF_INET, ("169.254.169.254", 80))),
    "address6": tried(lambda: connect(socket.AF_INET6, ("2001:db8::1", 53))),
    "hypervisor": tried(lambda: socket.socket(40, socket.SOCK_STREAM).close()),
    "crypto": tried(lambda: socket.socket(38, socket.SOCK_SEQPACKET).close()),
    "raw": tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()),
    "packet": tried(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()),
    "io_uring": tried(io_uring),
    "pid 1": tried(from_pid_1),
    "loopback": tried(listen),
    "unix": tried(lambda: socket.socketpair()[0].close()),
}))
"""


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with world.real_engine() as engine:
        yield engine


async def attack(
    engine: Engine, weaken: Callable[[dict[str, Any]], None] | None = None
) -> dict[str, Any]:
    async with world.box(engine, weaken=weaken) as box, box.started() as channel:
        await box.measured(channel)
        program = ("/usr/bin/python3", "-I", "-c", ATTACK)
        await channel.write(encode(StartLine(program, "/", world.PLAIN_ENVIRONMENT)))
        ended = await world.ended(channel)
    assert ended.cause is None, ended
    found = json.loads(ended.output)
    assert isinstance(found, dict)
    return found


async def test_nothing_but_its_own_loopback_can_be_reached(engine: Engine) -> None:
    found = await attack(engine)
    assert found["interfaces"] == ["lo"]
    assert found["address"] == found["metadata"] == "ENETUNREACH"
    assert found["address6"] in ("ENETUNREACH", "EADDRNOTAVAIL", "EAFNOSUPPORT")
    assert found["hypervisor"] == found["crypto"] == found["packet"] == "EAFNOSUPPORT"
    assert found["raw"] == "EPERM"
    assert found["io_uring"] == "ENOSYS"
    assert found["pid 1"] == "EPERM"
    assert found["loopback"] == found["unix"] == "DONE"


async def test_control_on_a_network_the_same_attack_gets_out(engine: Engine) -> None:
    def on_the_hosts_network(api: dict[str, Any]) -> None:
        api["HostConfig"]["NetworkMode"] = "host"
        api.pop("Hostname")
        api.pop("NetworkDisabled")

    found = await attack(engine, on_the_hosts_network)
    assert found["interfaces"] != ["lo"]


async def test_control_without_the_seal_odd_sockets_and_io_uring_are_there(engine: Engine) -> None:
    """The engine's own profile alone: what the seal closes is open on an engine like this."""
    info = await engine.info()
    if int(info.version.split(".")[0]) >= 25:
        pytest.skip("this engine's own profile refuses them")

    def unsealed(api: dict[str, Any]) -> None:
        api["Entrypoint"] = ["/usr/bin/python3", "-I", "-c", ATTACK]

    async with world.box(engine, weaken=unsealed) as box, box.started() as channel:
        found = json.loads((await world.ended(channel)).output)
    assert found["pid 1"] == "DONE"
    assert found["io_uring"] != "ENOSYS"
    assert found["hypervisor"] == "DONE" or found["crypto"] == "DONE"
