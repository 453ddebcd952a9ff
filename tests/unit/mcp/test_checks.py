"""What health says of `.mcp.json`: counts and places, and nothing that stands in an entry."""

import json
from pathlib import Path

from supervisor.mcp.checks import mcp_check
from supervisor.mcp.servers import McpServers


def servers(tmp_path: Path, text: str | None) -> McpServers:
    vault, data = tmp_path / "vault", tmp_path / "data"
    vault.mkdir()
    data.mkdir(mode=0o700)
    if text is not None:
        (vault / ".mcp.json").write_text(text)
    return McpServers(vault, data, {})


def test_none_at_all_is_fine(tmp_path: Path) -> None:
    check = mcp_check(servers(tmp_path, None))
    assert (check.ok, check.detail) == (True, "none is configured")


def test_what_nobody_has_allowed_yet_is_told_and_no_problem(tmp_path: Path) -> None:
    made = servers(tmp_path, json.dumps({"a": {"command": "a"}, "b": {"command": "b"}}))
    made.allow("a")
    check = mcp_check(made)
    assert check.ok is True
    assert check.detail == (
        "2 can be used; 1 of them only once an admin has allowed it: trustfloor mcp list"
    )


def test_a_broken_entry_is_a_problem_with_its_place_and_without_its_words(tmp_path: Path) -> None:
    text = '{\n  "a": {"command": "a"},\n  "secret-name": {"command": 7, "env": {"K": "canary"}}\n}'
    check = mcp_check(servers(tmp_path, text))
    assert check.ok is False
    assert check.needed is False
    assert "1 can't be used, the first at .mcp.json:3" in check.detail
    assert "trustfloor mcp list" in str(check.remedy)
    assert "canary" not in check.detail
    assert "secret-name" not in check.detail


def test_a_file_that_is_no_json_is_a_problem(tmp_path: Path) -> None:
    check = mcp_check(servers(tmp_path, "{"))
    assert check.ok is False
    assert "1 can't be used, the first at .mcp.json:1" in check.detail
