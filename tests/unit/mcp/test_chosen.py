"""Which servers a turn gets, by level and by what was allowed; the others are warnings."""

import json
from typing import Any

import pytest

from supervisor.events.redact import Redactor
from supervisor.mcp.chosen import Candidate, Wanted, choose, own_candidates
from supervisor.mcp.server_entry import read_entry
from supervisor.trust.levels import TrustLevel

STDIO: dict[str, Any] = {"command": "x", "args": ["${A}"], "env": {"T": "${A}-${B:-b}"}, "k": 1}
HTTP: dict[str, Any] = {"type": "http", "url": "https://h/${A}", "headers": {"X": "${A}"}}
VALUES = {"A": "value-of-a"}


def candidate(plain: dict[str, Any], *, allowed: bool = True, there: bool = False) -> Candidate:
    return Candidate("s", read_entry("s", plain), allowed=allowed, in_sandboxes=there)


@pytest.mark.parametrize("level", [TrustLevel.FULL, TrustLevel.VAULT])
def test_an_allowed_server_is_handed_over_with_its_values(level: TrustLevel) -> None:
    found = choose((candidate(STDIO),), level, VALUES)
    assert found.warnings == ()
    assert json.loads(found.config or "") == {
        "mcpServers": {
            "s": {
                "type": "stdio",
                "command": "x",
                "args": ["value-of-a"],
                "env": {"T": "value-of-a-b"},
            }
        }
    }
    assert "value-of-a" not in repr(found)
    found = choose((candidate(HTTP),), level, VALUES)
    assert json.loads(found.config or "")["mcpServers"]["s"] == {
        "type": "http",
        "url": "https://h/value-of-a",
        "headers": {"X": "value-of-a"},
    }


@pytest.mark.parametrize(
    ("each", "level", "confined", "why"),
    [
        (candidate(STDIO, allowed=False), TrustLevel.FULL, True, "nobody has allowed it"),
        (candidate(STDIO, allowed=False), TrustLevel.SANDBOXED, True, "nobody has allowed it"),
        (candidate(STDIO), TrustLevel.SANDBOXED, True, "--sandboxed"),
        (candidate(HTTP), TrustLevel.SANDBOXED, True, "--sandboxed"),
        (candidate(STDIO), TrustLevel.VAULT, False, "no cage"),
        (Candidate("s", None, "a fault"), TrustLevel.FULL, True, "a fault"),
        (candidate({"command": "${GONE}"}), TrustLevel.FULL, True, "GONE"),
    ],
)
def test_what_may_not_be_used_is_left_out_with_the_reason(
    each: Candidate, level: TrustLevel, confined: bool, why: str
) -> None:
    found = choose((each,), level, VALUES, confined=confined)
    assert found.config is None
    (told,) = found.warnings
    assert why in told
    assert "value-of-a" not in told


def test_in_a_sandbox_one_warning_names_all_that_are_not_for_it() -> None:
    each = candidate(STDIO)
    there = Candidate("t", read_entry("t", {"command": "x"}), allowed=True, in_sandboxes=True)
    found = choose((each, each, there), TrustLevel.SANDBOXED, VALUES)
    assert found.names == ("t",)
    assert len(found.warnings) == 1


def test_a_sandbox_learns_of_a_server_by_url_its_name_alone() -> None:
    found = choose((candidate(HTTP, there=True),), TrustLevel.SANDBOXED, VALUES)
    assert json.loads(found.config or "") == {"mcpServers": {"s": {"type": "sdk", "name": "s"}}}
    assert found.far["s"].given["url"] == "https://h/value-of-a"
    assert found.far["s"].origin == "https://h"
    assert "value-of-a" in found.far["s"].secrets
    assert "value-of-a" not in repr(found)


@pytest.mark.parametrize("level", [TrustLevel.FULL, TrustLevel.VAULT])
def test_at_other_levels_the_agents_program_calls_it_itself(level: TrustLevel) -> None:
    assert choose((candidate(HTTP, there=True),), level, VALUES).far == {}


@pytest.mark.parametrize("level", list(TrustLevel))
def test_of_two_servers_that_are_spelled_alike_the_second_is_left_out(level: TrustLevel) -> None:
    like = [
        Candidate(name, read_entry(name, HTTP), allowed=True, in_sandboxes=True)
        for name in ("a.b", "a_b", "a-b")
    ]
    found = choose(tuple(like), level, VALUES)
    assert found.names == ("a.b", "a-b")
    assert "a_b is left out: its tools can't be told from those of a.b" in found.warnings[0]


def test_without_a_cage_a_server_by_url_is_used() -> None:
    assert choose((candidate(HTTP),), TrustLevel.VAULT, VALUES, confined=False).names == ("s",)


def test_servers_of_an_agents_file_are_read_like_others() -> None:
    wanted = Wanted((), {"a": {"command": "x"}, "b": {"command": 1}}, "agents/x.md")
    good, bad = own_candidates(wanted)
    assert (good.name, good.agent, good.allowed) == ("a", "agents/x.md", False)
    assert (bad.entry, bad.fault) == (None, "b.command: a text is expected")


@pytest.mark.parametrize(
    ("url", "secret", "word"),
    [
        ("https://h/api/mcp/s/9f8e7d6c5b4a39281706/mcp", "9f8e7d6c5b4a39281706", "/api/mcp"),
        ("https://h/mcp?key=abc%2Fdefghij&page=1", "abc/defghij", "page"),
        ("https://h/mcp?key=abc%2Fdefghij&page=1", "abc%2Fdefghij", "mcp?key"),
        ("https://h/model-context-protocol", "https://h/model-context-protocol", "model-context"),
    ],
)
def test_a_key_that_stands_in_a_url_is_no_words_for_a_sandbox(
    url: str, secret: str, word: str
) -> None:
    each = candidate({"type": "http", "url": url}, there=True)
    redactor = Redactor(choose((each,), TrustLevel.SANDBOXED, {}).far["s"].secrets)
    assert secret not in redactor.text(f"no such page: {secret}!")
    assert redactor.text(word) == word
