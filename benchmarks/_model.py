"""A model of the benchmark's own: the scripted one, noting when each session's requests came."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from supervisor.gateway.scenario import parse_scenario
from supervisor.gateway.scripted_model import ScriptedModel

SCENARIO = """\
version: 1
directives: true
scripts:
  - {name: hello, when: {always: true}, steps: [{text: Hello.}]}
"""


@dataclass
class Model:
    """Where it listens, and what came when: seconds on the monotonic clock, by session."""

    url: str
    socket: Path
    requests: dict[str, list[float]] = field(default_factory=dict)

    def first(self, session: str) -> float:
        """When the session's first request came."""
        return self.requests[session][0]

    def first_after(self, session: str, moment: float) -> float:
        """When the session's first request since then came."""
        return next(each for each in self.requests[session] if each >= moment)


@asynccontextmanager
async def recording_model(folder: Path) -> AsyncIterator[Model]:
    """Serve it on a free port of loopback and on a socket in the folder, open to any user."""
    scripted = ScriptedModel(parse_scenario(SCENARIO, file="benchmark.yaml")).app()
    model = Model("", folder / "model.sock")

    @web.middleware
    async def note(request: web.Request, handler: object) -> web.StreamResponse:
        session = request.headers.get("x-claude-code-session-id", "")
        model.requests.setdefault(session, []).append(time.monotonic())
        return await handler(request)  # type: ignore[operator, no-any-return]

    scripted.middlewares.append(note)
    runner = web.AppRunner(scripted, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        await web.UnixSite(runner, str(model.socket)).start()
        model.socket.chmod(0o666)
        model.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield model
    finally:
        await runner.cleanup()
