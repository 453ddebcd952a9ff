"""What an admin says of single tools, servers and domains stands above the level's answer."""

from typing import Any

import pytest

from supervisor.policy.call import Facts, ToolCall, verdict_word
from supervisor.policy.cases import Want
from supervisor.policy.compile import compile_policy
from supervisor.policy.compiled import CompiledPolicy
from supervisor.policy.decide import decide
from supervisor.policy.permissions import Grant, GrantKind, GrantScope, Permissions
from supervisor.policy.schema import read_document
from supervisor.trust.levels import TrustLevel
from tests.worlds.cases_world import answer
from tests.worlds.policy_world import SHIPPED

VAULT = TrustLevel.VAULT
DEFAULT = read_document("default.yaml", (SHIPPED / "default.yaml").read_bytes())


def policy(*texts: str) -> CompiledPolicy:
    files = [
        read_document(f"{i}.yaml", f"version: 1\nrules:\n{text}".encode())
        for i, text in enumerate(texts)
    ]
    return compile_policy([DEFAULT, *files])


def verdict(made: CompiledPolicy, tool: str, **given: Any) -> Want:
    call = ToolCall(tool, given, "t", VAULT, "/v", "/v")
    return verdict_word(decide(call, Facts(), made))


NO_WEB = "- {id: a, reason: not here, answer: deny, tools: [WebFetch]}\n"
ABOUT_DB = "- {id: a, reason: not here, answer: ask, servers: [db]}\n"
OUR_SITE = "- {id: b, reason: ours, answer: allow, domains: [intra.example]}\n"


@pytest.mark.parametrize(
    ("rule", "tool", "input", "expected"),
    [
        (NO_WEB, "WebFetch", {"url": "https://example.org"}, "deny"),
        (NO_WEB, "WebSearch", {"query": "x"}, "allow"),
        (ABOUT_DB, "mcp__db__query", {}, "ask"),
        (ABOUT_DB, "mcp__db2__query", {}, "allow"),
        (
            "- {id: a, reason: not here, answer: deny, tools: ['mcp__db__*']}\n",
            "mcp__db__x", {}, "deny",
        ),
        ("- {id: a, reason: not here, answer: deny, tools: [Task]}\n", "Task", {}, "deny"),
        ("- {id: a, reason: fine, answer: allow, tools: [CronList]}\n", "CronList", {}, "allow"),
        (
            "- {id: a, reason: not here, answer: deny, levels: [full], tools: [Task]}\n",
            "Task", {}, "allow",
        ),
        (
            "- {id: a, reason: not here, answer: deny, domains: ['*.evil.example']}\n",
            "WebFetch", {"url": "https://x.evil.example/"}, "deny",
        ),
        (
            "- {id: a, reason: not here, answer: deny, domains: [evil.example]}\n",
            "WebFetch", {"url": "https://a@evil.example:8443/x"}, "deny",
        ),
        (
            "- {id: a, reason: not here, answer: deny, domains: [evil.example]}\n",
            "WebFetch", {"url": "https://evil.example.org/"}, "allow",
        ),
        (
            "- {id: a, reason: dev, answer: allow, domains: [localhost, 127.0.0.1]}\n",
            "WebFetch", {"url": "http://2130706433:3000/"}, "allow",
        ),
    ],
)  # fmt: skip
def test_a_rule_answers_for_what_it_is_about(
    rule: str, tool: str, input: dict[str, Any], expected: str
) -> None:
    assert verdict(policy(rule), tool, **input) == expected


def test_the_first_rule_that_fits_counts_and_later_files_are_asked_first() -> None:
    url = {"url": "https://intra.example/"}
    assert verdict(policy(OUR_SITE + NO_WEB), "WebFetch", **url) == "allow"
    assert verdict(policy(NO_WEB + OUR_SITE), "WebFetch", **url) == "deny"
    assert verdict(policy(NO_WEB, OUR_SITE), "WebFetch", **url) == "allow"
    assert verdict(policy(OUR_SITE, NO_WEB), "WebFetch", **url) == "deny"


def test_a_later_file_switches_a_rule_off_by_its_id() -> None:
    off = "- {id: a, reason: not needed any more}\n"
    assert verdict(policy(NO_WEB, off), "WebFetch", url="https://example.org/") == "allow"


def test_no_rule_opens_what_stands_above_it() -> None:
    tools = "[Read, Write, Bash, WebFetch, 'mcp__*']"
    every = policy(f"- {{id: a, reason: all, answer: allow, tools: {tools}}}\n")
    assert answer("Read", {"file_path": ".env"}, policy=every) == "deny"
    assert answer("Read", {"file_path": "/etc/hosts"}, policy=every) == "deny"
    assert answer("Write", {"file_path": ".mcp.json"}, policy=every) == "deny"
    assert answer("Bash", {"command": "sudo id"}, policy=every) == "deny"
    assert answer("mcp__x__y", {"path": ".env"}, policy=every) == "deny"
    assert answer("WebFetch", {"url": "http://169.254.169.254/"}, policy=every) == "deny"


def test_a_denial_beats_a_grant_and_a_question_is_answered_by_one() -> None:
    def with_grant(made: CompiledPolicy) -> Want:
        grant = Grant("g", GrantScope.SESSION, GrantKind.TOOL, "mcp__db__query", VAULT)
        call = ToolCall("mcp__db__query", {}, "t", VAULT, "/v", "/v")
        return verdict_word(decide(call, Facts(), made, Permissions(grants=(grant,))))

    assert (
        with_grant(policy("- {id: a, reason: not here, answer: deny, servers: [db]}\n")) == "deny"
    )
    assert with_grant(policy(ABOUT_DB)) == "allow"
