"""The ways to reach an MCP server."""

from typing import Literal

Transport = Literal["stdio", "sse", "http"]
