"""Events and audit entries are lines that a person reads, whatever stands in them."""

import io
from typing import Any

import pytest
from rich.text import Text

from supervisor.cli.audit_lines import entry_line
from supervisor.cli.event_lines import event_line
from supervisor.cli.lines import console
from supervisor.events.schema import EVENT_TYPES

AT = {"ts": "2026-03-01T10:00:05+00:00", "session_id": "s1"}


def entry(kind: str, **body: Any) -> str:
    return entry_line({"n": 7, "kind": kind, **AT, "body": body})


def event(type: str, **data: Any) -> str:
    line = event_line({"type": type, **AT, "seq": 1, "turn_id": "t", **data})
    assert line.startswith(f"2026-03-01T10:00:05Z s1 {type}")
    return line.split(f" {type} ", 1)[-1]


def test_a_request_is_told_with_who_made_it() -> None:
    by = "the console (log_1, of tok_2)"
    said = entry("request", method="POST", route="/api/chat", by=by)
    assert said == f"     7 2026-03-01T10:00:05Z request    [session s1] POST /api/chat by {by}"


def test_a_decision_is_told_by_verdict_tool_reason_and_rule() -> None:
    body = {"verdict": "deny", "tool": "Read", "rule": "env-files", "reason": "they hold secrets"}
    said = entry("decision", **body, level="vault", canonical={"v": 1}, toolUseId="toolu_1")
    assert said.endswith("deny Read: they hold secrets [env-files] level=vault")


def test_a_floor_that_made_a_turn_stricter_is_told_with_whose_it_is() -> None:
    why = "runs at sandboxed: workspace 'family' demands at least sandboxed"
    said = entry("floor", requested="full", effective="sandboxed", trace=["asked", why], floors=[])
    assert said.endswith(f"asked for full, {why}")
    same = entry("floor", requested="vault", effective="vault", trace=["runs at vault"], floors=[])
    assert same.endswith("asked for vault, runs at vault")


def test_an_entry_of_a_kind_that_is_not_known_tells_its_simple_fields() -> None:
    assert entry("odd", a=1, b=["x", "y"], c={"d": 2}, e=None).endswith("a=1 b=x, y")
    assert entry("decision", tool="Read").endswith("tool=Read")
    assert entry_line({"n": 7, "kind": "odd", **AT, "body": "only text"}).endswith("only text")


def test_a_turn_is_told_in_words() -> None:
    trust = {"requested": "full", "effective": "vault"}
    told = event("session", trustLevel="vault", trust=trust, workspace="w", agent=None)
    assert told == "at vault (asked for full), in workspace w"
    assert event("tool_use", tool={"name": "Read", "input": {"file_path": "a.md"}}) == (
        "Read: file_path a.md"
    )
    spending = {"inputTokens": 8, "outputTokens": 2, "costUsd": 0.0024000000000000002}
    done = event("done", response="here", durationMs=1234, model="m", spending=spending)
    assert done == "“here”, 1.2 s, m, 8 + 2 tokens, $0.0024"
    done = event("done", response="", durationMs=0, model="m", spending=spending, scripted=True)
    assert done == "“”, 0.0 s, scripted model (as m), 8 + 2 tokens"
    asked = {"toolName": "Write", "reason": "it writes", "rule": "vault-writes"}
    assert event("permission_request", **asked) == (
        "Write needs permission: it writes [vault-writes]"
    )
    assert event("permission_resolved", decision="timed_out", by=None) == "timed out"


def test_where_there_is_no_cage_nothing_is_said_to_be_measured() -> None:
    said = event("isolation", level="vault", cage="none", accepted=True, shortfalls=[], receipt={})
    assert said == "none: held by what is decided about tool calls alone"


@pytest.mark.parametrize("type", sorted(EVENT_TYPES))
def test_an_event_that_is_not_as_expected_is_told_all_the_same(type: str) -> None:
    assert "{" not in event(type, odd="x", nested={"a": 1})


def test_of_one_session_alone_its_id_is_not_told_on_every_line() -> None:
    one = {"type": "model", "model": "m", "seq": 1, **AT}
    assert " s1 " in event_line(one)
    assert event_line(one, with_session=False).endswith("Z model m")


def test_no_event_makes_a_second_line_or_is_obeyed() -> None:
    told = event("warning", code="w", message="\x1b[2Ja\nb")
    assert "\n" not in told
    assert "\x1b" not in told


@pytest.mark.parametrize(("value", "plain"), [("1", True), ("", False)])
def test_with_no_color_a_terminal_gets_no_escape_sequence_at_all(
    monkeypatch: pytest.MonkeyPatch, value: str, plain: bool
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("NO_COLOR", value)
    monkeypatch.setenv("TERM", "xterm-256color")
    terminal = Terminal()
    for style in ("dim", "bold", "red", "dim italic"):
        console(terminal).print(Text("a", style=style))
    assert ("\x1b" not in terminal.getvalue()) is plain
