"""What is said to a server to learn its tools, whatever carries it; each answer is bounded.

The server may be hostile: it is asked little, believed in nothing, and its texts are cut and made
harmless before anybody sees them.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

VERSION: Final = "2025-06-18"
"""Of the Model Context Protocol, as we speak it; a server may answer with another."""
MOST_TOOLS: Final = 500
MOST_PAGES: Final = 50
MOST_MESSAGES: Final = 1_000
"""Messages that a server says before it has answered."""
LONGEST_NAME: Final = 128
GREETING: Final = 1
"""The number of the first request; there are servers that take 0 for none."""
LONGEST_TEXT: Final = 1_000


class ServerFailed(Exception):
    """The server can't be reached, or doesn't keep to the protocol."""


class SessionEnded(ServerFailed):
    """The server has ended the session; whoever greets it anew gets another (HTTP 404)."""


class Peer(Protocol):
    """A server that messages go to and come from. Both raise ServerFailed."""

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send one message."""
        ...

    async def receive(self) -> Mapping[str, Any]:
        """The next message."""
        ...

    def agreed(self, version: str) -> None:
        """Learn the protocol's version that both speak from now on."""
        ...


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool by its name, and what the server says of it."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Introduced:
    """What a server says of itself; `more` says that it has more tools than are listed."""

    name: str
    version: str
    protocol: str
    tools: tuple[Tool, ...]
    more: bool = False


async def greeted(peer: Peer) -> Mapping[str, Any]:
    """Greet a server; what it says of itself, as it says it. Raises ServerFailed."""
    hello = await asked(
        peer,
        GREETING,
        "initialize",
        {
            "protocolVersion": VERSION,
            "capabilities": {},
            "clientInfo": {"name": "trustfloor", "version": "1"},
        },
    )
    peer.agreed(plain(hello.get("protocolVersion"), LONGEST_NAME))
    await peer.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    return hello


async def introduced(peer: Peer) -> Introduced:
    """Greet a server and ask for its tools. Raises ServerFailed."""
    hello = await greeted(peer)
    protocol = plain(hello.get("protocolVersion"), LONGEST_NAME)
    about = hello.get("serverInfo")
    about = about if isinstance(about, Mapping) else {}
    can = hello.get("capabilities")
    tools: list[Tool] = []
    more = isinstance(can, Mapping) and "tools" in can
    cursor: str | None = None
    for page in range(MOST_PAGES):
        if not more or len(tools) >= MOST_TOOLS:
            break
        params = {} if cursor is None else {"cursor": cursor}
        answer = await asked(peer, GREETING + 1 + page, "tools/list", params)
        tools += _tools(answer)
        after = answer.get("nextCursor")
        more = isinstance(after, str) and after != cursor
        cursor = after if isinstance(after, str) else None
    return Introduced(
        name=plain(about.get("name"), LONGEST_NAME),
        version=plain(about.get("version"), LONGEST_NAME),
        protocol=protocol,
        tools=tuple(tools[:MOST_TOOLS]),
        more=more or len(tools) > MOST_TOOLS,
    )


def plain(text: object, longest: int) -> str:
    """A server's text on one line, cut, and without characters that draw something else."""
    if not isinstance(text, str):
        return ""
    whole = " ".join(text[: longest * 4].split())
    clean = "".join(each if _harmless(each) else "\N{REPLACEMENT CHARACTER}" for each in whole)
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"


def _harmless(char: str) -> bool:
    return char == " " or unicodedata.category(char)[0] not in "CZ"


def _tools(answer: Mapping[str, Any]) -> list[Tool]:
    listed = answer.get("tools")
    if not isinstance(listed, list):
        raise ServerFailed("its answer to tools/list has no list of tools")
    return [
        Tool(plain(each.get("name"), LONGEST_NAME), plain(each.get("description"), LONGEST_TEXT))
        for each in listed[: MOST_TOOLS + 1]
        if isinstance(each, Mapping) and isinstance(each.get("name"), str)
    ]


async def asked(
    peer: Peer, number: int, method: str, params: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The result of one request; what else the server says meanwhile is passed over.

    Raises ServerFailed.
    """
    await peer.send({"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params)})
    for _ in range(MOST_MESSAGES):
        said = await peer.receive()
        if said.get("id") != number or "method" in said:
            continue
        fault = said.get("error")
        if isinstance(fault, Mapping):
            raise ServerFailed(f"it refuses {method}: {plain(fault.get('message'), LONGEST_TEXT)}")
        result = said.get("result")
        if not isinstance(result, Mapping):
            raise ServerFailed(f"its answer to {method} has no result")
        return result
    raise ServerFailed(f"it said {MOST_MESSAGES} other things and didn't answer {method}")
