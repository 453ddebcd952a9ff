"""Real MCP servers behind a port of loopback, which keep what they were sent."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from mcp.server import MCPServer
from starlette.types import Message, Receive, Scope, Send

from tests.worlds.http import listening

Kind = Literal["http", "sse"]
KINDS: tuple[Kind, ...] = ("http", "sse")


@dataclass
class FarWorld:
    """A server that runs: `called` has each call of a tool, `heard` each request's bytes.

    `open` is how many requests are being answered.
    """

    entry: dict[str, Any]
    called: list[tuple[str, str]] = field(default_factory=list)
    heard: list[bytes] = field(default_factory=list)
    authorization: str = ""
    open: int = 0


def _server(world: FarWorld) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("far", instructions="Ask it politely.")

    @server.tool()
    def echo(text: str) -> str:
        """Give the text back."""
        world.called.append(("echo", text))
        return "echo: " + text

    @server.tool()
    def tell(text: str) -> str:
        """Tell what the server was given to know its caller by."""
        world.called.append(("tell", text))
        return "it was: " + world.authorization

    @server.tool()
    def fail(text: str) -> str:
        """Fail."""
        world.called.append(("fail", text))
        raise ValueError("this tool fails")

    return server


@asynccontextmanager
async def a_far_server(kind: Kind = "http", **more: Any) -> AsyncIterator[FarWorld]:
    """Run a server until the block ends; `more` goes into its entry."""
    world = FarWorld({})
    server = _server(world)
    inner = server.streamable_http_app() if kind == "http" else server.sse_app()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers", []))
        world.authorization = headers.get(b"authorization", b"").decode()
        world.heard.append(repr((scope.get("path"), headers)).encode())

        async def noting() -> Message:
            message = await receive()
            world.heard.append(message.get("body", b""))
            return message

        world.open += 1
        try:
            await inner(scope, noting, send)
        finally:
            world.open -= 1

    async with inner.router.lifespan_context(inner), listening(app) as at:
        path = "mcp" if kind == "http" else "sse"
        world.entry |= {"type": kind, "url": f"{at.url}/{path}", **more}
        yield world
