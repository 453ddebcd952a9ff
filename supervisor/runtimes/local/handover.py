"""What a starting cage is handed, and the hand on the switch that ends it."""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from supervisor.errors import IsolationRefused
from supervisor.runtimes.local.seccomp import program
from supervisor.runtimes.local.vault_watch import VaultWatch


def system_call_filter() -> bytes:
    """The filter for this machine. Raises IsolationRefused where there is none."""
    try:
        return program(os.uname().machine)
    except KeyError as error:
        raise IsolationRefused(
            f"there is no system call filter for {error.args[0]}",
            remedy="run the session sandboxed, or at full",
        ) from error


def listed(words: Iterable[str]) -> bytes:
    """Words, each ended by a NUL: the form in which lists are handed over."""
    return b"".join(os.fsencode(word) + b"\0" for word in words)


@contextmanager
def handed_over(data: bytes) -> Iterator[int]:
    """A descriptor from which a child can read this, and which nobody else can find."""
    fd = os.memfd_create("trustfloor")
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(data)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


@contextmanager
def ended_at_once(pid: int, watch: VaultWatch) -> Iterator[None]:
    """For the length of the block, a breach ends the cage without waiting for anybody.

    Bubblewrap's two processes are one group. The inner one is the first of the cage's namespace, so
    the kernel ends all in it along with it: pid_namespaces(7).
    """
    try:
        held = os.pidfd_open(pid)
    except ProcessLookupError:  # over already: what it said tells why
        yield
        return

    def end() -> None:
        with suppress(OSError):
            signal.pidfd_send_signal(
                held, signal.SIGKILL
            )  # fails if the number is another's by now
            os.killpg(pid, signal.SIGKILL)

    watch.on_breach(end)
    try:
        yield
    finally:
        watch.on_breach(lambda: None)
        os.close(held)
