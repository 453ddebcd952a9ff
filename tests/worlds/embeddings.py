"""A server for embeddings on loopback, which knows a few meanings and notes what it is sent."""

import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
from aiohttp import web
from pydantic import SecretStr

from supervisor.search.embeds import HttpEmbeds

MEANINGS = (
    {"car", "automobile", "vehicle", "driving"},
    {"apple", "pear", "fruit", "orchard"},
    {"sea", "ocean", "ferry", "island"},
)
KEY = SecretStr("sk-canary-of-embeddings")


@dataclass
class EmbeddingsServer:
    """What it was sent, and how it answers; `answer` stands in for a proper answer."""

    url: str = ""
    texts: list[str] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    answer: Any = None
    status: int = 200

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.texts += body["input"]
        self.keys.add(request.headers.get("Authorization"))
        self.models.add(body["model"])
        if self.status in {301, 307}:
            return web.Response(status=self.status, headers={"Location": f"{self.url}/elsewhere"})
        if self.answer is not None or self.status != 200:
            return web.json_response(self.answer, status=self.status)
        data = [
            {"index": index, "embedding": meaning(text)} for index, text in enumerate(body["input"])
        ]
        return web.json_response({"data": data[::-1]})


def meaning(text: str) -> list[float]:
    """How much a text has of each meaning, and a little of its own."""
    words = re.findall(r"\w+", text.lower())
    return [*(float(sum(word in each for word in words)) for each in MEANINGS), 0.1]


@contextlib.asynccontextmanager
async def embeddings_server() -> AsyncIterator[EmbeddingsServer]:
    """The server, on a free port of loopback, while the block lasts."""
    server = EmbeddingsServer()
    app = web.Application()
    app.router.add_post("/v1/embeddings", server.handle)
    app.router.add_post("/v1/embeddings/elsewhere", server.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        server.url = f"http://127.0.0.1:{port}/v1/embeddings"
        yield server
    finally:
        await runner.cleanup()


@contextlib.asynccontextmanager
async def embeds_of(server: EmbeddingsServer, model: str = "m") -> AsyncIterator[HttpEmbeds]:
    """A client of it, as a supervisor has one."""
    async with httpx.AsyncClient(trust_env=False, follow_redirects=False) as client:
        yield HttpEmbeds(server.url, model, KEY, client)
