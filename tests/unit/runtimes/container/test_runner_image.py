"""The parts of the runner image that can be tried outside it."""

import errno
import json
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner_image import entry, probe, seal
from supervisor.runtimes.container.receipt import FORBIDDEN_ACTS
from tests.worlds.cage_reports import a_measurement, a_spec

ALLOWED = 0x7FFF0000
NO_FAMILY = 0x00050000 | errno.EAFNOSUPPORT
NO_CALL = 0x00050000 | errno.ENOSYS
X86_64, I386, AARCH64 = 0xC000003E, 0x40000003, 0xC00000B7


def verdict(machine: str, architecture: int, call: int, argument: int = 0) -> int:
    """What the kernel's filter machine would answer: the few operations that the seal uses."""
    memory = {0: call, 4: architecture, 16: argument & 0xFFFFFFFF}
    steps = list(struct.iter_unpack("=HBBI", seal.program(machine)))
    at = accumulator = 0
    while True:
        operation, if_true, if_false, value = steps[at]
        at += 1
        if operation == 0x20:
            accumulator = memory[value]
        elif operation == 0x15:
            at += if_true if accumulator == value else if_false
        elif operation == 0x35:
            at += if_true if accumulator >= value else if_false
        else:
            assert operation == 0x06
            return int(value)


@pytest.mark.parametrize(
    ("machine", "architecture", "socket_call"), [("x86_64", X86_64, 41), ("aarch64", AARCH64, 198)]
)
def test_only_four_socket_families_pass_the_seal(
    machine: Any, architecture: Any, socket_call: Any
) -> None:
    allowed = {
        family
        for family in range(64)
        if verdict(machine, architecture, socket_call, family) == ALLOWED
    }
    assert allowed == {1, 2, 10, 16}
    assert verdict(machine, architecture, socket_call, 40) == NO_FAMILY


@pytest.mark.parametrize("call", [425, 426, 427])
def test_io_uring_does_not_pass_the_seal(call: Any) -> None:
    assert verdict("x86_64", X86_64, call) == NO_CALL


QUEUES = {
    # mq_open, mq_unlink, mq_timedsend … mq_getsetattr, msgget, semget, semtimedop, shmget, shmdt
    "x86_64": (X86_64, (240, 241, 242, 245, 68, 64, 220, 29, 67)),
    "aarch64": (AARCH64, (180, 181, 182, 185, 186, 190, 192, 194, 197)),
}


@pytest.mark.parametrize("machine", QUEUES)
def test_no_queue_and_no_memory_between_processes_passes_the_seal(machine: Any) -> None:
    architecture, calls = QUEUES[machine]
    assert {verdict(machine, architecture, call) for call in calls} == {NO_CALL}
    # Their neighbours do: madvise and fork; sysinfo and socketpair.
    assert verdict("x86_64", X86_64, 28) == verdict("x86_64", X86_64, 57) == ALLOWED
    assert verdict("aarch64", AARCH64, 179) == verdict("aarch64", AARCH64, 199) == ALLOWED


def test_calls_by_the_numbers_of_another_architecture_do_not_pass_the_seal() -> None:
    assert verdict("x86_64", I386, 102, 40) == NO_CALL
    assert verdict("x86_64", X86_64, 0x40000000 + 41, 1) == NO_CALL


SEALED = {41, *seal.IO_URING, *seal.IPC["x86_64"]}


@given(st.integers(0, 600).filter(lambda call: call not in SEALED))
def test_everything_else_is_left_to_the_engines_profile(call: Any) -> None:
    assert verdict("x86_64", X86_64, call) == ALLOWED


def test_an_unknown_machine_has_no_seal() -> None:
    with pytest.raises(KeyError):
        seal.program("vax")


def test_the_probe_tries_what_the_judge_demands_and_nothing_else() -> None:
    assert set(probe.FORBIDDEN) == set(FORBIDDEN_ACTS)


def test_the_probe_measures_what_the_judge_demands() -> None:
    assert set(probe.MEASUREMENTS) | {"acts", "trustfloor", "micros"} == set(
        a_measurement(a_spec())
    )


JSON = st.recursive(
    st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@given(JSON)
def test_what_the_entry_writes_is_json(value: Any) -> None:
    assert json.loads(entry.to_json(value)) == value
