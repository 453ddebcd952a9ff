"""Where the gateway passes requests on to: the model's API, or a script in its place."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from supervisor.errors import ConfigurationError
from supervisor.gateway.proxy import Upstream
from supervisor.gateway.scenario import parse_scenario
from supervisor.gateway.scripted_model import serve_scripted
from supervisor.settings import Settings


async def upstream_of(settings: Settings, folder: Path, stack: AsyncExitStack) -> Upstream:
    """The upstream that the settings name. A script is served until the stack is left.

    Its socket is in that folder. Raises ConfigurationError.
    """
    path = settings.scenario
    if path is None:
        return Upstream(base_url=settings.api_url, api_key=settings.api_key)
    try:
        text = await asyncio.to_thread(path.read_text, "utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"the scripted model's file can't be read: {error}",
            where=str(path),
            remedy="give one with --model scripted:FILE",
        ) from error
    socket = folder / "scripted.sock"
    # A killed supervisor leaves its own behind; with the data folder's lock held it is nobody's.
    await asyncio.to_thread(socket.unlink, missing_ok=True)
    await stack.enter_async_context(
        serve_scripted(parse_scenario(text, file=str(path)), socket_path=socket)
    )
    return Upstream(base_url="http://scripted", api_key=settings.api_key, unix_socket=socket)
