"""A server is allowed as it was looked at; whatever is changed of it takes that away."""

import stat
from pathlib import Path
from typing import Any

import pytest

from supervisor.mcp.allowed import Allowed, AllowedServers
from supervisor.mcp.server_entry import read_entry

PLAIN: dict[str, Any] = {"command": "x", "args": ["y"], "env": {"A": "${A}"}}
ENTRY = read_entry("a", PLAIN)


@pytest.fixture(name="allowed")
def allowed_fixture(tmp_path: Path) -> AllowedServers:
    return AllowedServers(tmp_path, Path("/vault"))


def test_nothing_is_allowed_unless_somebody_said_so(allowed: AllowedServers) -> None:
    assert allowed.of(ENTRY) == Allowed()


@pytest.mark.parametrize(
    "change",
    [
        {"command": "z"},
        {"args": ["y", "z"]},
        {"args": []},
        {"env": {"A": "${B}"}},
        {"env": {}},
    ],
    ids=str,
)
def test_a_change_of_any_part_ends_it(allowed: AllowedServers, change: dict[str, Any]) -> None:
    allowed.allow(ENTRY, sandboxed=True)
    assert allowed.of(ENTRY) == Allowed(local=True, sandboxed=True)
    assert allowed.of(read_entry("a", {**PLAIN, "note": 1})) == Allowed(local=True, sandboxed=True)
    assert allowed.of(read_entry("a", {**PLAIN, **change})) == Allowed()


def test_it_is_allowed_for_its_name_its_agent_and_its_vault(
    allowed: AllowedServers, tmp_path: Path
) -> None:
    allowed.allow(ENTRY, sandboxed=False)
    assert allowed.of(read_entry("b", PLAIN)) == Allowed()
    assert allowed.of(ENTRY, "agents/x.md") == Allowed()
    assert AllowedServers(tmp_path, Path("/other")).of(ENTRY) == Allowed()
    assert AllowedServers(tmp_path, Path("/vault")).of(ENTRY).local


def test_it_can_be_taken_back(allowed: AllowedServers) -> None:
    allowed.allow(ENTRY, sandboxed=True)
    assert allowed.allow(ENTRY, sandboxed=False) == allowed.of(ENTRY) == Allowed(local=True)
    allowed.forget("a")
    assert allowed.of(ENTRY) == Allowed()


@pytest.mark.parametrize("content", ["", "[]", "{", '{"a": 1}', '{"a": {"digest": null}}'])
def test_what_cannot_be_read_allows_nothing(tmp_path: Path, content: str) -> None:
    (tmp_path / "mcp-allowed.json").write_text(content)
    allowed = AllowedServers(tmp_path, Path("/vault"))
    assert allowed.of(ENTRY) == Allowed()
    allowed.allow(ENTRY, sandboxed=False)
    assert allowed.of(ENTRY).local
    mode = (tmp_path / "mcp-allowed.json").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
