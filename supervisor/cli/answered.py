"""One question to the running supervisor, for commands that ask, print and end."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from supervisor.cli.client import Client, find_token, find_url
from supervisor.cli.render import Screen
from supervisor.errors import TrustfloorError

T = TypeVar("T")

DataDir = Annotated[
    Path | None, typer.Option(help="The supervisor's data folder, where the token is.")
]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON, as the API gives it.")]


def connected(data_dir: Path | None) -> Client:
    """A client with the token in `data_dir`, or where the environment or custom has that folder."""
    return Client(find_url(data_dir), find_token(data_dir))


def answered(question: Callable[[Client], Awaitable[T]], data_dir: Path | None) -> T:
    """What the supervisor answers; ends the command with status 1 where it doesn't."""

    async def asked() -> T:
        async with connected(data_dir) as client:
            return await question(client)

    try:
        return asyncio.run(asked())
    except TrustfloorError as error:
        Screen(sys.stderr).problem(error)
        raise typer.Exit(1) from None
