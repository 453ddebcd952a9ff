"""A world in which the scripted model notes every request that reaches it, behind a real house.

The house takes it for the real API, so the whole way is tried: CLI, gateway, model.
"""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from supervisor.gateway.scenario import Scenario
from supervisor.gateway.scripted_model import ScriptedModel
from tests.worlds.house import House, a_house

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Noted:
    """The bodies of the requests that the model was sent, in order."""

    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)

    def conversations(self) -> list[str]:
        """All that was said up to each request, system prompt included; side requests left out."""
        return [
            json.dumps([body.get("system"), body["messages"]], ensure_ascii=False)
            for body in self.bodies
            if body.get("tools")
        ]


@asynccontextmanager
async def a_noting_model() -> AsyncIterator[Noted]:
    """A model on a loopback port that obeys the directives in prompts."""
    noted = Noted()

    @web.middleware
    async def note(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path == "/v1/messages":
            noted.bodies.append(json.loads(await request.read()))
        return await handler(request)

    app = ScriptedModel(Scenario(directives=True)).app()
    app.middlewares.append(note)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        noted.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield noted
    finally:
        await runner.cleanup()


@asynccontextmanager
async def a_noted_house(
    noted: Noted, root: Path | None = None, **settings: Any
) -> AsyncIterator[House]:
    """A house whose gateway sends everything to this model."""
    async with a_house(root, model=None, api_url=noted.url, **settings) as house:
        yield house
