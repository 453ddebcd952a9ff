"""Host processes that an earlier supervisor left are ended; nobody else's are."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from supervisor.ids import new_instance_id, new_turn_id
from supervisor.runtimes.local import leftovers
from supervisor.runtimes.local.leftovers import MARK_INSTANCE, end_leftovers, marks
from tests.worlds.leftovers import is_alive

SLEEPER = "import time, sys; print('ready', flush=True); time.sleep(600)"
PARENT = (
    "import subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-I', '-S', '-c', sys.argv[1]], env={}, "
    "start_new_session=True, stdout=subprocess.PIPE)\n"
    "child.stdout.readline()\n"
    "print(child.pid, flush=True)\n"
    "time.sleep(600)"
)


@contextmanager
def process(
    env: Mapping[str, str], program: str = SLEEPER, *arguments: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process of ours that has begun, and the first line it said."""
    started = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program, *arguments],
        env=dict(env),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert started.stdout is not None
        yield started, started.stdout.readline().strip()
    finally:
        started.kill()
        started.wait()
        assert started.stdout is not None
        started.stdout.close()


def test_a_process_of_a_dead_turn_is_ended() -> None:
    instance = new_instance_id()
    with process(marks(instance, new_turn_id())) as (left, _):
        assert end_leftovers(instance, list) == 1
        assert left.wait(10) == -signal.SIGKILL
        assert end_leftovers(instance, list) == 0


def test_a_living_turns_process_is_left_alone() -> None:
    instance, turn = new_instance_id(), new_turn_id()
    with process(marks(instance, turn)) as (busy, _):
        assert end_leftovers(instance, lambda: [turn]) == 0
        assert busy.poll() is None


@pytest.mark.parametrize(
    "env",
    [
        {},
        {MARK_INSTANCE: "another"},
        {"X": f"{MARK_INSTANCE}=ours"},
        {MARK_INSTANCE.lower(): "ours"},
    ],
    ids=["unmarked", "another instance", "the mark as a value", "another name"],
)
def test_anybody_elses_process_is_left_alone(env: Any) -> None:
    with process(env) as (stranger, _):
        assert end_leftovers(new_instance_id(), list) == 0
        assert stranger.poll() is None


def test_what_a_leftover_started_goes_too_even_without_the_mark() -> None:
    instance = new_instance_id()
    with process(marks(instance, new_turn_id()), PARENT, SLEEPER) as (left, said):
        child = int(said)
        try:
            assert is_alive(child)
            assert end_leftovers(instance, list) == 2
            assert not is_alive(child)
            assert left.wait(10) == -signal.SIGKILL
        finally:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)


def test_a_living_turns_process_below_a_leftover_is_left_alone() -> None:
    instance, living = new_instance_id(), new_turn_id()
    script = PARENT.replace("env={}", f"env={marks(instance, living)!r}")
    with process(marks(instance, new_turn_id()), script, SLEEPER) as (_, said):
        child = int(said)
        try:
            assert end_leftovers(instance, lambda: [living]) == 1
            assert is_alive(child)
        finally:
            os.kill(child, signal.SIGKILL)


def test_we_ourselves_are_never_ended() -> None:
    instance = new_instance_id()
    program = (
        "import sys; sys.path[:0] = [sys.argv[1], *sys.argv[3:]]\n"
        "from supervisor.runtimes.local.leftovers import end_leftovers\n"
        "print(end_leftovers(sys.argv[2], list), flush=True)"
    )
    env = marks(instance, new_turn_id())
    with process(env, program, str(Path.cwd()), instance, *sys.path) as (_, said):
        assert said == "0"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start another user's process")
def test_another_users_process_with_our_mark_is_left_alone() -> None:
    instance = new_instance_id()
    program = (
        "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "os.execve('/bin/sh', ['sh', '-c', 'echo ready; exec sleep 600'], dict(os.environ))"
    )
    env = {**marks(instance, new_turn_id()), "PATH": os.environ["PATH"]}
    with process(env, program) as (stranger, _):
        assert end_leftovers(instance, list) == 0
        assert stranger.poll() is None


def test_one_that_a_look_around_has_missed_is_found_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As when it was begun after the numbers were read, by one that was gone before it was read."""
    looks = 0
    all_processes = leftovers._all_processes

    def first_time_nobody() -> Iterator[Any]:
        nonlocal looks
        looks += 1
        return iter(()) if looks == 1 else all_processes()

    monkeypatch.setattr(leftovers, "_all_processes", first_time_nobody)
    instance = new_instance_id()
    with process(marks(instance, new_turn_id())) as (left, _):
        assert end_leftovers(instance, list) == 1
        assert left.wait(10) == -signal.SIGKILL
