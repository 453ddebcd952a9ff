"""The egress of a sandbox: the one way from an agent there to servers behind the network.

The sandbox has no network, so its agent's program sends each message of the Model Context Protocol
in a frame of its own, and the supervisor speaks to the server. Nothing is passed through: the
agent's greeting is answered here, only the list of tools is asked for, and a call goes out only
where the gate has allowed just this one (`permits.py`). What the supervisor sends is made here,
so there is no field of a message to carry anything else; and it greets and lists so seldom that
their number tells nothing either. Addresses, headers and their secrets stay outside the sandbox.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

from supervisor.mcp.chosen import Far
from supervisor.mcp.dialogue import LONGEST_NAME, VERSION, ServerFailed, plain
from supervisor.mcp.far import FarServer
from supervisor.mcp.permits import Permits, digest
from supervisor.observability.logs import fields
from supervisor.policy.mcp_names import prefix_of, tool_name
from supervisor.runtimes.contract import FarAnswer

logger = logging.getLogger(__name__)

CALLS_AT_ONCE: Final = 8
"""Calls of a turn that are out at the same time; more wait."""
MOST_REFUSALS: Final = 100
"""Stopped calls of a turn that are entered into the audit log."""
LONGEST_INSTRUCTIONS: Final = 8_192
"""Characters of what a server tells the agent of itself."""

RELAYED: Final = "mcp_relayed"
"""The kind of the audit entry that a call went out."""
REFUSED: Final = "mcp_refused"
"""The kind of the audit entry that one was stopped."""

_INVALID: Final = -32602
_NO_METHOD: Final = -32601
_FAILED: Final = -32000

Record = Callable[[str, dict[str, Any]], Awaitable[object]]
"""Enters something of the turn into the audit log: its kind, what it was."""


class Relay:
    """The far servers of one turn (`FarServers`)."""

    def __init__(self, servers: Mapping[str, Far], record: Record) -> None:
        self._far = dict(servers)
        self._servers = {name: FarServer(each) for name, each in servers.items()}
        self._record = record
        self._permits = Permits()
        self._tools: dict[str, tuple[str, str]] = {}
        self._slots = asyncio.Semaphore(CALLS_AT_ONCE)
        self._told: set[str] = set()
        self._refusals = 0
        self._prefixes = tuple(map(prefix_of, servers))

    @property
    def names(self) -> frozenset[str]:
        """What the agent's program calls them."""
        return frozenset(self._servers)

    def permit(self, tool: str, input: Mapping[str, Any]) -> None:
        """Let one call pass; what can't be of these servers is ignored."""
        if tool.startswith(self._prefixes):
            self._permits.give(tool, input)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """How long they may be called."""
        try:
            yield
        finally:
            # Side by side, and each whatever becomes of the others.
            ends = (each.end() for each in self._servers.values())
            for fault in await asyncio.gather(*ends, return_exceptions=True):
                if fault is not None:
                    logger.error("hanging up on an MCP server failed", exc_info=fault)

    async def answer(self, server: str, message: Mapping[str, Any]) -> FarAnswer:
        """What becomes of one message of the agent's program."""
        number = message.get("id")
        if "method" not in message or isinstance(number, bool) or not isinstance(number, str | int):
            return FarAnswer(None)  # a notification, or an answer to what nobody asked
        params = message.get("params")
        params = params if isinstance(params, Mapping) else {}
        try:
            result = await self._result(server, str(message["method"]), params)
        except ServerFailed as error:
            reason = f"the MCP server {server} can't be used: {error}"
            return FarAnswer(_error(number, _FAILED, reason), self._once(server, reason))
        except _Refused as refused:
            return FarAnswer(_error(number, refused.code, str(refused)))
        except Exception:  # a guard that fails must fail closed, and say so
            logger.exception("a message to an MCP server failed", extra=fields(server=server))
            return FarAnswer(_error(number, _FAILED, "the supervisor failed; it is in its log"))
        return FarAnswer({"jsonrpc": "2.0", "id": number, "result": result})

    async def _result(
        self, server: str, method: str, params: Mapping[str, Any]
    ) -> Mapping[str, Any]:
        far = self._servers[server]
        if method == "initialize":
            return _greeting(await far.about(), params)
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": self._offered(server, await far.tools())}
        if method == "tools/call":
            return await self._call(server, params)
        raise _Refused(_NO_METHOD, "only the tools of this server can be used from a sandbox")

    def _offered(self, server: str, tools: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """The tools that the agent is told of: of two with one name, the first."""
        offered = []
        for each in tools:
            name = each.get("name")
            if not isinstance(name, str) or not name:
                continue
            full = tool_name(server, name)
            # The model's API takes no longer one, and would refuse all that the turn asks.
            if len(full) > LONGEST_NAME:
                continue
            if self._tools.setdefault(full, (server, name)) == (server, name):
                offered.append({**each, "inputSchema": _schema(each.get("inputSchema"))})
        return offered

    async def _call(self, server: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str) or not isinstance(arguments, Mapping):
            raise _Refused(_INVALID, "a call names a tool and has an object of arguments")
        full = tool_name(server, name)
        told = {
            "server": server,
            "origin": self._far[server].origin,
            "tool": full,
            "input_sha256": digest(arguments),
        }
        if self._tools.get(full) != (server, name):
            raise _Refused(_INVALID, "the server has listed no tool of this name")
        allowed = self._permits.take(full, arguments)
        if allowed is None:
            await self._tell_refused(told)
            raise _Refused(_INVALID, "nobody has allowed this call, so it wasn't sent")
        async with self._slots:
            await self._record(RELAYED, told)
            try:
                return await self._servers[server].call(name, allowed)
            except ServerFailed as error:
                text = f"The call failed: {error}"
                return {"content": [{"type": "text", "text": text}], "isError": True}

    async def _tell_refused(self, told: dict[str, Any]) -> None:
        # The first ones: a sandbox could make any number.
        self._refusals += 1
        if self._refusals <= MOST_REFUSALS:
            await self._record(REFUSED, told)
            logger.warning("a call that nobody allowed was stopped", extra=fields(**told))

    def _once(self, server: str, reason: str) -> str | None:
        if server in self._told:
            return None
        self._told.add(server)
        return reason


class _Refused(Exception):
    """A message that isn't passed on."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def _greeting(about: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    asked_for = params.get("protocolVersion")
    server = about.get("serverInfo")
    server = server if isinstance(server, Mapping) else {}
    greeting: dict[str, Any] = {
        "protocolVersion": asked_for if isinstance(asked_for, str) else VERSION,
        "capabilities": {"tools": {}},
        "serverInfo": {
            "name": plain(server.get("name"), LONGEST_NAME) or "unnamed",
            "version": plain(server.get("version"), LONGEST_NAME) or "unknown",
        },
    }
    instructions = about.get("instructions")
    if isinstance(instructions, str):
        greeting["instructions"] = instructions[:LONGEST_INSTRUCTIONS]
    return greeting


def _schema(given: object) -> Mapping[str, Any]:
    return given if isinstance(given, Mapping) else {"type": "object"}


def _error(number: str | int, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
