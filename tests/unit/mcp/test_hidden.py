"""What may be a secret is masked, refused where it is given as it is, and known to be redacted."""

from typing import Any

import pytest

from supervisor.errors import InvalidRequest
from supervisor.mcp.hidden import literals, masked, shown, unmasked
from supervisor.mcp.server_entry import ServerEntry, read_entry

SECRET = "sk-ant-CANARY0123456789"
STDIO: dict[str, Any] = {
    "command": "x",
    "args": ["--api-key", "plain-CANARY", "--token=CANARY", SECRET, "--verbose", "y"],
    "env": {"LEVEL": "CANARY", "TOKEN": "${TOKEN}", "D": "${A:-CANARY}", "E": "a${B}c"},
    "auth": {"CANARY": 1},
}
HTTP: dict[str, Any] = {
    "type": "http",
    "url": f"https://h.example/a?team=CANARY&k=${{K}}&x={SECRET}#f",
    "headers": {"Authorization": "Bearer CANARY", "X": "Bearer ${T}"},
}


@pytest.mark.parametrize("plain", [STDIO, HTTP], ids=["stdio", "http"])
def test_no_literal_is_shown(plain: dict[str, Any]) -> None:
    told = shown(read_entry("a", plain))
    told.pop("otherKeys")
    assert "CANARY" not in str(told)


def test_where_commands_are_looked_for_is_shown() -> None:
    told = shown(read_entry("a", {"command": "x", "env": {"PATH": "/vault/bin", "P": "y"}}))
    assert told["env"] == {"PATH": "/vault/bin", "P": "***"}


def test_references_are_shown_as_they_are() -> None:
    told = shown(read_entry("a", STDIO))
    assert told["env"] == {"LEVEL": "***", "TOKEN": "${TOKEN}", "D": "${A:-***}", "E": "***${B}***"}
    assert told["args"] == ("--api-key", "***", "--token=***", "***", "--verbose", "y")
    told = shown(read_entry("a", HTTP))
    assert told["headers"] == {"Authorization": "***", "X": "***${T}"}
    assert told["url"] == "https://h.example/a?team=***&k=${K}&x=***#f"
    assert masked("${A:-}") == "${A:-}"
    assert masked("") == ""


def sent_back(entry: ServerEntry) -> dict[str, Any]:
    told = {key: value for key, value in shown(entry).items() if key != "otherKeys"}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in told.items()}


@pytest.mark.parametrize("plain", [STDIO, HTTP], ids=["stdio", "http"])
def test_what_is_sent_back_masked_stays_as_it_is(plain: dict[str, Any]) -> None:
    old = read_entry("a", plain)
    new = read_entry("a", unmasked("a", sent_back(old), old))
    assert (new.args, new.env, new.url, new.headers) == (old.args, old.env, old.url, old.headers)


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"command": "x", "env": {"API_TOKEN": "CANARY"}}, "a.env.API_TOKEN"),
        ({"command": "x", "env": {"DB_PASSWORD": "CANARY"}}, "a.env.DB_PASSWORD"),
        ({"command": "x", "env": {"OPENAI_API_KEY": "${X:-CANARY}"}}, "a.env.OPENAI_API_KEY"),
        ({"command": "x", "env": {"HARMLESS": SECRET}}, "a.env.HARMLESS"),
        ({"command": "x", "env": {"LEVEL": "***"}}, "a.env.LEVEL"),
        ({"command": "x", "args": ["--token", "CANARY"]}, "a.args[1]"),
        ({"command": "x", "args": [f"--x={SECRET}"]}, "a.args[0]"),
        ({"command": "x", "args": ["***"]}, "a.args[0]"),
        ({"url": "https://h", "headers": {"Authorization": "Bearer CANARY"}}, "a.headers."),
        ({"url": "https://h", "headers": {"X-Api-Key": "CANARY"}}, "a.headers.X-Api-Key"),
        ({"url": "https://h", "headers": {SECRET: SECRET}}, "a.headers.***"),
        ({"url": f"https://h/?x={SECRET}"}, "a.url"),
        ({"url": "https://h/?token=CANARY"}, "a.url"),
    ],
)
def test_a_secret_that_is_given_as_it_is_is_refused_and_not_repeated(
    given: dict[str, Any], where: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_entry("a", unmasked("a", given, None))
    assert (caught.value.where or "").startswith(where)
    assert "CANARY" not in f"{caught.value.message} {caught.value.where} {caught.value.remedy}"


@pytest.mark.parametrize(
    "given",
    [
        {"command": "x", "env": {"LEVEL": "debug", "AUTHOR": "me", "TOKEN": "${T}"}},
        {"command": "x", "args": ["--token", "${T}", "--key-file", "k"], "env": {"TOKEN": ""}},
        {"url": "https://h/?team=a", "headers": {"Authorization": "Bearer ${T}"}},
    ],
)
def test_control_words_and_references_are_welcome(given: dict[str, Any]) -> None:
    assert unmasked("a", given, None) == given


def test_secrets_that_stand_in_the_file_are_known() -> None:
    plain = {"command": "x", "args": [SECRET], "env": {"TOKEN": "CANARY-1", "LEVEL": "CANARY-2"}}
    assert set(literals(read_entry("a", plain))) == {SECRET, "CANARY-1"}
    assert list(literals(read_entry("a", {"url": "https://h", "headers": {"Cookie": "a=1"}}))) == []
