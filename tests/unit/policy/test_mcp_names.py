"""The name of an MCP tool says whose it is, or the server is none that may be configured."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.errors import InvalidRequest
from supervisor.mcp.server_entry import read_entry
from supervisor.policy.mcp_names import is_plain, prefix_of, spelled, tool_name
from supervisor.policy.tool_rules import Answer, ToolRule
from supervisor.trust.levels import TrustLevel

NAMES = st.text(alphabet="ab_.-", min_size=1, max_size=5)


@given(NAMES, NAMES, NAMES, NAMES)
def test_two_servers_never_have_tools_of_one_name(
    one: str, tool: str, other: str, its: str
) -> None:
    if is_plain(one) and is_plain(other) and spelled(one) != spelled(other):
        assert tool_name(one, tool) != tool_name(other, its)
        assert not tool_name(one, tool).startswith(prefix_of(other))


@pytest.mark.parametrize("name", ["a__b", "a._b", "a..b", "a_", "a.", "_a", "-a_.b"])
def test_a_name_that_could_be_anothers_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="server's name"):
        read_entry(name, {"command": "x"})


@pytest.mark.parametrize("name", ["notes", "notes.v2", "my-notes_2"])
def test_a_rule_for_a_server_fits_however_its_tools_are_spelled(name: str) -> None:
    rule = ToolRule("r", "why", Answer.DENY, servers=(name,))
    assert rule.fits(tool_name(name, "read.all"), {}, TrustLevel.FULL)
    assert not rule.fits(tool_name(f"{name}x", "read.all"), {}, TrustLevel.FULL)
