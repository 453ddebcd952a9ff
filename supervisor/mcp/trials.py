"""Trying a server out, because an admin asks: connect, list its tools, end it, say what failed."""

import asyncio
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final

from supervisor.events.redact import Redactor
from supervisor.mcp.called import HttpServer, SseServer, called
from supervisor.mcp.dialogue import Introduced, ServerFailed, Tool, introduced
from supervisor.mcp.hidden import long_enough, of_address, repeatable
from supervisor.mcp.patience import SECONDS
from supervisor.mcp.started import Bench, StartedServer, started

AT_ONCE: Final = 2
"""Servers that are tried out at the same time; more wait."""


@dataclass(frozen=True, slots=True)
class Trial:
    """How it went: what the server says of itself, or why not; `complaint` is its own last word."""

    seconds: float
    found: Introduced | None = None
    failure: str | None = None
    complaint: str | None = None


class Trials:
    """Tries servers out, one call at a time each; nothing that it starts stays."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._free = asyncio.Semaphore(AT_ONCE)

    async def of(self, given: Mapping[str, Any], seconds: float = SECONDS) -> Trial:
        """Try a server out, described with its values. Never raises for the server's sake."""
        redactor = Redactor(_values(given))
        async with self._free:
            began = time.monotonic()
            trial = await self._tried(given, seconds)
        return Trial(
            seconds=round(time.monotonic() - began, 3),
            found=None if trial.found is None else _redacted(trial.found, redactor),
            failure=None if trial.failure is None else redactor.text(trial.failure),
            complaint=redactor.text(trial.complaint) if trial.complaint else None,
        )

    async def _tried(self, given: Mapping[str, Any], seconds: float) -> Trial:
        server: StartedServer | HttpServer | SseServer | None = None
        failure = f"it didn't answer within {seconds:g} s"
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(seconds):
                    if given["type"] == "stdio":
                        server = await stack.enter_async_context(started(given, self._bench))
                    else:
                        server = await stack.enter_async_context(called(given))
                    return Trial(0, found=await introduced(server))
        except TimeoutError:
            pass
        except ServerFailed as error:
            failure = str(error)
        complaint = server.complaint if isinstance(server, StartedServer) else None
        return Trial(0, failure=failure, complaint=complaint)


def _values(given: Mapping[str, Any]) -> list[str]:
    """What the server is given and might repeat."""
    texts = [*given.get("env", {}).values(), *given.get("headers", {}).values()]
    return [*repeatable(texts), *long_enough(of_address(given.get("url") or ""))]


def _redacted(found: Introduced, redactor: Redactor) -> Introduced:
    return Introduced(
        name=redactor.text(found.name),
        version=redactor.text(found.version),
        protocol=redactor.text(found.protocol),
        tools=tuple(
            Tool(redactor.text(each.name), redactor.text(each.description)) for each in found.tools
        ),
        more=found.more,
    )
