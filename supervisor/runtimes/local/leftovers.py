"""Ends processes that an earlier supervisor of this data folder left behind, and none besides.

A process is ours by the marks in the environment it was started with, or by descent from one that
is. It is held by a pidfd before it is looked at, so a number that was given to somebody else in
between can't be hit: pidfd_open(2).
"""

import os
import select
import signal
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from supervisor.ids import InstanceId, TurnId

MARK_INSTANCE: Final = "TRUSTFLOOR_INSTANCE"
MARK_TURN: Final = "TRUSTFLOOR_TURN"

_BOUND_SECONDS: Final = 5.0
_EMPTY_ROUNDS: Final = 2
_PARENT, _STARTED = 1, 19  # fields after the command in /proc/pid/stat, proc(5)


def marks(instance: InstanceId, turn: TurnId) -> dict[str, str]:
    """What a local CLI's environment carries, so that it and its children are known as ours."""
    return {MARK_INSTANCE: instance, MARK_TURN: turn}


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    parent: int
    started: str
    """With the pid, the identity of a process on this boot."""


def end_leftovers(instance: InstanceId, living: Callable[[], Collection[TurnId]]) -> int:
    """Kill our marked processes whose turn isn't living, and all they started; gives how many.

    Goes round until none was found twice: one that forks and ends while we look is passed over.
    Takes at most some seconds. Blocks; use it from a thread.
    """
    give_up = time.monotonic() + _BOUND_SECONDS
    ended: set[tuple[int, str]] = set()
    empty_rounds = 0
    while empty_rounds < _EMPTY_ROUNDS and time.monotonic() < give_up:
        targets = list(_leftovers(instance, living))
        empty_rounds = 0 if targets else empty_rounds + 1
        # Deepest first: while an ancestor lives, a child can still be found through it.
        for process in targets:
            if _kill(process, give_up):
                ended.add((process.pid, process.started))
    return len(ended)


def count_marked(instance: InstanceId) -> int:
    """How many running processes carry this instance's mark."""
    return sum(_marked(process.pid).get(MARK_INSTANCE) == instance for process in _all_processes())


def _leftovers(
    instance: InstanceId, living: Callable[[], Collection[TurnId]]
) -> Iterator[_Process]:
    """Ours that should be gone, the deepest descendants first."""
    processes = {process.pid: process for process in _all_processes()}
    alive = set(living())
    spared = _ancestors(os.getpid(), processes)
    roots = [
        process
        for process in processes.values()
        if process.pid not in spared and _is_leftover(process.pid, instance, alive)
    ]
    children: dict[int, list[_Process]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process)
    found: dict[int, _Process] = {}
    waiting = roots
    while waiting:
        process = waiting.pop(0)
        found.pop(process.pid, None)  # met again further down: the deeper place counts
        found[process.pid] = process
        waiting += [
            child
            for child in children.get(process.pid, ())
            if child.pid not in spared and not _is_living(child.pid, instance, alive)
        ]
    yield from reversed(found.values())


def _kill(process: _Process, give_up: float) -> bool:
    """End it, if it still is the process that was judged; see it gone."""
    try:
        held = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        if _process(process.pid) is None or _identity(process.pid) != process.started:
            return False
        with suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(held, signal.SIGKILL)
        poll = select.poll()
        poll.register(held, select.POLLIN)
        return bool(poll.poll(max(0.0, give_up - time.monotonic()) * 1000))
    finally:
        os.close(held)


def _is_leftover(pid: int, instance: InstanceId, alive: set[TurnId]) -> bool:
    marked = _marked(pid)
    return marked.get(MARK_INSTANCE) == instance and marked.get(MARK_TURN) not in alive


def _is_living(pid: int, instance: InstanceId, alive: set[TurnId]) -> bool:
    marked = _marked(pid)
    return marked.get(MARK_INSTANCE) == instance and marked.get(MARK_TURN) in alive


def _marked(pid: int) -> dict[str, str]:
    """Our marks in the environment that a process of our own user was started with."""
    try:
        folder = os.open(f"/proc/{pid}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return {}
    try:
        if os.fstat(folder).st_uid != os.geteuid():
            return {}
        with os.fdopen(os.open("environ", os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder), "rb") as file:
            environment = file.read()
    except OSError:
        return {}
    finally:
        os.close(folder)
    found = {}
    for assignment in environment.split(b"\0"):
        name, _, value = assignment.partition(b"=")
        if name in (MARK_INSTANCE.encode(), MARK_TURN.encode()):
            found[name.decode()] = value.decode("ascii", "replace")
    return found


def _all_processes() -> Iterator[_Process]:
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            process = _process(int(entry.name))
            if process is not None:
                yield process


def _process(pid: int) -> _Process | None:
    """The process with this number; None if there is none or it is dead already."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            fields = file.read().rpartition(")")[2].split()
        if fields[0] in "ZX":
            return None
        return _Process(pid, int(fields[_PARENT]), fields[_STARTED])
    except (OSError, IndexError, ValueError):
        return None


def _identity(pid: int) -> str | None:
    process = _process(pid)
    return None if process is None else process.started


def _ancestors(pid: int, processes: dict[int, _Process]) -> set[int]:
    """The process itself and those it comes from: never ended, whatever they carry."""
    spared = {pid}
    while (process := processes.get(pid)) is not None and process.parent not in spared:
        pid = process.parent
        spared.add(pid)
    return spared
