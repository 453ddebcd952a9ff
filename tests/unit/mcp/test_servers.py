"""What a turn is given of many servers: the first ones, and a word about the others."""

import json
from pathlib import Path

from supervisor.mcp.chosen import ALL
from supervisor.mcp.servers import MOST_OF_A_TURN, McpServers
from supervisor.trust.levels import TrustLevel


def test_servers_beyond_what_a_turn_is_given_are_named(tmp_path: Path) -> None:
    vault, data = tmp_path / "vault", tmp_path / "data"
    vault.mkdir()
    data.mkdir()
    many = {f"s{number:02}": {"command": "x"} for number in range(MOST_OF_A_TURN + 12)}
    (vault / ".mcp.json").write_text(json.dumps({"mcpServers": many}))
    servers = McpServers(vault, data, {})
    for name in many:
        servers.allow(name)
    found = servers.of_turn(ALL, TrustLevel.FULL)
    assert len(found.names) == MOST_OF_A_TURN
    (told,) = found.warnings
    assert "at most 50 MCP servers; left out: s50, s51" in told
    assert "s59 and 2 more" in told
    few = dict(list(many.items())[:MOST_OF_A_TURN])
    (vault / ".mcp.json").write_text(json.dumps({"mcpServers": few}))
    assert servers.of_turn(ALL, TrustLevel.FULL).warnings == ()
