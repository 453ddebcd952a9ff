"""One server behind the network, as the supervisor calls it for a turn: greeted once, then asked.

The server may be hostile: what it says is bounded, cleaned of the secrets that it was given, and
made of plain JSON again before it goes anywhere.
"""

import asyncio
import itertools
import json
from collections.abc import Awaitable, Mapping
from contextlib import AsyncExitStack
from typing import Any, Final, TypeVar

from supervisor.events.redact import Redactor
from supervisor.mcp.called import HttpServer, SseServer, called
from supervisor.mcp.chosen import Far
from supervisor.mcp.dialogue import (
    GREETING,
    MOST_PAGES,
    MOST_TOOLS,
    Peer,
    ServerFailed,
    SessionEnded,
    asked,
    greeted,
)

GREETING_SECONDS: Final = 15.0
"""For connecting and the first words; the agent's program waits 30 s for a server."""
LISTING_SECONDS: Final = 15.0
CALL_SECONDS: Final = 600.0
"""For one call of a tool."""
MOST_GREETINGS: Final = 5
"""How often a turn connects to a server."""
MOST_LISTINGS: Final = 5
"""How often a turn asks a server for its tools, where the first times came to nothing."""
LONGEST_LISTING: Final = 2 * 1024 * 1024
"""Bytes of all its tools as JSON: the agent's program may have them told again and again."""

A = TypeVar("A")


class FarServer:
    """The conversation with one server. Its methods raise ServerFailed, with a clean text."""

    def __init__(self, far: Far) -> None:
        self._far = far
        self._redactor = Redactor(far.secrets)
        self._one_at_a_time = asyncio.Lock()
        self._numbers = itertools.count(GREETING + 1)
        self._open: AsyncExitStack | None = None
        self._peer: HttpServer | SseServer | None = None
        self._about: Mapping[str, Any] = {}
        self._tools: list[Mapping[str, Any]] | None = None
        self._greetings = 0
        self._listings = 0
        self._is_over = False

    async def about(self) -> Mapping[str, Any]:
        """What it says of itself; connects, where that isn't so by now."""
        async with self._one_at_a_time:
            if not self._about:
                await self._connected()
            return self._about

    async def tools(self) -> list[Mapping[str, Any]]:
        """Its tools, as it describes them; the first ones, where they are very many. Asked once."""
        async with self._one_at_a_time:
            if self._tools is None:
                peer = await self._connected()
                self._listings += 1
                if self._listings > MOST_LISTINGS:
                    raise ServerFailed(f"it was asked for its tools {MOST_LISTINGS} times")
                try:
                    self._tools = await self._within(LISTING_SECONDS, self._listed(peer))
                except SessionEnded:
                    if not isinstance(peer, HttpServer):
                        raise
                    await self._greet_anew(peer)
                    self._tools = await self._within(LISTING_SECONDS, self._listed(peer))
            return self._tools

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Have a tool called."""
        async with self._one_at_a_time:
            peer = await self._connected()
            if isinstance(peer, SseServer):
                try:
                    return await self._called(peer, tool, arguments)
                except BaseException:  # nobody knows where its stream stands now
                    await self.close()
                    raise
            session = self._greetings
        # Each request has an answer of its own, so calls side by side don't wait for each other.
        try:
            return await self._called(peer.again(), tool, arguments)
        except SessionEnded:  # then it hasn't run the call
            async with self._one_at_a_time:
                if self._greetings == session:  # else another call has greeted it by now
                    await self._greet_anew(peer)
            return await self._called(peer.again(), tool, arguments)

    async def close(self) -> None:
        """Hang up; whoever asks again calls again."""
        opened, self._open, self._peer = self._open, None, None
        if opened is not None:
            await opened.aclose()

    async def end(self) -> None:
        """Hang up for good: nothing calls again."""
        self._is_over = True
        await self.close()

    async def _greet_anew(self, peer: HttpServer) -> None:
        """Begin another session, as the protocol asks for where a server has ended one."""
        self._require_open()
        self._greetings += 1
        if self._greetings > MOST_GREETINGS:
            raise ServerFailed(f"it was called {MOST_GREETINGS} times in this turn")
        peer.forget_session()
        self._about = self._clean(await self._within(GREETING_SECONDS, greeted(peer)))

    async def _connected(self) -> HttpServer | SseServer:
        self._require_open()
        if self._peer is None:
            await self.close()
            self._greetings += 1
            if self._greetings > MOST_GREETINGS:
                raise ServerFailed(f"it was called {MOST_GREETINGS} times in this turn")
            self._about = self._clean(await self._within(GREETING_SECONDS, self._greeted()))
        assert self._peer is not None  # noqa: S101  (greeted, or raised)
        return self._peer

    async def _greeted(self) -> Mapping[str, Any]:
        async with AsyncExitStack() as opening:
            peer = await opening.enter_async_context(called(self._far.given))
            about = await greeted(peer)
            self._require_open()
            self._open = opening.pop_all()
        self._peer = peer
        return about

    def _require_open(self) -> None:
        if self._is_over:
            raise ServerFailed("the turn is over")

    async def _listed(self, peer: Peer) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        cursor: str | None = None
        left = LONGEST_LISTING
        for _ in range(MOST_PAGES):
            params = {} if cursor is None else {"cursor": cursor}
            answer = await asked(peer, next(self._numbers), "tools/list", params)
            listed = answer.get("tools")
            if not isinstance(listed, list):
                raise ServerFailed("its answer to tools/list has no list of tools")
            for each in listed:
                if isinstance(each, Mapping):
                    tool = self._clean(each)
                    left -= len(json.dumps(tool))
                    if left < 0:
                        return found[:MOST_TOOLS]
                    found.append(tool)
            before, cursor = cursor, answer.get("nextCursor")
            if not isinstance(cursor, str) or cursor == before or len(found) >= MOST_TOOLS:
                break
        return found[:MOST_TOOLS]

    async def _called(
        self, peer: Peer, tool: str, arguments: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        given = {"name": tool, "arguments": dict(arguments)}
        asking = asked(peer, next(self._numbers), "tools/call", given)
        return self._clean(await self._within(CALL_SECONDS, asking))

    async def _within(self, seconds: float, doing: Awaitable[A]) -> A:
        try:
            async with asyncio.timeout(seconds):
                return await doing
        except TimeoutError:
            raise ServerFailed(f"it didn't answer within {seconds:g} s") from None
        except ServerFailed as error:
            raise type(error)(self._redactor.text(str(error))) from None

    def _clean(self, said: Mapping[str, Any]) -> Mapping[str, Any]:
        cleaned: Mapping[str, Any] = self._redactor.apply(said)
        return cleaned
