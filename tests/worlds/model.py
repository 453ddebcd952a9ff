"""Worlds at the model's end: a scripted model, a recording upstream, a gateway door, a real CLI."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import claude_agent_sdk
from aiohttp import web
from pydantic import SecretStr

from supervisor.gateway.access import Budget, ModelAccess
from supervisor.gateway.door import Door, Gateway
from supervisor.gateway.proxy import Upstream
from supervisor.gateway.scenario import parse_scenario
from supervisor.gateway.scripted_model import ScriptedModel, serve_scripted
from supervisor.gateway.unix_socket import bound_socket, short_path
from supervisor.ids import new_session_id, new_turn_id

JSON = {"content-type": "application/json"}
KEY_CANARY = "sk-canary-0f6f1d7c9b3e4d52a8e1-never-to-be-seen"
"""The API key of test gateways: it may reach the upstream's x-api-key header and nothing else."""

OPEN_BUDGET = Budget(tokens=None, cost_usd=None)
BOUNDED = 30.0  # seconds until a test that waits for an event gives up
CLI = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"


def steps(*steps: Mapping[str, Any]) -> str:
    """A prompt part that makes the scripted model answer with these steps."""
    return f"<<steps: {json.dumps(list(steps), ensure_ascii=False)}>>"


def access(*models: str, server_tools: bool = False, budget: Budget = OPEN_BUDGET) -> ModelAccess:
    """A turn's access to these models, all by default."""
    return ModelAccess(models=models or ("*",), server_tools=server_tools, budget=budget)


@asynccontextmanager
async def scripted(
    folder: Path, scenario: str = "", *, directives: bool = True
) -> AsyncIterator[ScriptedModel]:
    """A scripted model on a socket in the folder, with these scripts (YAML list items)."""
    source = f"version: 1\ndirectives: {str(directives).lower()}\n"
    if scenario:
        source += f"scripts:\n{scenario}"
    parsed = parse_scenario(source, file="test.yaml")
    async with serve_scripted(parsed, socket_path=folder / "model.sock") as model:
        yield model


@dataclass
class Recorder:
    """An upstream that notes what reached it; `answer` makes the response."""

    socket_path: Path
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]]
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    left: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.headers.append({k.lower(): v for k, v in request.headers.items()})
        self.bodies.append(await request.read())
        try:
            return await self.answer(request)
        except asyncio.CancelledError:
            self.left.set()
            raise


async def small_answer(_request: web.Request) -> web.StreamResponse:
    """A whole answer of the Messages API that used 10 + 5 tokens."""
    return web.json_response({"type": "message", "usage": {"input_tokens": 10, "output_tokens": 5}})


@asynccontextmanager
async def recorder(
    folder: Path,
    answer: Callable[[web.Request], Awaitable[web.StreamResponse]] = small_answer,
) -> AsyncIterator[Recorder]:
    """A recording upstream on a socket in the folder."""
    found = Recorder(folder / "upstream.sock", answer)
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_route("*", "/{anything:.*}", found.handle)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    with bound_socket(found.socket_path, 0o600) as bound:
        try:
            await runner.setup()
            await web.SockSite(runner, bound).start()
            yield found
        finally:
            await runner.cleanup()


@asynccontextmanager
async def door_to(
    upstream_socket: Path,
    socket_path: Path,
    terms: ModelAccess | None = None,
    *,
    key: str | None = KEY_CANARY,
) -> AsyncIterator[Door]:
    """A gateway with one door to an upstream at a Unix socket; its key is the canary."""
    upstream = Upstream(
        base_url="http://upstream",
        api_key=SecretStr(key) if key else None,
        unix_socket=upstream_socket,
    )
    async with (
        Gateway(upstream) as gateway,
        gateway.open_door(
            session_id=new_session_id(),
            turn_id=new_turn_id(),
            access=terms or access(),
            socket_path=socket_path,
        ) as door,
    ):
        yield door


@asynccontextmanager
async def client(socket_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """An HTTP client whose every request goes to the socket, however long its path is."""
    async with AsyncExitStack() as stack:
        short = stack.enter_context(short_path(socket_path))
        yield await stack.enter_async_context(
            aiohttp.ClientSession(
                "http://gateway",
                connector=aiohttp.UnixConnector(short, limit=0),
                timeout=aiohttp.ClientTimeout(total=BOUNDED),
            )
        )


def request_body(prompt: str = "hello", **more: Any) -> dict[str, Any]:
    """A small request as an agent makes it: it has a tool."""
    return {
        "model": "claude-sonnet-5-5",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": prompt}],
        "tools": [{"name": "Read", "input_schema": {"type": "object"}}],
        **more,
    }


@dataclass(frozen=True)
class CliRun:
    """How a CLI run ended: its exit status and the JSON lines it wrote."""

    status: int
    lines: list[dict[str, Any]]

    @property
    def result(self) -> dict[str, Any]:
        return next(line for line in self.lines if line["type"] == "result")


async def run_cli(socket_path: Path, folder: Path, prompt: str, *arguments: str) -> CliRun:
    """Run the real CLI on one prompt in the folder, its model traffic through the socket."""
    home = folder / "home"
    work = folder / "work"
    for each in (home, work):
        each.mkdir(exist_ok=True)
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "HOME": str(home),
        "CLAUDE_CONFIG_DIR": str(home),
        "ANTHROPIC_UNIX_SOCKET": str(socket_path),
        "ANTHROPIC_BASE_URL": "http://gateway",
        "ANTHROPIC_API_KEY": "placeholder",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    process = await asyncio.create_subprocess_exec(
        CLI,
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
        *arguments,
        cwd=work,
        env=environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(prompt.encode()), 2 * BOUNDED)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    lines = [json.loads(line) for line in output.splitlines() if line.strip()]
    return CliRun(process.returncode or 0, lines)


async def ask(http: aiohttp.ClientSession, **more: Any) -> tuple[int, dict[str, Any]]:
    """Send a request to the model: the answer's status and body."""
    async with http.post("/v1/messages?beta=true", json=request_body(**more)) as answer:
        return answer.status, await answer.json()
