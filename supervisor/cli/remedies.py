"""Remedies as they are at a terminal: to all clients the supervisor speaks of routes."""

import re
from typing import Final

_BY_COMMAND: Final = tuple(
    (re.compile(route), command)
    for route, command in (
        (r"GET /api/agents, or: trustfloor agents", "trustfloor agents"),
        (r"GET /api/agents\b", "`trustfloor agents`"),
        (r"GET /api/chat/sessions\b", "`trustfloor sessions list`"),
        (r"GET /api/grants\b", "`trustfloor grants list`"),
        (r"GET /api/mcp\b", "`trustfloor mcp list`"),
        (r"GET /api/workspaces\b", "`trustfloor workspaces`"),
        (
            r"PUT /api/workspaces/([\w-]+) with the\s+floor",
            r"`trustfloor workspaces set \1 --floor …`",
        ),
        (r"PUT /api/workspaces/([\w-]+)", r"`trustfloor workspaces set \1`"),
        (r"PUT /api/sessions/\{id\}/trust", "`trustfloor sessions trust ID LEVEL`"),
    )
)


def at_a_terminal(remedy: str) -> str:
    """The remedy with commands in the place of routes."""
    for route, command in _BY_COMMAND:
        remedy = route.sub(command, remedy)
    return remedy
