"""What the admin says of single tools, MCP servers and web domains: rules that tools meet first."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from supervisor.policy.hosts import host_matches
from supervisor.policy.mcp_names import prefix_of, spelled
from supervisor.policy.web import read_address
from supervisor.trust.levels import TrustLevel


class Answer(StrEnum):
    """What policy says of a call, before anything about its input is held against it."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class ToolRule:
    """An answer for some tools. Of each list that isn't empty, one entry must fit.

    `tools` are names, with `*` at most at the end; `servers` names of MCP servers; `domains`
    hosts, or `*.example.org` for all below one; `levels` the trust levels it is for, all if empty.
    `answer` is None where a later file switched the rule off.
    """

    id: str
    reason: str
    answer: Answer | None = None
    tools: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    levels: frozenset[TrustLevel] = frozenset()

    def fits(self, tool: str, input: Mapping[str, Any], level: TrustLevel) -> bool:
        """Whether the rule is about this call."""
        return (
            self.answer is not None
            and bool(self.tools or self.servers or self.domains)
            and (not self.levels or level in self.levels)
            and (not self.tools or any(_names(each, tool) for each in self.tools))
            and (not self.servers or any(_serves(each, tool) for each in self.servers))
            and (not self.domains or self._reaches(input))
        )

    def _reaches(self, input: Mapping[str, Any]) -> bool:
        url = input.get("url")
        if not isinstance(url, str):
            return False
        host = read_address(url).host
        return any(host_matches(host, each) for each in self.domains)


def _names(pattern: str, tool: str) -> bool:
    head = pattern.removesuffix("*")
    # Of a server's tool, a person writes the name that the server gives it.
    said = spelled(head) if head.startswith("mcp__") else head
    return tool.startswith(said) if head != pattern else tool == said


def _serves(server: str, tool: str) -> bool:
    return tool.startswith(prefix_of(server))
