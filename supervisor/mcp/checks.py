"""What health says of the vault's MCP servers; nothing is started for it."""

from collections.abc import Sequence

from supervisor.mcp.servers import Listed, McpServers
from supervisor.observability.health import Check
from supervisor.policy.fault import PolicyFault


def mcp_check(servers: McpServers) -> Check:
    """Whether all that the file says can be used. Blocks."""
    listed, broken, _ = servers.all()
    return said_of(listed, broken)


def said_of(listed: Sequence[Listed], broken: Sequence[PolicyFault]) -> Check:
    """Counts and places only: what stands in an entry is for an admin to see."""
    waiting = sum(not each.allowed.local for each in listed)
    parts = [f"{len(listed)} can be used" if listed or broken else "none is configured"]
    if waiting:
        parts.append(f"{waiting} of them only once an admin has allowed it: trustfloor mcp list")
    if not broken:
        return Check("MCP servers", ok=True, detail="; ".join(parts))
    first = broken[0]
    place = ":".join(str(each) for each in (first.file, first.line, first.column) if each)
    parts.insert(0, f"{len(broken)} can't be used, the first at {place}")
    remedy = "`trustfloor mcp list` says what is wrong with each; mend the file"
    return Check("MCP servers", ok=False, detail="; ".join(parts), remedy=remedy)
