"""Where the gateway passes requests on to: the model's API, or a script in its place."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from supervisor.errors import ConfigurationError
from supervisor.gateway.proxy import Upstream
from supervisor.gateway.scenario import Scenario, parse_scenario
from supervisor.gateway.scripted_model import serve_scripted
from supervisor.settings import Settings


def read_script(path: Path) -> Scenario:
    """The scripted model's file. Raises ConfigurationError."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise ConfigurationError(
            f"the scripted model's file can't be read: {why}",
            where=str(path),
            remedy="give one with --model scripted:FILE",
        ) from error
    return parse_scenario(text, file=str(path))


async def upstream_of(settings: Settings, folder: Path, stack: AsyncExitStack) -> Upstream:
    """The upstream that the settings name. A script is served until the stack is left.

    Its socket is in that folder. Raises ConfigurationError.
    """
    path = settings.scenario
    if path is None:
        return Upstream(base_url=settings.api_url, api_key=settings.api_key)
    script = await asyncio.to_thread(read_script, path)
    socket = folder / "scripted.sock"
    # A killed supervisor leaves its own behind; with the data folder's lock held it is nobody's.
    await asyncio.to_thread(socket.unlink, missing_ok=True)
    await stack.enter_async_context(serve_scripted(script, socket_path=socket))
    return Upstream(base_url="http://scripted", api_key=settings.api_key, unix_socket=socket)
