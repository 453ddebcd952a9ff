"""Why a sandbox ended is told from flag and code together."""

from typing import Any

import pytest

from runner_image import entry
from supervisor.errors import AgentProcessFailed, SandboxKilled, SandboxOutOfMemory
from supervisor.runtimes.container.death import ENDED_BY_SIGNAL, OUTPUT_CLOSED, judge_death
from supervisor.runtimes.container.spec import Limits


def state(code: int, *, out_of_memory: bool = False) -> dict[str, object]:
    return {"Status": "exited", "Running": False, "OOMKilled": out_of_memory, "ExitCode": code}


@pytest.mark.parametrize(
    ("found", "kind", "said"),
    [
        (state(201, out_of_memory=True), SandboxOutOfMemory, "memory limit of 300 MiB"),
        (state(137, out_of_memory=True), SandboxOutOfMemory, "memory limit of 300 MiB"),
        (state(137), SandboxKilled, "killed from outside"),
        (state(201), AgentProcessFailed, "inside the sandbox by SIGKILL"),
        (state(207), AgentProcessFailed, "inside the sandbox by SIGTERM"),
        (state(191), AgentProcessFailed, "closed its output and ran on"),
        (state(255), AgentProcessFailed, "inside the sandbox by signal 63"),
        (state(1), AgentProcessFailed, "status 1: the last line"),
        (state(1, out_of_memory=True), AgentProcessFailed, "status 1"),
        ({**state(0), "Running": True}, AgentProcessFailed, "runs on"),
        ({}, AgentProcessFailed, "runs on"),
    ],
)
def test_each_death_has_its_name(found: Any, kind: Any, said: Any) -> None:
    cause = judge_death(found, limits=Limits(memory_bytes=300 << 20), stderr=b"x\nthe last line\n")
    assert cause is not None
    assert type(cause) is kind
    assert said in cause.message
    assert cause.remedy


@pytest.mark.parametrize("out_of_memory", [False, True])
def test_an_agent_that_went_on_and_ended_well_did_not_die_whatever_a_tool_ran_into(
    out_of_memory: Any,
) -> None:
    assert judge_death(state(0, out_of_memory=out_of_memory), limits=Limits()) is None


def test_what_it_complained_about_is_one_bounded_line_without_controls() -> None:
    cause = judge_death(
        state(3), limits=Limits(), stderr=b"\x1b[31mred\x00" + b"x" * 20_000 + b"\n\n"
    )
    assert cause is not None
    assert cause.message.isprintable()
    assert len(cause.message) < 500


def test_the_entry_speaks_of_ends_as_the_supervisor_understands_them() -> None:
    assert entry.ENDED_BY_SIGNAL == ENDED_BY_SIGNAL
    assert entry.OUTPUT_CLOSED == OUTPUT_CLOSED
