"""Why a sandbox ended, told from what the engine reports of it; neither code nor flag is enough.

The entry program is pid 1 and reports a CLI that a signal ended by a code of its own, so that 137
means that pid 1 itself was killed. `OOMKilled` alone says only that something in the container ran
out of memory: a tool's process may have, while the agent went on.
"""

import asyncio
import signal
from collections.abc import Mapping
from typing import Any, Final

from supervisor.errors import (
    AgentProcessFailed,
    EngineLost,
    EngineRefused,
    EngineUnreachable,
    SandboxKilled,
    SandboxOutOfMemory,
    SandboxPaused,
    TurnFailed,
)
from supervisor.runtimes.container.engine import ContainerId, Engine
from supervisor.runtimes.container.engine_failures import START_ENGINE
from supervisor.runtimes.container.spec import Limits
from supervisor.runtimes.display import last_line

WAIT_SECONDS: Final = 8.0

OUTPUT_CLOSED: Final = 191
"""The entry's exit code for a CLI that ran on when nobody held the output any more."""
ENDED_BY_SIGNAL: Final = 192
"""The entry's exit code for a CLI that a signal ended is this and the signal."""

_PID_1_KILLED: Final = 128 + signal.SIGKILL
_CLI_KILLED: Final = ENDED_BY_SIGNAL + signal.SIGKILL
_AGAIN: Final = "send the message again"


async def cause_of_death(
    engine: Engine,
    container: ContainerId,
    *,
    limits: Limits,
    stderr: bytes,
    objection: str | None = None,
) -> TurnFailed | None:
    """Why the container whose output closed has ended; None if it ended by itself and well.

    `stderr` is the tail of its standard error, `objection` what was wrong with its stream. Takes at
    most `WAIT_SECONDS`, and never raises.
    """
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            if objection is None:
                await engine.wait(container, WAIT_SECONDS / 2)
            report = await engine.inspect(container)
            state = (report or {}).get("State") or {}
            signalled = _is_doubtful(state) and await engine.was_sent_a_signal(container)
    except (EngineUnreachable, EngineRefused, TimeoutError) as error:
        return engine_lost(engine.path, "went away", getattr(error, "remedy", None))
    if objection is not None:
        return EngineLost(
            f"the engine's stream can't be followed: {objection}", where=engine.path, remedy=_AGAIN
        )
    if report is None:
        return SandboxKilled(
            "the sandbox was removed from outside", where=container[:12], remedy=_AGAIN
        )
    return judge_death(state, limits=limits, stderr=stderr, signalled=signalled)


def engine_lost(path: str, what: str, remedy: str | None = None) -> EngineLost:
    """What a turn ends with whose engine is there no more: `what` has become of it."""
    return EngineLost(
        f"the container engine {what} while the turn ran",
        where=path,
        remedy=remedy or START_ENGINE,
    )


async def paused(engine: Engine, container: ContainerId) -> SandboxPaused | None:
    """What a turn ends with whose container somebody froze; None: it isn't, or nobody can tell."""
    try:
        report = await engine.inspect(container)
    except (EngineUnreachable, EngineRefused):
        return None  # whether the engine answers at all is asked elsewhere
    if ((report or {}).get("State") or {}).get("Paused") is not True:
        return None
    return SandboxPaused(
        "the sandbox was paused from outside while the turn ran",
        where=container[:12],
        remedy="see who pauses containers on this machine, then send the message again",
    )


def _is_doubtful(state: Mapping[str, Any]) -> bool:
    """Whether it fits both an agent out of memory, and a kill from outside after a tool was."""
    return state.get("OOMKilled") is True and state.get("ExitCode") == _PID_1_KILLED


def judge_death(
    state: Mapping[str, Any], *, limits: Limits, stderr: bytes = b"", signalled: bool = False
) -> TurnFailed | None:
    """The cause in the engine's `State` of a container; None if it ended by itself and well.

    `signalled`: somebody asked the engine to signal it, which decides where the state fits both.
    """
    code = state.get("ExitCode")
    if state.get("Running") or not isinstance(code, int):
        return AgentProcessFailed("the agent closed its output and runs on", remedy=_AGAIN)
    if code == 0:
        return None
    if signalled and code == _PID_1_KILLED:
        return SandboxKilled("the sandbox was killed from outside", remedy=_AGAIN)
    if state.get("OOMKilled") is True and code in (_PID_1_KILLED, _CLI_KILLED):
        return SandboxOutOfMemory(
            f"the agent ran into the sandbox's memory limit of {limits.memory_bytes >> 20} MiB",
            where="TRUSTFLOOR_SANDBOX_MEMORY_MB",
            remedy="raise the limit, or ask for less at once",
        )
    if code == _PID_1_KILLED:
        return SandboxKilled("the sandbox was killed from outside", remedy=_AGAIN)
    if code == OUTPUT_CLOSED:
        what = "the agent closed its output and ran on"
    elif code > ENDED_BY_SIGNAL:
        what = f"the agent process was ended inside the sandbox by {_signal(code)}"
    else:
        what = f"the agent process ended with status {code}"
    complaint = last_line(stderr)
    return AgentProcessFailed(f"{what}: {complaint}" if complaint else what, remedy=_AGAIN)


def _signal(code: int) -> str:
    number = code - ENDED_BY_SIGNAL
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
