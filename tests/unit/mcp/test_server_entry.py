"""An entry for an MCP server is checked key by key; nothing is started by it."""

from typing import Any

import pytest

from supervisor.errors import InvalidRequest
from supervisor.mcp.server_entry import read_entry, with_values

STDIO: dict[str, Any] = {"command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "${NOTES_TOKEN}"}}
HTTP: dict[str, Any] = {
    "type": "http",
    "url": "https://mcp.example/${TENANT:-main}",
    "headers": {"Authorization": "Bearer ${API_KEY}"},
}


def test_the_three_transports_are_read() -> None:
    assert read_entry("a", STDIO).transport == "stdio"
    assert read_entry("a", HTTP).transport == "http"
    assert read_entry("a", {"type": "streamable-http", "url": "http://x"}).transport == "http"
    assert read_entry("a", {"url": "http://localhost:1/sse"}).transport == "sse"


def test_references_are_names_and_get_their_values_late() -> None:
    assert read_entry("a", STDIO).references == ("NOTES_TOKEN",)
    assert read_entry("a", HTTP).references == ("TENANT", "API_KEY")
    assert with_values(HTTP["url"], {}) == "https://mcp.example/main"
    assert with_values("Bearer ${API_KEY}", {"API_KEY": "v"}) == "Bearer v"
    with pytest.raises(InvalidRequest, match="API_KEY"):
        with_values("Bearer ${API_KEY}", {})


def test_values_are_in_no_representation() -> None:
    entry = read_entry("a", {**STDIO, "env": {"TOKEN": "CANARY"}})
    assert "CANARY" not in repr(entry)


def test_unknown_keys_are_kept() -> None:
    assert read_entry("a", {**STDIO, "disabled": True}).other == {"disabled": True}


@pytest.mark.parametrize(
    ("name", "entry", "where"),
    [
        ("", STDIO, "name"),
        ("../x", STDIO, "name"),
        ("a__b", STDIO, "name"),
        ("a" * 65, STDIO, "name"),
        ("a", [], "a"),
        ("a", {}, "a.command"),
        ("a", {"command": " "}, "a.command"),
        ("a", {"command": ["npx"]}, "a.command"),
        ("a", {"command": "x", "args": "y"}, "a.args"),
        ("a", {"command": "x", "args": [1]}, "a.args[0]"),
        ("a", {"command": "x\0"}, "a.command"),
        ("a", {"command": "x", "url": "http://y"}, "a.url"),
        ("a", {"command": "x", "env": {"LD_PRELOAD": "/x.so"}}, "a.env.LD_PRELOAD"),
        ("a", {"command": "x", "env": {"NODE_OPTIONS": "-r x"}}, "a.env.NODE_OPTIONS"),
        ("a", {"command": "x", "env": {"PYTHONHOME": "/x"}}, "a.env.PYTHONHOME"),
        ("a", {"command": "x", "env": {"NODE_PATH": "/x"}}, "a.env.NODE_PATH"),
        ("a", {"command": "x", "env": {"A": "${B:-${KEY}}"}}, "a.env[0]"),
        ("a", {"command": "x", "args": ["${B:-${KEY}}"]}, "a.args[0]"),
        ("a", {"command": "x", "args": ["$${B:-{KEY}}"]}, "a.args[0]"),
        (
            "a",
            {"type": "http", "url": "http://h", "headers": {"A": "${B:-$}{KEY}"}},
            "a.headers[0]",
        ),
        ("a", {"command": "x", "env": {"TRUSTFLOOR_TURN": "x"}}, "a.env.TRUSTFLOOR_TURN"),
        ("a", {"command": "x", "env": {"a b": "x"}}, "a.env[0]"),
        ("a", {"command": "x", "env": {"A": 1}}, "a.env[0]"),
        ("a", {"comand": "x", "type": "stdio"}, "a.comand"),
        ("a", {"type": "telnet"}, "a.type"),
        ("a", {"type": "http"}, "a.url"),
        ("a", {"type": "http", "url": "file:///etc/passwd"}, "a.url"),
        ("a", {"type": "http", "url": "http://"}, "a.url"),
        ("a", {"type": "http", "url": "http://user:pw@host/"}, "a.url"),
        ("a", {"type": "http", "url": "http://x", "headers": {"A": "b\r\nC: d"}}, "a.headers[0]"),
        ("a", {"type": "http", "url": "http://x", "command": "y"}, "a.command"),
    ],
)
def test_what_is_wrong_is_refused_with_its_field(name: str, entry: object, where: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_entry(name, entry)
    assert caught.value.where == where
