"""Puts the filter together from the settings that the supervisor behind it has as well."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from supervisor.engine_filter.creates import Grounds
from supervisor.engine_filter.engine_side import EngineSide
from supervisor.engine_filter.guard import Guard
from supervisor.engine_filter.relay import listening
from supervisor.errors import ConfigurationError
from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.container.engine_paths import find_engine_paths
from supervisor.runtimes.container.limits import limits_of
from supervisor.settings import Settings

_STORE: Final = ("vault-view", "views")


@asynccontextmanager
async def open_filter(
    settings: Settings, *, listen: Path, engine: Path, mode: int
) -> AsyncIterator[Grounds]:
    """The filter, listening; leaving the block ends it. Gives what it holds sandboxes to.

    Raises ConfigurationError, EngineUnreachable.
    """
    if await asyncio.to_thread(lambda: listen.resolve() == engine.resolve()):
        raise ConfigurationError(
            "the filter can't listen where the engine does",
            where=str(listen),
            remedy="give another --listen, and set TRUSTFLOOR_ENGINE_SOCKET to it",
        )
    views, runtime = settings.data_dir.joinpath(*_STORE), settings.runtime_dir
    async with Engine(str(engine)) as client:
        await client.info()
        paths = await find_engine_paths(client, settings.engine_path_map, (views, runtime))
    there = {str(paths(each)): each for each in (views, runtime)}
    grounds = Grounds(
        views=paths(views),
        runtime=paths(runtime),
        engine_root=paths.root,
        most=limits_of(settings),
    )
    side = EngineSide(str(engine))
    guard = Guard(side, grounds, settings.runner_image, there, settings.sandbox_count)
    async with listening(listen, mode, side, guard):
        yield grounds
