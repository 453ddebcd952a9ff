"""Invariants 4 and 5: no queue or memory of the kernel's is a place to write in a sandbox."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.container.start_line import StartLine, encode
from tests.worlds import engine as world

pytestmark = pytest.mark.engine

ATTACK = r"""
import ctypes, errno, json, os, resource

libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {"x86_64": (240, 242, 29, 64, 68), "aarch64": (180, 182, 194, 190, 186)}
mq_open, mq_timedsend, shmget, semget, msgget = NUMBERS[os.uname().machine]

def call(number, *arguments):
    found = libc.syscall(number, *arguments)
    if found < 0:
        raise OSError(ctypes.get_errno(), str(number))
    return found

def tried(act):
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "DONE"

def by_file():
    # The mounted file system makes queues as well, past mq_open.
    os.close(os.open("/dev/mqueue/by-file", os.O_RDWR | os.O_CREAT, 0o600))

def raise_the_limit():
    try:
        resource.setrlimit(12, (819200, 819200))
    except ValueError as error:  # what Python makes of EPERM here
        raise OSError(errno.EPERM, str(error))

print(json.dumps({
    "queue": tried(lambda: call(mq_open, b"queue", os.O_RDWR | os.O_CREAT, 0o600, None)),
    "send": tried(lambda: call(mq_timedsend, 0, b"x", 1, 0, None)),
    "file": tried(by_file),
    "limit": tried(raise_the_limit),
    "memory": tried(lambda: call(shmget, 0, 4096, 0o1600)),
    "semaphore": tried(lambda: call(semget, 0, 1, 0o1600)),
    "System V queue": tried(lambda: call(msgget, 0, 0o1600)),
    "a file of its own": tried(lambda: open("/tmp/x", "w").close()),
}))
"""


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with world.real_engine() as engine:
        yield engine


async def test_no_queue_and_no_shared_memory_can_be_made(engine: Engine) -> None:
    ended = await world.run(engine, "/usr/bin/python3", "-I", "-c", ATTACK)
    assert ended.cause is None, ended
    found = json.loads(ended.output)
    assert found.pop("a file of its own") == "DONE"
    assert found.pop("file") == "EMFILE"
    assert found.pop("limit") == "EPERM"
    assert set(found.values()) == {"ENOSYS"}, found


async def test_control_without_the_seal_each_of_them_is_made(engine: Engine) -> None:
    def unsealed(api: dict[str, Any]) -> None:
        api["Entrypoint"] = ["/usr/bin/python3", "-I", "-c", ATTACK]

    async with world.box(engine, weaken=unsealed) as box, box.started() as channel:
        found = json.loads((await world.ended(channel)).output)
    assert found.pop("send") == "EBADF"  # there is the call; its queue is none
    assert found.pop("limit") in ("DONE", "EPERM")
    assert set(found.values()) == {"DONE"}, found


async def test_the_receipt_shows_that_it_was_tried(engine: Engine) -> None:
    async with world.box(engine) as box, box.started() as channel:
        acts = (await box.measured(channel))["acts"]
        await channel.write(encode(StartLine(("/bin/true",), "/", world.PLAIN_ENVIRONMENT)))
        await world.ended(channel)
    assert acts["make a message queue"] in ("ENOSYS", "EPERM")
    assert acts["make a System V queue"] in ("ENOSYS", "EPERM")
    assert acts["make a file in /dev/mqueue"] == "EMFILE"
