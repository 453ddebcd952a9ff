"""A real supervisor for the tour: the same command that a person would run, as a child process."""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from supervisor.cli.client import Client, Unreachable, find_token
from supervisor.cli.tour.world import World
from supervisor.errors import TrustfloorError
from supervisor.variables import api_socket
from trustfloor.private_socket import socket_at

_READY_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 20.0
_POLL_SECONDS: Final = 0.05
_LOG_LINES: Final = 15
_NEEDED: Final = ("engine", "runner image", "seccomp")
"""The checks of the supervisor's own that sandboxed sessions hang on."""
_OWN: Final = "TRUSTFLOOR_"
_KEPT: Final = frozenset(
    {"TRUSTFLOOR_ENGINE_SOCKET", "TRUSTFLOOR_RUNNER_IMAGE", "TRUSTFLOOR_ENGINE_PATH_MAP"}
)


_ENDS_WITH_US: Final = (
    ("setpriv", "--pdeathsig", "TERM") if shutil.which("setpriv") is not None else ()
)
"""Stops the supervisor where the tour is killed, and can't do it itself any more (prctl(2))."""


class SupervisorFailed(TrustfloorError):
    """The tour's supervisor did not start, or did not end."""

    code = "supervisor_failed"
    title = "The tour's supervisor failed"


class NoSandbox(TrustfloorError):
    """The tour needs the container engine and the runner image."""

    code = "no_sandbox"
    title = "There is nothing to run a sandbox with"


@dataclass
class Host:
    """The running supervisor. `exit_status` is None until it was stopped."""

    process: asyncio.subprocess.Process
    client: Client
    world: World
    start: Callable[[], Awaitable[asyncio.subprocess.Process]]
    exit_status: int | None = None

    async def require_sandbox(self) -> None:
        """See that sandboxed sessions can run. Raises NoSandbox with what to do."""
        ready = await self.client.get("/api/ready")
        for check in ready["checks"]:
            if check["name"] in _NEEDED and check["ok"] is not True:
                raise NoSandbox(check["detail"], remedy=check["remedy"])

    async def restart(self) -> int:
        """Stop it and start it again on the same folders; the exit status that it ended with."""
        status = await self.stop()
        self.process, self.exit_status = await self.start(), None
        return status

    async def stop(self) -> int:
        """Ask it to stop, as `systemctl stop` would; its exit status. Bounded in time."""
        if self.exit_status is None:
            if self.process.returncode is None:
                self.process.send_signal(signal.SIGTERM)
            try:
                async with asyncio.timeout(_STOP_SECONDS):
                    self.exit_status = await self.process.wait()
            except TimeoutError:
                self.process.kill()
                await self.process.wait()
                raise SupervisorFailed(
                    f"the supervisor did not end within {_STOP_SECONDS:.0f} s",
                    where=_tail(self.world.log),
                ) from None
        return self.exit_status


@asynccontextmanager
async def running_supervisor(world: World, policies: Path | None) -> AsyncIterator[Host]:
    """Start a supervisor on this world and wait until it answers; it ends with the block.

    `policies` is the folder of policy files, absolute; None: the shipped ones.
    """
    told = environment(world, os.environ)
    if policies is not None:
        told["TRUSTFLOOR_POLICIES"] = str(policies)

    async def start() -> asyncio.subprocess.Process:
        with world.log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *_ENDS_WITH_US,
                *(sys.executable, "-m", "supervisor", "serve"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=told,
                start_new_session=True,  # Ctrl-C is for the tour, which then stops it
            )
        try:
            await _until_it_answers(process, world)
        except BaseException:
            await _kill(process)
            raise
        return process

    process = await start()
    async with Client(_url(world), find_token(world.data)) as client:
        host = Host(process, client, world, start)
        try:
            yield host
        finally:
            await host.stop()


async def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
        await process.wait()


def environment(world: World, inherited: Mapping[str, str]) -> dict[str, str]:
    """What the supervisor is told: all of it about this world, none of the person's own setup.

    The key is one that opens nothing. It is there to be looked for.
    """
    rest = {
        name: value
        for name, value in inherited.items()
        if name in _KEPT or not name.startswith((_OWN, "ANTHROPIC_", "CLAUDE_", "VAULT_PATH"))
    }
    return rest | {
        "TRUSTFLOOR_VAULT": str(world.vault),
        "TRUSTFLOOR_DATA_DIR": str(world.data),
        "TRUSTFLOOR_RUNTIME_DIR": str(world.runtime),
        "TRUSTFLOOR_HOST": "127.0.0.1",
        "TRUSTFLOOR_PORT": "0",
        "TRUSTFLOOR_MODEL": f"scripted:{world.scenario}",
        "TMPDIR": str(world.temporary),
        "ANTHROPIC_API_KEY": world.key,
    }


async def _until_it_answers(process: asyncio.subprocess.Process, world: World) -> None:
    try:
        async with asyncio.timeout(_READY_SECONDS):
            while process.returncode is None:
                try:
                    async with Client(_url(world), "none-is-needed") as client:
                        await client.get("/api/health")
                except Unreachable:
                    await asyncio.sleep(_POLL_SECONDS)
                else:
                    return
    except TimeoutError:
        pass
    raise SupervisorFailed(
        f"the supervisor ended with {process.returncode}"
        if process.returncode is not None
        else f"the supervisor did not answer within {_READY_SECONDS:.0f} s",
        where=_tail(world.log),
        remedy="run: trustfloor doctor",
    )


def _url(world: World) -> str:
    return socket_at(api_socket(world.data))


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "its last lines:\n" + "\n".join(lines[-_LOG_LINES:])
