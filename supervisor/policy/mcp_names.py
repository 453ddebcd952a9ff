"""How the agent's program spells the tools of MCP servers: the one name that a call is known by."""

import re
from typing import Final

_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")


def spelled(name: str) -> str:
    """A server's or a tool's name as the agent's program spells it (Claude Code 2.1)."""
    return _OTHER.sub("_", name)


def prefix_of(server: str) -> str:
    """What the names of all tools of a server begin with."""
    return f"mcp__{spelled(server)}__"


def tool_name(server: str, tool: str) -> str:
    """What the agent, and so the gate, calls a server's tool."""
    return prefix_of(server) + spelled(tool)


def is_plain(server: str) -> bool:
    """Whether the name of a tool says for certain that it is of this server.

    `a._b` would be spelled `a__b`, so that its tool `x` were a tool `b__x` of `a`; and a tool `x`
    of `a_` were a tool `_x` of `a`.
    """
    said = spelled(server)
    return "__" not in said and not said.startswith("_") and not said.endswith("_")
