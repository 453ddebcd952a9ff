"""`trustfloor engine-filter`: the engine's socket for a supervisor, and no more than it needs."""

import asyncio
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from supervisor.api.faults import say
from supervisor.cli.complaints import complain_of_error
from supervisor.engine_filter.opened import open_filter
from supervisor.errors import TrustfloorError
from supervisor.observability.logs import configure_logs
from supervisor.settings import Settings


def engine_filter(
    *,
    listen: Annotated[Path, typer.Option(help="The socket to make, for the supervisor.")],
    engine: Annotated[Path, typer.Option(help="The engine's own socket.")] = Path(
        "/var/run/docker.sock"
    ),
    mode: Annotated[str, typer.Option(help="The new socket's permissions, octal.")] = "0660",
) -> None:
    """Pass on to the engine only what a supervisor needs: sandboxes as they must be, and its own.

    Reads the same TRUSTFLOOR_… variables as `serve`; start that one with TRUSTFLOOR_ENGINE_SOCKET
    set to the new socket. Each refusal is in the log, on standard error. Runs until SIGTERM.
    """
    try:
        settings = Settings()
        permissions = int(mode, 8)
    except ValidationError as error:
        for fault in error.errors(include_input=False, include_url=False):
            complain_of_error(say(fault), ".".join(map(str, fault["loc"])))
        raise typer.Exit(2) from None
    except ValueError:
        complain_of_error(f"{mode!r} is no octal number", "--mode")
        raise typer.Exit(2) from None
    configure_logs(settings.log_format)
    try:
        asyncio.run(_run(settings, listen.absolute(), engine.absolute(), permissions))
    except TrustfloorError as error:
        complain_of_error(error.message, error.where, error.remedy)
        raise typer.Exit(1) from None
    except OSError as error:
        complain_of_error(error.strerror or str(error), str(listen))
        raise typer.Exit(1) from None


async def _run(settings: Settings, listen: Path, engine: Path, mode: int) -> None:
    told = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, told.set)
    async with open_filter(settings, listen=listen, engine=engine, mode=mode) as grounds:
        sys.stdout.write(
            f"listening  {listen}\nengine     {engine}\n"
            f"views      {grounds.views}\nruntime    {grounds.runtime}\n"
        )
        sys.stdout.flush()
        await told.wait()
